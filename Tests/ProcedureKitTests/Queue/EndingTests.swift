import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

/// Tests `shutDown(grace:)` and `cancelWaiting(_:)`.
@Suite(.timeLimit(.minutes(10))) struct EndingTests {
  private let clock = VirtualClock()

  private func makeQueue(_ width: Int = .max, isSuspended: Bool = false) -> ProcedureQueue {
    var configuration = ProcedureQueue.Configuration("q", maxConcurrentProcedures: width, isSuspended: isSuspended)
    configuration.clock = clock
    return ProcedureQueue(configuration)
  }

  private func isShutDown(_ reason: (any Error)?, _ name: String) -> Bool {
    guard let error = reason as? ProcedureError else { return false }
    return error.kind == .queueShutDown && error.procedure.name == name
  }

  // MARK: Grace

  @Test("Nothing is cancelled during the grace period; after it, everything is, with a reason that names the procedure")
  func grace() async throws {
    let queue = makeQueue(1)
    let (started, release) = (Signal(), Signal())
    let quick = queue.add(
      ProcedureTask("quick") {
        started.set()
        await release.wait()
        return 1
      })
    let stuck = queue.add(ProcedureTask("stuck") { await untilCancelled() })
    let waiting = queue.add(ProcedureTask("waiting") {}, after: [stuck])
    await started.wait()
    async let end = queue.shutDown(grace: .seconds(10))
    try await clock.nextSleep()
    clock.advance(by: .seconds(9))
    release.set()
    #expect(try await quick.value == 1)
    clock.advance(by: .seconds(1))
    _ = await end
    for handle in [stuck, waiting] {
      guard case .cancelled(let reason) = await handle.outcome else {
        Issue.record("\(handle) was not cancelled")
        continue
      }
      #expect(isShutDown(reason, handle.name))
    }
    #expect(queue.snapshot().procedures.isEmpty)
  }

  @Test(
    "A queue that is idle before the grace period ends leaves no timer and cancels nothing; a suspended one is resumed")
  func drained() async throws {
    let queue = makeQueue(isSuspended: true)
    let handle = queue.add(ProcedureTask { 1 })
    await queue.shutDown(grace: .seconds(10))
    #expect(try await handle.value == 1)
    let late = queue.add(ProcedureTask("late") {})
    let error = await #expect(throws: ProcedureError.self) { try await late.value }
    #expect(error?.kind == .queueShutDown)
    try await eventually { clock.sleeperCount == 0 }
  }

  @Test(
    "Without a grace period, everything is cancelled immediately, and the call waits until all bodies have ended",
    arguments: [0, -1])
  func noGrace(_ seconds: Int) async {
    let queue = makeQueue()
    let (started, ended) = (Signal(), Box(false))
    let handle = queue.add(
      ProcedureTask("stuck") {
        started.set()
        await untilCancelled()
        for _ in 0..<20 { await Task.yield() }
        ended.update { $0 = true }
      })
    await started.wait()
    await queue.shutDown(grace: .seconds(seconds))
    #expect(ended.value)
    #expect(await handle.outcome.isCancelled)
  }

  @Test("Of two calls, the one with the shorter grace period takes effect, and both return when the queue is idle")
  func twoCalls() async throws {
    let queue = makeQueue()
    let handle = queue.add(ProcedureTask("stuck") { await untilCancelled() })
    async let long = queue.shutDown(grace: .seconds(100))
    async let none = queue.shutDown()
    try await clock.nextSleep()
    async let short = queue.shutDown(grace: .seconds(5))
    defer { handle.cancel() }
    // Without this wait, the time could pass before the second call has begun.
    try await eventually { clock.nextDeadline == VirtualClock.Instant().advanced(by: .seconds(5)) }
    clock.advance(by: .seconds(5))
    try await eventually { handle.state == .finished }
    #expect(await handle.outcome.isCancelled)
    _ = await (long, none, short)
  }

  @Test("Cancelling the caller shortens neither the wait nor the grace period")
  func cancelledCaller() async throws {
    let queue = makeQueue()
    let (started, release) = (Signal(), Signal())
    let handle = queue.add(
      ProcedureTask {
        started.set()
        await release.wait()
        return 1
      })
    await started.wait()
    let end = Task<Void, Never> { await queue.shutDown(grace: .seconds(10)) }
    try await clock.nextSleep()
    end.cancel()
    for _ in 0..<20 { await Task.yield() }
    #expect(handle.state == .executing)
    release.set()
    await end.value
    #expect(try await handle.value == 1)
  }

  @Test("A body that shuts its own queue down is neither awaited nor cancelled", arguments: [0, 10])
  func ownBody(_ seconds: Int) async throws {
    let queue = makeQueue(1)
    let started = Signal()
    let other = queue.add(
      ProcedureTask("other") {
        started.set()
        await untilCancelled()
        try await Task.sleep(for: .zero)
      })
    await started.wait()
    queue.setMaxConcurrentProcedures(2)
    let body = queue.add(
      ProcedureTask("body") { () -> Int in
        await queue.shutDown(grace: .seconds(seconds))
        return ProcedureContext.current?.isCancelled == false ? 1 : 0
      })
    if seconds > 0 {
      try await clock.nextSleep()
      clock.advance(by: .seconds(seconds))
    }
    #expect(try await body.value == 1)
    #expect(await other.outcome.isCancelled)
  }

  @Test("A procedure that a body adds after the grace period is cancelled, so the call returns")
  func addedLater() async {
    let queue = makeQueue()
    let (started, later) = (Signal(), Box(ProcedureHandle<Void>?.none))
    queue.add(
      ProcedureTask("stubborn") {
        started.set()
        await untilCancelled()
        let handle = queue.add(ProcedureTask("later") { await untilCancelled() })
        later.update { $0 = handle }
      })
    await started.wait()
    await queue.shutDown(grace: .zero)
    #expect(await later.value?.outcome.isCancelled == true)
  }

  // MARK: Waiting

  @Test("cancelWaiting cancels procedures that have not started or that are pausing, but no executing body")
  func waiting() async throws {
    let queue = makeQueue(2)
    let (started, release) = (Signal(), Signal())
    let executing = queue.add(
      ProcedureTask("executing") {
        started.set()
        await release.wait()
        return 1
      }.exclusive("cancelWaiting"))
    await started.wait()
    let delayed = queue.add(ProcedureTask("delayed") { 0 }.delay(.seconds(10)))
    let retrying = queue.add(
      ProcedureTask("retrying") { () -> Int in throw TestError() }.retry(.constant(.seconds(10))))
    let condition = Signal()
    defer { condition.set() }
    let handles = [
      queue.add(ProcedureTask("dependent") { 0 }, after: [executing]),
      queue.add(ProcedureTask("claiming") { 0 }.exclusive("cancelWaiting")),
      queue.add(
        ProcedureTask("evaluating") { 0 }.condition("never") {
          await condition.wait()
          return true
        }), delayed, retrying,
    ]
    try await eventually { retrying.state == .pausing && delayed.state == .pausing }
    queue.setMaxConcurrentProcedures(1)
    let ready = queue.add(ProcedureTask("ready") { 0 })
    queue.cancelWaiting(TestError(code: 4))
    for handle in handles + [ready] {
      let outcome = await handle.outcome
      guard case .cancelled(let reason) = outcome else {
        Issue.record("\(handle): \(outcome)")
        continue
      }
      #expect(reason as? TestError == TestError(code: 4))
    }
    #expect(executing.state == .executing)
    release.set()
    #expect(try await executing.value == 1)
    #expect(try await queue.add(ProcedureTask { 2 }).value == 2)
  }

  @Test("cancelWaiting cancels everything that is waiting on a suspended queue")
  func suspended() async {
    let queue = makeQueue(isSuspended: true)
    let handles = [
      queue.add(ProcedureTask {}), queue.add(ProcedureTask {}.condition("c") { true }),
      queue.add(ProcedureTask {}.exclusive("held")),
    ]
    queue.cancelWaiting()
    for handle in handles { #expect(await handle.outcome.isCancelled) }
  }

  @Test("cancelWaiting does not cancel the waiting parts of executing bodies")
  func parts() async throws {
    let (queue, other) = (makeQueue(1), makeQueue(1))
    let (blocks, release) = (Signal(), Signal())
    let blocker = other.add(
      ProcedureTask("blocker") {
        blocks.set()
        await release.wait()
      })
    await blocks.wait()
    let graph = ProcedureGraph("graph") { g in
      let first = g.add(ProcedureTask("first") { await release.wait() })
      return g.add(ProcedureTask("second") { 1 }.condition("c") { true }, after: [first])
    }
    let body = queue.add(
      ProcedureTask("body") { () -> Int in
        let child = ProcedureContext.current?.produce(ProcedureTask("child") { 1 }.exclusive("parts"), input: ())
        async let nested = queue.run(ProcedureTask("nested") { 1 }.exclusive("parts"))
        async let nodes = queue.run(graph)
        async let elements = queue.results(of: ProcedureTask { (i: Int) in i }.exclusive("parts"), over: 0..<2)
          .reduce(0, +)
        return try await nested + nodes + elements + (child?.value ?? 0)
      })
    let outer = ProcedureTask("outer") { try await other.run(ProcedureTask("inner") { 1 }) }
    let holder = makeQueue().add(
      ProcedureTask("holder") { await release.wait() }.exclusive("parts"))
    try await eventually { queue.snapshot().procedures.count >= 3 }
    queue.cancelWaiting()
    // On the other queue, the call is a waiting procedure.
    let guest = makeQueue().add(outer)
    try await eventually { other.snapshot().procedures.count >= 2 }
    other.cancelWaiting(TestError(code: 5))
    await #expect(throws: TestError(code: 5)) { try await guest.value }
    release.set()
    _ = try await (blocker.value, holder.value)
    #expect(try await body.value == 4)
  }
}
