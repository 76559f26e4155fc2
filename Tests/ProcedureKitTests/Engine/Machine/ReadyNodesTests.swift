import TestSupport
import Testing

@testable import ProcedureKit

@Suite struct ReadyNodesTests {
  @Test(
    "Whatever comes, goes and comes back, the first is the one that has waited longest",
    arguments: 0..<UInt64(TestDepth.count(20, least: 4)))
  func order(_ seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var ready = ReadyNodes(priorities: [])
    var model: [Int32] = []
    var taken: [Int32] = []
    var next: Int32 = 0
    for _ in 0..<3_000 {
      switch Int.random(in: 0..<7, using: &random) {
      case 0...2:
        ready.insert(next)
        model.append(next)
        next += 1
      case 3 where !taken.isEmpty:
        let node = taken.removeLast()
        ready.putBack(node)
        model.insert(node, at: 0)
      default:
        let expected = model.isEmpty ? nil : model.removeFirst()
        #expect(ready.popFirst() == expected, "seed \(seed)")
        expected.map { taken.append($0) }
      }
      #expect(ready.isEmpty == model.isEmpty, "seed \(seed)")
    }
  }

  @Test("Higher priority comes first, and among equals what has waited longest")
  func priorities() {
    var ready = ReadyNodes(priorities: [1, 9, 1, 9])
    for node in 0..<4 as Range<Int32> { ready.insert(node) }
    #expect(ready.popFirst() == 1)
    ready.putBack(1)
    #expect((0..<5).map { _ in ready.popFirst() } == [1, 3, 0, 2, nil])
  }
}
