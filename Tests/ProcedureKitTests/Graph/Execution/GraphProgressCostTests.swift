import Testing

@testable import ProcedureKit

/// Each of these takes tenths of a second where every edge is walked once, and hours where it is not.
@Suite struct GraphProgressCostTests {
  #if DEBUG
    private static let chainLength: Int32 = 200_000
  #else
    private static let chainLength: Int32 = 1_000_000
  #endif

  private static let chain = GraphShape(
    count: Int(chainLength),
    edges: ContiguousArray((1..<chainLength).map { (from: $0 - 1, to: $0, kind: .requiresSuccess) }))

  private static let fan = GraphShape(
    count: 100_001, edges: ContiguousArray((1...100_000).map { (from: 0, to: $0, kind: .requiresSuccess) }))

  @Test("A long chain is walked to its end, without recursion")
  func longChain() {
    var run = GraphDecisions(shape: Self.chain, limit: 8, stopsAtFirstFailure: true)
    var advance = run.started()
    var executed = 0
    while advance.next >= 0 {
      executed += 1
      advance = run.nodeSucceeded(advance.next)
      if advance.addsWorker { Issue.record("a worker was ordered for a chain") }
    }
    #expect(advance.isComplete)
    #expect(executed == Int(Self.chainLength))
  }

  @Test("D1: when the first of a long chain fails all others are skipped, without recursion")
  func longChainFails() {
    var run = GraphDecisions(shape: Self.chain, limit: 8, stopsAtFirstFailure: false)
    _ = run.started()
    var skipped: [GraphCountdown.Skipped] = []
    let stopped = run.nodeStopped(0, .failed, skipped: &skipped)
    #expect(stopped.isUnaccepted && stopped.advance.isComplete)
    #expect(skipped.count == Int(Self.chainLength) - 1)
  }

  @Test(
    "A node with 100,000 dependents makes them all ready, for as many workers as the limit allows", arguments: [1, 8])
  func wideFan(_ limit: Int) {
    var run = GraphDecisions(shape: Self.fan, limit: limit, stopsAtFirstFailure: true)
    var executing: [Int32] = []
    var (executed, position) = (0, 0)
    var advance = run.started()
    while !advance.isComplete {
      var isOrdered = advance.addsWorker
      if advance.next >= 0 { executing.append(advance.next) }
      while isOrdered {
        let other = run.workerStarted()
        executing.append(other.next)
        isOrdered = other.addsWorker
      }
      #expect(executing.count <= limit)
      position = (position + 1) % executing.count
      executed += 1
      advance = run.nodeSucceeded(executing.remove(at: position))
    }
    #expect(executed == 100_001)
  }
}
