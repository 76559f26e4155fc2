import Testing

@testable import ProcedureKit

/// Tests concurrent workers, which `GraphScript` does not cover because its workers take turns.
@Suite(.timeLimit(.minutes(10))) struct GraphCountdownTests {
  private func shape(
    _ count: Int, _ edges: [(Int32, Int32)], accepting: [(Int32, Int32)] = []
  ) -> GraphShape {
    GraphShape(
      count: count,
      edges: edges.map { (from: $0.0, to: $0.1, acceptsFailure: false) }
        + accepting.map { (from: $0.0, to: $0.1, acceptsFailure: true) })
  }

  @Test("A node that accepts a failure is not released before the errors of all skipped nodes are known")
  func errorsFirst() {
    // Node 2 requires node 0. Node 3 accepts a failure of node 2, and requires node 1.
    let countdown = GraphCountdown(shape(4, [(0, 2), (1, 3)], accepting: [(2, 3)]))
    let skipped = countdown.nodeStopped(0, .failed)
    #expect(skipped == [.init(node: 2, cause: 0, ending: .failed)])
    #expect(countdown.nodeSucceeded(1).first == -1)
    #expect(countdown.release(byStopping: 0, skipped).first == 3)
  }

  @Test("Of many nodes that end at the same time, one releases their dependent, and sees the writes of all of them")
  func race() async {
    let width = 8
    for _ in 0..<200 {
      let countdown = GraphCountdown(shape(width + 1, (0..<Int32(width)).map { ($0, Int32(width)) }))
      // The memory is not atomic, so only the countdown orders the writes before the reads.
      let written = UnsafeMutablePointer<Int>.allocate(capacity: width)
      written.initialize(repeating: 0, count: width)
      let address = Int(bitPattern: written)
      let sums = await withTaskGroup(of: Int?.self) { group in
        for node in 0..<width {
          group.addTask {
            guard let written = UnsafeMutablePointer<Int>(bitPattern: address) else { return nil }
            written[node] = node + 1
            guard countdown.nodeSucceeded(Int32(node)).first == Int32(width) else { return nil }
            return (0..<width).reduce(0) { $0 + written[$1] }
          }
        }
        return await group.reduce(into: []) { sums, sum in sum.map { sums.append($0) } }
      }
      #expect(sums == [width * (width + 1) / 2])
      written.deallocate()
    }
  }
}
