import ProcedureKit
import TestSupport
import Testing

extension StressTests {
  @Test("Records pass a stream of results in order, with at most 20 MB more memory")
  func records() async throws {
    let queue = ProcedureQueue("records", maxConcurrentProcedures: 2)
    let square = ProcedureTask("square") { (number: Int) in [number * number] }
    let count = TestDepth.load(1_000_000)
    var next = 0
    for try await value in queue.results(of: square, over: 0..<1_000, maxConcurrentElements: 16) {
      next += value.count
    }
    let before = ResidentMemory.bytes
    next = 0
    for try await value in queue.results(of: square, over: 0..<count, maxConcurrentElements: 16) {
      guard value == [next * next] else { break }
      next += 1
    }
    #expect(next == count)
    await queue.shutDown()
    guard Stress.isAlone, let before, let after = ResidentMemory.bytes else { return }
    print("stress: records: \((after - before) >> 20) MB more")
    #expect(after - before <= 20 << 20)
  }
}
