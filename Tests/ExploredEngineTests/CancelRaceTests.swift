import Testing
import TestingProcedureKit

/// Tests cancellations and other ends between any two lock acquisitions of a registration.
///
/// After a registration, the code checks the state a second time, because its run may have ended, or its queue may have been resumed, in
/// between. Without the second check of a pause, a claim, a deadline, a suspended graph or the sleeping task of the timers, one of these
/// tests fails.
@Suite(.timeLimit(.minutes(10))) struct CancelRaceTests {
  /// The time after which the clock of a schedule finds a timer that was left behind.
  private static let long = Duration.seconds(1_000)

  /// A reference to the category. Without it, whether the process already knows the category would be state that outlives a schedule.
  private static let claims = ProcedureTask("claims") {}.exclusive("x")

  /// Fails if a task is sleeping after all other tasks have done their work. The clock moves only then.
  private func checkNoTimerIsLeft(_ env: ExplorationEnvironment) async throws {
    try await env.clock.sleep(for: .milliseconds(1))
    env.check(env.clock.sleeperCount == 0, "\(env.clock.sleeperCount) tasks sleep")
  }

  @Test("C2: a cancellation while a pause is registered leaves no timer", arguments: [false, true])
  func pause(isRetry: Bool) async throws {
    try await exploreSchedules(400) { env in
      let queue = env.makeQueue()
      let body = ProcedureTask<Void, Void>("pauses") { if isRetry { throw Problem() } }
      let handle = queue.add(isRetry ? body.retry(.constant(Self.long), maxAttempts: 2) : body.delay(Self.long))
      async let cancelling: Void = handle.cancel()
      env.check(await handle.outcome.isCancelled || isRetry)
      await cancelling
      await queue.shutDown()
      try await checkNoTimerIsLeft(env)
    }
  }

  @Test("C2, R3: a cancellation while a claim is registered leaves no claim", arguments: [false, true])
  func claim(isHeld: Bool) async throws {
    try await exploreRace("finished", "cancelled", schedules: 400) { env in
      let queue = env.makeQueue()
      let holder = isHeld ? queue.add(ProcedureTask("holder") { await Task.yield() }.exclusive("x")) : nil
      let first = queue.add(ProcedureTask("first") {})
      let handle = queue.add(Self.claims, after: first)
      async let cancelling: Void = handle.cancel()
      env.tally(await handle.outcome.isCancelled ? "cancelled" : "finished")
      await cancelling
      _ = await holder?.outcome
      await queue.shutDown()
      // A claim that was left behind would never be released.
      try await env.makeQueue("next").run(Self.claims)
    }
  }

  @Test("An earlier timer that is registered at the same time leaves no task that sleeps for the later one")
  func nearerTimer() async throws {
    try await exploreSchedules(400) { env in
      let queue = env.makeQueue()
      async let far = adding(ProcedureTask("far") {}.delay(Self.long), to: queue)
      async let near = adding(ProcedureTask("near") {}.delay(.milliseconds(1)), to: queue)
      try await near.value
      await far.cancel()
      _ = await far.outcome
      await queue.shutDown()
      try await checkNoTimerIsLeft(env)
    }
  }

  private func adding(_ task: ProcedureTask<Void, Void>, to queue: ProcedureQueue) async -> ProcedureHandle<Void> {
    queue.add(task)
  }

  @Test("C5: a run that ends while the timer of its deadline is registered leaves no timer")
  func deadline() async throws {
    try await exploreSchedules(400) { env in
      let queue = env.makeQueue()
      let handle = queue.add(ProcedureTask("short") {}.deadline(env.clock.now.advanced(by: Self.long), on: env.clock))
      try await handle.value
      await queue.shutDown()
      try await checkNoTimerIsLeft(env)
    }
  }

  @Test("Q2: a graph that finds its queue suspended continues when the queue is resumed at that moment")
  func suspension() async throws {
    try await exploreSchedules(400) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let graph = ProcedureGraph("graph", returning: Void.self) { g in
        let first = g.add(ProcedureTask("first") {})
        g.add(ProcedureTask("second") {}, after: [first])
      }
      let handle = queue.add(graph)
      async let suspending: Void = suspendAndResume(queue)
      try await handle.value
      await suspending
      await queue.shutDown()
    }
  }

  @Test("Q2, C8: a graph that is cancelled while its queue is suspended starts no further node")
  func suspendedGraph() async throws {
    try await exploreSchedules(400) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let graph = ProcedureGraph("graph", returning: Void.self) { g in
        let first = g.add(ProcedureTask("first") { queue.suspend() })
        g.add(ProcedureTask("second") { env.check(false, "second started") }, after: [first])
      }
      let handle = queue.add(graph)
      async let cancelling: Void = cancelWhenSuspended(queue)
      env.check(await handle.outcome.isCancelled)
      await cancelling
      await queue.shutDown()
    }
  }

  @Test("A dependent that failed before its last dependency ended is released without the lock")
  func releasedDependent() async throws {
    try await exploreSchedules(20) { env in
      let box = Locked<ProcedureQueue?>(nil)
      let names = Locked<[String]>([])
      var configuration = ProcedureQueue.Configuration("q")
      configuration.onUnobservedFailure = { failure in
        // The snapshot needs the lock of the queue.
        _ = box.withLock(\.self)?.snapshot()
        names.withLock { $0.append(failure.procedure.name) }
      }
      let queue = env.makeQueue(configuration)
      box.withLock { $0 = queue }
      let failed = queue.add(ProcedureTask("failed") { throw Problem() })
      _ = await failed.outcome
      let last = queue.add(ProcedureTask("last") { for _ in 0..<4 { await Task.yield() } })
      queue.add(ProcedureTask("dependent") {}, after: [failed, last])
      try await last.value
      await queue.shutDown()
      box.withLock { $0 = nil }
      let all = names.withLock(\.self)
      env.check(all == ["dependent"], "\(all)")
    }
  }

  @Test("No procedure that is added to a scope after its first failure starts")
  func addedAfterFailure() async throws {
    try await exploreSchedules(400) { env in
      let later = Locked<ProcedureHandle<Void>?>(nil)
      _ = try? await withProcedureQueue { queue in
        let failing = queue.add(ProcedureTask("failing") { throw Problem() })
        let running = queue.add(ProcedureTask("running") { while !Task.isCancelled { await Task.yield() } })
        _ = await (failing.outcome, running.outcome)
        let handle = queue.add(ProcedureTask("later") { env.check(false, "started after the failure") })
        later.withLock { $0 = handle }
      }
      env.check(await later.withLock(\.self)?.outcome.isCancelled == true)
    }
  }

  private func cancelWhenSuspended(_ queue: ProcedureQueue) async {
    while !queue.isSuspended { await Task.yield() }
    queue.cancelAll()
  }

  private func suspendAndResume(_ queue: ProcedureQueue) async {
    queue.suspend()
    queue.resume()
  }

  @Test("C5: a cancellation while a body registers its wait ends the wait", arguments: [false, true], 0..<4)
  func bodyWaits(isInTaskOfCaller: Bool, way: Int) async throws {
    try await exploreSchedules(200) { env in
      let (queue, closed) = (env.makeQueue(), env.makeQueue("closed", isSuspended: true))
      let awaited = closed.add(ProcedureTask("awaited") {})
      let waiting = ProcedureTask("waits") {
        async let cancelling: Void = queue.cancelAll()
        switch way {
        case 0: try await awaited.value
        case 1: try await closed.run(ProcedureTask("part") {})
        case 2: for await _ in awaited.events {}
        default: ProcedureContext.current?.produce(ProcedureTask("child") { try await awaited.value })
        }
        await cancelling
      }
      // A cancellation that is lost leads to a deadlock, because `closed` is resumed only after the end.
      let outcome = isInTaskOfCaller ? await outcome { try await queue.run(waiting) } : await queue.add(waiting).outcome
      env.check(outcome.isCancelled)
      closed.resume()
      for queue in [queue, closed] { await queue.shutDown() }
    }
  }

  private func outcome(_ call: @Sendable () async throws -> Void) async -> ProcedureOutcome<Void> {
    do {
      return .finished(try await call())
    } catch { return error is CancellationError ? .cancelled(reason: nil) : .failed(error) }
  }

  @Test("A procedure that is about to start is not replaced: it starts, or it is cancelled before its body")
  func replacement() async throws {
    try await exploreRace("started", "replaced", schedules: 400) { env in
      var configuration = ProcedureQueue.Configuration("q", maxConcurrentProcedures: 1)
      (configuration.maxWaitingProcedures, configuration.overflow) = (1, .replaceOldest)
      let queue = env.makeQueue(configuration)
      let hasStarted = Locked(false)
      let first = queue.add(ProcedureTask("first") { await Task.yield() })
      while first.state != .executing, first.state != .finished { await Task.yield() }
      let second = queue.add(ProcedureTask("second") { hasStarted.withLock { $0 = true } })
      let third = await adding(ProcedureTask("third") {}, to: queue)
      env.tally(await second.outcome.isCancelled ? "replaced" : "started")
      let isExecuted = hasStarted.withLock(\.self)
      env.check(await second.outcome.isCancelled != isExecuted, "started: \(isExecuted)")
      _ = await (first.outcome, third.outcome)
      await queue.shutDown()
    }
  }

  @Test("C2: a caller that is cancelled while it waits for room leaves the room to the next")
  func room() async throws {
    try await exploreRace("added", "cancelled", schedules: 400) { env in
      var configuration = ProcedureQueue.Configuration("q", maxConcurrentProcedures: 1)
      configuration.maxWaitingProcedures = 1
      let queue = env.makeQueue(configuration)
      let work = ProcedureTask("work") { await Task.yield() }
      for _ in 0..<2 { queue.add(work) }
      let caller = Task(executorPreference: env.executor) { try await queue.enqueue(work) }
      async let cancelling: Void = caller.cancel()
      let enqueued = try? await caller.value
      await cancelling
      env.tally(enqueued == nil ? "cancelled" : "added")
      _ = await enqueued?.outcome
      // Lost room would be missing here.
      try await queue.enqueue(work).value
      await queue.shutDown()
    }
  }
}

private struct Problem: Error {}
