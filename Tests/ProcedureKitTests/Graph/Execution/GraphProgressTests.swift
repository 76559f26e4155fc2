import Testing

@testable import ProcedureKit

@Suite struct GraphProgressTests {
  typealias Advance = GraphProgress.Advance

  private func run(
    _ count: Int, _ edges: [(Int32, Int32)], accepting: [(Int32, Int32)] = [], limit: Int = .max,
    failsFast: Bool = true, priorities: ContiguousArray<UInt8> = [], returning output: Int32 = -1
  ) -> GraphDecisions {
    let edges =
      edges.map { (from: $0.0, to: $0.1, kind: GraphShape.Edge.requiresSuccess) }
      + accepting.map { (from: $0.0, to: $0.1, kind: .acceptsFailure) }
    let shape = GraphShape(
      count: count, edges: ContiguousArray(edges), priorities: priorities, acceptedOutput: output)
    return GraphDecisions(shape: shape, limit: limit, stopsAtFirstFailure: failsFast)
  }

  @Test("A chain is walked by one worker, which goes straight on with each successor")
  func chain() {
    var run = run(4, [(0, 1), (1, 2), (2, 3)])
    #expect(run.started() == Advance(next: 0))
    for node in 0..<3 as Range<Int32> { #expect(run.nodeSucceeded(node) == Advance(next: node + 1)) }
    #expect(run.nodeSucceeded(3) == Advance(isComplete: true))
  }

  @Test("D1: a node waits for all that it depends on, also for the same one twice")
  func diamond() {
    var run = run(4, [(0, 1), (0, 2), (1, 3), (2, 3), (2, 3)])
    #expect(run.started() == Advance(next: 0))
    #expect(run.nodeSucceeded(0) == Advance(next: 1, addsWorker: true))
    #expect(run.workerStarted() == Advance(next: 2))
    #expect(run.nodeSucceeded(1) == Advance())
    #expect(run.nodeSucceeded(2) == Advance(next: 3))
    #expect(run.nodeSucceeded(3) == Advance(isComplete: true))
  }

  @Test("Workers are ordered one at a time, while something is ready and fewer nodes execute than the limit")
  func workersAreOrdered() {
    var run = run(5, [], limit: 3)
    #expect(run.started() == Advance(next: 0, addsWorker: true))
    run.progress.nodePutBack(0)
    #expect(run.workerStarted() == Advance(next: 0, addsWorker: true))
    #expect(run.nodeSucceeded(0) == Advance(next: 1))
    #expect(run.workerStarted() == Advance(next: 2, addsWorker: true))
    #expect(run.workerStarted() == Advance(next: 3))
    #expect(run.nodeSucceeded(1) == Advance(next: 4))
    #expect(run.nodeSucceeded(2) == Advance())
  }

  @Test("What is ready and has the highest priority is next, and then what became ready first")
  func priorities() {
    var run = run(6, [(0, 4), (0, 5)], limit: 1, priorities: [5, 1, 9, 5, 1, 9])
    var executed = [run.started().next]
    while let node = executed.last, node >= 0 { executed.append(run.nodeSucceeded(node).next) }
    #expect(executed == [2, 0, 5, 3, 1, 4, -1])
  }

  @Test("D4: the first failure cancels what executes, and starts nothing more")
  func failFast() {
    var run = run(5, [(1, 4)])
    _ = run.started()
    run.progress.nodePutBack(0)
    for _ in 0..<3 { _ = run.workerStarted() }
    var skipped: [GraphCountdown.Skipped] = []
    let first = run.nodeStopped(1, .failed, skipped: &skipped)
    #expect(first.advance == Advance(cancelsWorkers: true))
    #expect(first.isUnaccepted)
    #expect(skipped == [.init(node: 4, cause: 1, ending: .failed)])
    let second = run.nodeStopped(0, .failed, skipped: &skipped)
    #expect(second.advance == Advance())
    #expect(run.workerStarted() == Advance())
    #expect(run.nodeSucceeded(2) == Advance(isComplete: true))
  }

  @Test("D1, D4: all that can still run does; effects are skipped, causes first")
  func continues() {
    var run = run(6, [(0, 2), (2, 3)], accepting: [(3, 4)], limit: 1, failsFast: false)
    _ = run.started()
    var skipped: [GraphCountdown.Skipped] = []
    let stopped = run.nodeStopped(0, .failed, skipped: &skipped)
    #expect(stopped.advance.next == 1)
    #expect(!stopped.isUnaccepted)
    #expect(skipped == [.init(node: 2, cause: 0, ending: .failed), .init(node: 3, cause: 2, ending: .failed)])
    #expect(
      [1, 5, 4].map { run.nodeSucceeded($0) } == [Advance(next: 5), Advance(next: 4), Advance(isComplete: true)])
  }

  @Test("D4: a failure counts also where its only dependent has been skipped because of another one")
  func failuresMeet() {
    for (first, isUnaccepted) in [(GraphProgress.Ending.ignored, false), (.failed, true)] {
      for failsFast in [false, true] where !(failsFast && isUnaccepted) {
        var run = run(3, [(0, 2), (1, 2)], limit: 1, failsFast: failsFast)
        _ = run.started()
        var skipped: [GraphCountdown.Skipped] = []
        #expect(run.nodeStopped(0, first, skipped: &skipped).isUnaccepted == isUnaccepted)
        let second = run.nodeStopped(1, .failed, skipped: &skipped)
        #expect(second.isUnaccepted)
        #expect(second.advance == Advance(isComplete: true, cancelsWorkers: failsFast))
        #expect(skipped == [.init(node: 2, cause: 0, ending: first)])
      }
    }
  }

  @Test("D4: the failure of what the graph returns as a result does not fail the graph")
  func acceptedOutput() {
    var run = run(2, [(0, 1)], returning: 1)
    _ = run.started()
    var skipped: [GraphCountdown.Skipped] = []
    let stopped = run.nodeStopped(0, .failed, skipped: &skipped)
    #expect(stopped.advance == Advance(isComplete: true))
    #expect(!stopped.isUnaccepted)
  }

  @Test("C5: a cancelled run starts nothing more, and is complete when what executes has ended")
  func cancelled() {
    var run = run(3, [(0, 1)])
    #expect(run.started() == Advance(next: 0, addsWorker: true))
    run.progress.nodePutBack(0)
    #expect(run.workerStarted() == Advance(next: 0, addsWorker: true))
    #expect(run.progress.cancelled() == Advance())
    #expect(run.nodeSucceeded(0) == Advance(isComplete: true))
    #expect(run.workerStarted() == Advance(isComplete: true))
  }
}
