import Observation
import ProcedureKit
import ProcedureKitFoundation
import TestSupport
import Testing
import TestingProcedureKit

private struct Broken: Error {}

/// What the tests of the model have in common. The clock of the model stands still unless a test moves it.
@MainActor class ModelTests {
  let clock = VirtualClock()
  let frame = Duration.milliseconds(16)
  /// The names of the procedures whose failures nothing has observed.
  nonisolated let unobserved = Record<String>()

  func makeQueue(_ width: Int = .max, isSuspended: Bool = false) -> ProcedureQueue {
    var configuration = ProcedureQueue.Configuration("jobs", maxConcurrentProcedures: width, isSuspended: isSuspended)
    configuration.onUnobservedFailure = { [unobserved] in unobserved.append($0.procedure.name) }
    return ProcedureQueue(configuration)
  }

  func makeModel(_ queue: ProcedureQueue, maxFinishedRows: Int = 100) -> ProcedureQueueModel {
    ProcedureQueueModel(queue, maxFinishedRows: maxFinishedRows, every: frame, clock: clock)
  }

  /// Moves the clock frame by frame until the model is updated as expected.
  func show(sourceLocation: SourceLocation = #_sourceLocation, until isShown: @MainActor () throws -> Bool) async throws
  {
    try await eventually(sourceLocation: sourceLocation) {
      clock.advance(by: frame)
      return try isShown()
    }
  }
}

extension ProcedureQueueModel {
  fileprivate var names: [String] { rows.map(\.name) }

  fileprivate var ended: Int { totals.finishedCount + totals.failedCount + totals.cancelledCount + totals.ignoredCount }
}

@MainActor @Suite("The rows of a model", .timeLimit(.minutes(10))) final class ModelRowTests: ModelTests {
  @Test("A row shows the state, the progress, the wait, and the attempts of a run, and then its failure")
  func rows() async throws {
    let (queue, probe) = (makeQueue(1), ProbeProcedure<Void, Void>("upload"))
    let model = makeModel(queue)
    async let _ = model.run()
    queue.add(
      ProcedureTask("album") {
        ProcedureContext.current?.progress.report(1, of: 4)
        try await probe.execute(())
      }.retry(.constant(.zero), maxAttempts: 2))
    try await probe.waitUntilStarted()
    queue.add(ProcedureTask("next") {})
    try await show { model.names == ["album", "next"] && model.rows[0].progress == 0.25 }
    let (album, next) = (model.rows[0], model.rows[1])
    func row() throws -> ProcedureQueueModel.Row { try #require(model.rows.first { $0.id == album.id }) }
    #expect(album.state == .executing && album.attempts == 1 && album.wait == nil)
    #expect(next.state == .waiting && next.attempts == 0 && next.wait == .slot && next.progress == nil)
    #expect(model.totals.executingCount == 1 && model.totals.waitingCount == 1 && model.ended == 0)
    #expect(album.outcome == nil && album.failure == nil)

    probe.fail(Broken())
    try await probe.waitUntilStarted(2)
    try await show { try row().attempts == 2 }
    probe.fail(Broken())
    try await show { model.ended == 2 }
    #expect(model.names.sorted() == ["album", "next"] && model.rows.allSatisfy { $0.state == .finished })
    #expect(try row().failure is Broken && row().attempts == 2 && row().progress == nil)
    #expect(model.rows.first { $0.id == next.id }?.progress == 1)
    #expect(model.totals.failedCount == 1 && model.totals.finishedCount == 1 && model.totals.executingCount == 0)
  }

  @Test("A queue that already has procedures is shown with the first update")
  func existing() async throws {
    let queue = makeQueue(isSuspended: true)
    for number in 0..<3 { queue.add(ProcedureTask("job \(number)") {}) }
    let model = makeModel(queue)
    #expect(model.rows.isEmpty && model.isSuspended)
    async let _ = model.run()
    // The clock does not move.
    try await eventually { model.names == ["job 0", "job 1", "job 2"] }
    #expect(model.rows.allSatisfy { $0.wait == .resumption } && model.totals.waitingCount == 3)
  }

  @Test(
    "The rows of ended runs are kept up to the limit, oldest first out, and the totals count all",
    arguments: [0, 1, 100])
  func limit(_ limit: Int) async throws {
    let queue = makeQueue(1)
    let model = makeModel(queue, maxFinishedRows: limit)
    async let _ = model.run()
    try await clock.nextSleep()
    let count = TestDepth.isAtLeastGate ? 10_000 : 1_000
    for number in 0..<count { queue.add(ProcedureTask("\(number)") {}) }
    await queue.waitUntilIdle()
    try await show { model.totals.finishedCount == count }
    #expect(model.names == (0..<count).suffix(limit).reversed().map { "\($0)" })
    queue.add(ProcedureTask("last") {})
    try await show { model.totals.finishedCount == count + 1 }
    #expect(model.names == Array((["last"] + (0..<count).reversed().map { "\($0)" }).prefix(limit)))
  }

  @Test("Children, nested runs and nodes have no rows, and count towards the progress of their row")
  func parts() async throws {
    let (queue, probe) = (makeQueue(), ProbeProcedure<Void, Void>("part"))
    let model = makeModel(queue)
    async let _ = model.run()
    let graph = ProcedureGraph("graph", returning: Void.self) { g in
      let first = g.add(ProcedureTask("first") {})
      let second = g.add(probe, after: first)
      g.add(ProcedureTask("third") {}.exclusive("c"), after: second)
      g.add(ProcedureTask("fourth") { try await queue.run(probe) }, after: second)
    }
    queue.add(graph)
    queue.add(
      ProcedureTask("parent") {
        ProcedureContext.current?.produce(probe)
        try await queue.run(probe)
      })
    try await probe.waitUntilStarted(3)
    try await show {
      model.names == ["graph", "parent"] && model.rows[0].progress == 0.25 && model.rows[1].progress == 0
    }
    for _ in 0..<4 { probe.finish(()) }
    try await show { model.ended == 2 }
    #expect(model.names.sorted() == ["graph", "parent"] && model.totals.finishedCount == 2)
  }

  @Test("A procedure that a body runs on another queue has a row in the model of that queue")
  func elsewhere() async throws {
    let (queue, other) = (makeQueue(), makeQueue())
    let model = makeModel(other)
    async let _ = model.run()
    try await clock.nextSleep()
    try await queue.run(ProcedureTask("outer") { try await other.run(ProcedureTask("inner") {}) })
    try await show { model.totals.finishedCount == 1 }
    #expect(model.names == ["inner"])
  }

  @Test("A row that is cancelled ends, and the others continue; then all are cancelled")
  func cancel() async throws {
    let (queue, probe) = (makeQueue(), ProbeProcedure<Void, Void>("job"))
    let model = makeModel(queue)
    async let _ = model.run()
    let handles = (0..<3).map { _ in queue.add(probe) }
    try await show { model.totals.executingCount == 3 }
    #expect(model.cancel(handles[1].id))
    try await show { model.totals.cancelledCount == 1 }
    #expect(model.rows.map(\.id) == [handles[0].id, handles[2].id, handles[1].id])
    #expect(!model.cancel(handles[1].id))
    model.cancelAll(Broken())
    try await show { model.totals.cancelledCount == 3 }
    #expect(
      model.totals.executingCount == 0 && model.totals.failedCount == 0 && model.rows.allSatisfy { $0.failure == nil })
    #expect(await handles[0].outcome.cancellationReason is Broken)
  }

  @Test("A suspension is shown at once if the model suspends the queue, and without any event if other code does")
  func suspension() async throws {
    let (queue, probe) = (makeQueue(1), ProbeProcedure<Void, Void>("job"))
    let model = makeModel(queue)
    async let _ = model.run()
    queue.add(probe)
    queue.add(ProcedureTask("next") {})
    try await show { model.rows.last?.wait == .slot }
    queue.suspend()
    try await show { model.rows.last?.wait == .resumption && model.isSuspended }
    model.resume()
    #expect(!queue.isSuspended && !model.isSuspended)
    model.suspend()
    #expect(queue.isSuspended && model.isSuspended)
    probe.finish(())
    try await show { model.totals.finishedCount == 1 }
    #expect(model.names == ["next", "job"] && model.isSuspended)
    model.resume()
    try await show { model.totals.finishedCount == 2 && !model.isSuspended }
  }
}

@MainActor @Suite("The updates of a model", .timeLimit(.minutes(10))) final class ModelUpdateTests: ModelTests {
  /// Counts how often the rows are set.
  private func countUpdates(of model: ProcedureQueueModel, in count: Locked<Int>) {
    withObservationTracking {
      _ = model.rows
    } onChange: { [weak self, weak model] in
      MainActor.assumeIsolated {
        count.withLock { $0 += 1 }
        guard let model else { return }
        self?.countUpdates(of: model, in: count)
      }
    }
  }

  @Test("10,000 runs within one frame cause one update, and no further updates follow")
  func oneFrame() async throws {
    let (queue, count) = (makeQueue(2), Locked(0))
    let model = makeModel(queue)
    countUpdates(of: model, in: count)
    async let _ = model.run()
    try await clock.nextSleep()
    for _ in 0..<10_000 { queue.add(ProcedureTask("job") {}) }
    await queue.waitUntilIdle()
    #expect(count.withLock { $0 } == 0 && model.rows.isEmpty)
    try await show { model.totals.finishedCount == 10_000 }
    #expect(count.withLock { $0 } == 1 && model.rows.count == 100)
    for _ in 0..<100 {
      try await clock.nextSleep()
      clock.advance(by: frame)
    }
    #expect(count.withLock { $0 } == 1)
  }

  @Test("While 10,000 runs start and end, there is at most one update a frame")
  func manyFrames() async throws {
    let (queue, count) = (makeQueue(2), Locked(0))
    let model = makeModel(queue)
    countUpdates(of: model, in: count)
    async let _ = model.run()
    try await clock.nextSleep()
    var frames = 0
    for _ in 0..<100 {
      for _ in 0..<100 { queue.add(ProcedureTask("job") {}) }
      await queue.waitUntilIdle()
      clock.advance(by: frame)
      frames += 1
      try await clock.nextSleep()
      // The first update showed an empty queue, so it set nothing.
      #expect(count.withLock { $0 } <= frames)
    }
    try await show { model.totals.finishedCount == 10_000 }
    #expect(count.withLock { $0 } > 1)
  }

  @Test("Several tasks can update a model, which shows each end once, and at most one update a frame")
  func shared() async throws {
    let (queue, count) = (makeQueue(2), Locked(0))
    let model = makeModel(queue)
    countUpdates(of: model, in: count)
    let first = Task { await model.run() }
    async let _ = model.run()
    try await clock.nextSleep(count: 2)
    for _ in 0..<10 { queue.add(ProcedureTask("job") {}) }
    await queue.waitUntilIdle()
    try await show { model.totals.finishedCount == 10 }
    #expect(count.withLock { $0 } == 1 && model.rows.count == 10)
    first.cancel()
    await first.value
    queue.add(ProcedureTask("later") {})
    try await show { model.totals.finishedCount == 11 }
    #expect(count.withLock { $0 } <= 3 && model.names.first == "later" && model.rows.count == 11)
  }

  @Test("The updates end when the task is cancelled, and the model does not keep its queue alive afterwards")
  func cancelled() async throws {
    weak var released: ProcedureQueue?
    do {
      let queue = makeQueue()
      released = queue
      let model = makeModel(queue)
      let running = Task { await model.run() }
      try await clock.nextSleep()
      queue.add(ProcedureTask("job") {})
      try await show { model.totals.finishedCount == 1 }
      running.cancel()
      await running.value
      queue.add(ProcedureTask("later") {})
      await queue.waitUntilIdle()
      #expect(model.names == ["job"])
    }
    try await eventually { released == nil }
  }

  @Test("The updates end with the last procedure of a queue that was shut down, which is shown")
  func shutDown() async throws {
    let (queue, probe) = (makeQueue(), ProbeProcedure<Void, Void>("job"))
    let model = makeModel(queue)
    let endCount = Locked(0)
    func run() -> Task<Void, Never> {
      Task {
        await model.run()
        endCount.withLock { $0 += 1 }
      }
    }
    let first = run()
    queue.add(probe)
    try await show { model.totals.executingCount == 1 }
    async let shutDown = queue.shutDown()
    probe.finish(())
    _ = await shutDown
    try await show { endCount.withLock { $0 } == 1 }
    #expect(model.names == ["job"] && model.totals.finishedCount == 1 && model.totals.executingCount == 0)
    let second = run()
    try await show { endCount.withLock { $0 } == 2 }
    #expect(model.names == ["job"])
    for task in [first, second] { await task.value }
  }
}

@MainActor @Suite("The failures that a model shows", .timeLimit(.minutes(10))) final class ModelFailureTests: ModelTests
{
  /// Adds a procedure that fails, and whose handle is released.
  private func fail(_ name: String, on queue: ProcedureQueue) async {
    let events = queue.events
    queue.add(ProcedureTask(name) { throw Broken() })
    for await event in events where event.name == name && event.kind == .didFinish { return }
  }

  @Test("A failure that a row shows is observed; one that ends before the updates, or after them, is not")
  func observed() async throws {
    let (queue, probe) = (makeQueue(), ProbeProcedure<Void, Void>("probe"))
    let model = makeModel(queue)
    await fail("before", on: queue)
    try await unobserved.wait(for: 1)
    let running = Task { await model.run() }
    try await clock.nextSleep()
    await fail("shown", on: queue)
    try await show { model.rows.first?.failure is Broken }
    // From here on, the clock does not move. After one more update, or if an update has just ended, the model shows nothing more.
    queue.add(probe)
    try await eventually { model.names.first == "probe" || clock.nextDeadline == clock.now.advanced(by: frame) }
    await fail("not shown", on: queue)
    running.cancel()
    await running.value
    await fail("after", on: queue)
    try await unobserved.wait(for: 3)
    #expect(Set(unobserved.values) == ["before", "not shown", "after"])
    #expect(model.names.filter { $0 != "probe" } == ["shown"])
    probe.finish(())
  }

  @Test("A failure that never gets a row, because of the limit, is reported as unobserved")
  func dropped() async throws {
    let queue = makeQueue()
    let model = makeModel(queue, maxFinishedRows: 1)
    async let _ = model.run()
    try await clock.nextSleep()
    await fail("dropped", on: queue)
    await fail("shown", on: queue)
    try await show { model.totals.failedCount == 2 }
    try await unobserved.wait(for: 1)
    #expect(unobserved.values == ["dropped"] && model.names == ["shown"])
  }

  @Test("A procedure that the queue refuses has a row with the failure")
  func refused() async throws {
    var configuration = ProcedureQueue.Configuration("jobs", isSuspended: true)
    configuration.maxWaitingProcedures = 1
    let queue = ProcedureQueue(configuration)
    let model = makeModel(queue)
    async let _ = model.run()
    try await clock.nextSleep()
    queue.add(ProcedureTask("waiting") {})
    queue.add(ProcedureTask("refused") {})
    try await show { model.totals.failedCount == 1 }
    #expect((model.rows.last?.failure as? ProcedureError)?.kind == .queueFull && model.rows.last?.attempts == 0)
  }
}
