import TestSupport
import Testing
import TestingProcedureKit

@Suite(
  "After a nested run is stopped during its pause, the rest of the body has a slot and its categories",
  .timeLimit(.atDepth))
struct StoppedPauseTests {
  enum Way: CaseIterable {
    case fallback
    case recover
    case retry
    case then
    case hook
    case body
    case graph
  }

  /// Returns a procedure that calls a nested run, which is stopped, and then `next`.
  private func procedure(
    _ way: Way, _ stopped: ProcedureTask<Void, Void>, then next: ProcedureTask<Void, Void>
  ) -> ProcedureTask<Void, Void> {
    switch way {
    case .fallback: stopped.fallback(to: next)
    case .recover: stopped.recover { _ in try await next.execute() }
    case .retry: stopped.retry(.immediate) { _, _ in .replace(by: next) }
    case .then: stopped.ignoringErrors().then(next)
    case .hook: stopped.onDidExecute { _ in try await next.execute() }.ignoringErrors()
    case .body:
      ProcedureTask("body") {
        try? await stopped.execute()
        try await next.execute()
      }
    case .graph:
      ProcedureGraph("graph") { (g: GraphBuilder) in g.add(stopped.fallback(to: next)) }.procedureTask
    }
  }

  @Test("A timeout can occur in a pause, or in a wait for the slot or the categories", arguments: Way.allCases)
  func timeout(_ way: Way) async throws {
    try await exploreRace("stopped", "in time", schedules: TestDepth.count(500)) { env in
      let (queue, other) = (env.makeQueue(maxConcurrentProcedures: 1), env.makeQueue("other"))
      let monitor = ConcurrencyMonitor()
      let (flaky, isStopped) = (Flaky(failing: 1, env), Locked(false))
      let first = ProcedureTask { _ = try await monitor.during("slot", "x", "y") { try await flaky.execute() } }
      let stopped = first.retry(.constant(.seconds(2))).timeout(.seconds(1 + env.random.below(6)))
      let next = ProcedureTask {
        isStopped { $0 = flaky.starts.value.count == 1 }
        try await monitor.during("slot", "x", "y") { try await env.clock.sleep(for: .seconds(2)) }
      }
      var handles = [env.watch(queue.add(procedure(way, stopped, then: next).exclusive("x").exclusive("y")))]
      for number in 0..<4 {
        let start = Duration.milliseconds(500 * (1 + env.random.below(8)))
        let stranger = { @Sendable (categories: String...) in
          ProcedureTask("stranger \(number)") {
            monitor.enter(categories)
            await env.wait(until: env.elapsed + .seconds(2))
            monitor.leave(categories)
          }
        }
        await env.wait(until: start)
        switch number {
        case 0: handles.append(queue.add(stranger("slot")))
        case 1: handles.append(queue.add(stranger("slot", "x").exclusive("x")))
        case 2: handles.append(other.add(stranger("y").exclusive("y")))
        default: handles.append(other.add(stranger("x", "y").exclusive("y", "x")))
        }
      }
      for handle in handles {
        let outcome = await handle.outcome
        env.check(outcome.isFinished, "\(outcome)")
      }
      for category in ["slot", "x", "y"] { env.check(monitor.most(in: category) == 1, category) }
      env.tally(isStopped.value ? "stopped" : "in time")
      env.check(env.resources.count == 0 && queue.snapshot().slotsInUse == 0 && env.clock.sleeperCount == 0)
      await queue.shutDown()
      await other.shutDown()
    }
  }

  @Test("A copy that is stopped while it waits for the slot leaves no wait behind")
  func hedged() async throws {
    try await exploreRace("the second copy", "the retry", schedules: TestDepth.count(500)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let (monitor, copies) = (ConcurrencyMonitor(), Locked(0))
      let body = ProcedureTask { () async throws -> Int in
        let copy = copies {
          $0 += 1
          return $0
        }
        if copy == 1 { throw Flaw(number: copy) }
        let attempt = ProcedureContext.current?.attempt ?? 0
        try await env.clock.sleep(for: .seconds(attempt == 1 ? 3 : 1))
        return attempt
      }
      let pausing = body.retry(.constant(.seconds(1 + env.random.below(2)))).hedged(after: .seconds(1))
      let procedure = pausing.map { attempt in
        try await monitor.during("slot") { try await env.clock.sleep(for: .seconds(1)) }
        return attempt
      }
      let handle = queue.add(procedure)
      await env.settle()
      let others = (0..<3).map { _ in
        queue.add(ProcedureTask { await monitor.during("slot") { await env.wait(until: env.elapsed + .seconds(2)) } })
      }
      let attempt = try await handle.value
      for other in others { env.check(await other.outcome.isFinished) }
      env.check(monitor.most(in: "slot") == 1 && queue.snapshot().slotsInUse == 0)
      env.tally(attempt == 1 ? "the second copy" : "the retry")
      await queue.shutDown()
    }
  }

  @Test(
    "Q1: after a nested run is stopped while it is waiting in line, the rest of the body waits for a slot",
    arguments: 0..<4)
  func stoppedInLine(way: Int) async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let (queue, monitor) = (env.makeQueue(maxConcurrentProcedures: 1), ConcurrencyMonitor())
      let section: @Sendable () async -> Void = {
        await monitor.during("slot") { await env.wait(until: env.elapsed + .seconds(2)) }
      }
      let paused = ProcedureTask {}.delay(.seconds(1)).timeout(.seconds(3))
      let graph = ProcedureGraph("graph", returning: Void.self) { g in
        let first = g.add(ProcedureTask { await env.wait(until: .seconds(1)) })
        g.add(ProcedureTask {}, after: [first])
      }
      let procedure =
        switch way {
        case 0: paused.recover { _ in await section() }
        case 1: paused.fallback(to: ProcedureTask { await section() })
        default:
          ProcedureTask {
            try? await way == 2 ? paused.execute() : graph.timeout(.seconds(3)).execute()
            await section()
          }
        }
      let handle = queue.add(procedure)
      await env.wait(until: .milliseconds(500))
      queue.suspend()
      // The nested run had been waiting in line since the first second, and was stopped in the third.
      await env.wait(until: .seconds(4))
      let other = queue.add(ProcedureTask("other", priority: .high) { await section() })
      queue.resume()
      for handle in [handle, other] { env.check(await handle.outcome.isFinished) }
      env.check(monitor.most(in: "slot") == 1 && queue.snapshot().slotsInUse == 0)
      await queue.shutDown()
    }
  }

  @Test(
    "Q2: a task that outlives its body continues without the slot that it released, whatever is called at the end",
    arguments: 0..<3, [false, true])
  func leftBehind(hooks: Int, isAdded: Bool) async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let (elsewhere, late) = (env.makeQueue("elsewhere"), Locked<Task<Void, any Error>?>(nil))
      let body = ProcedureTask("body") {
        let task = Task(executorPreference: env.executor) {
          try await elsewhere.run(ProcedureTask { await env.wait(until: .seconds(2)) })
        }
        late { $0 = task }
        await env.wait(until: .seconds(3))
      }
      let procedure =
        switch hooks {
        case 1: body.onWillFinish { _ in try await late.value?.value }
        case 2: body.onDidFinish { _ in }
        default: body
        }
      async let end: Void = isAdded ? queue.add(procedure).value : queue.run(procedure)
      await env.wait(until: .seconds(1))
      // This run has the slot that the body released, and that the body requests again after two seconds.
      let other = queue.add(ProcedureTask("other") { await env.wait(until: .seconds(4)) })
      try await end
      try await late.value?.value
      env.check(env.elapsed == .seconds(3), "continued after \(env.elapsed)")
      try await other.value
      await queue.shutDown()
    }
  }

  @Test("A failing run ends even if its queue is suspended")
  func suspended() async throws {
    try await exploreSchedules(TestDepth.count(200)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let failing = ProcedureTask {
        await env.wait(until: .seconds(2))
        throw Reason()
      }
      let handle = queue.add(failing.timeout(.seconds(5)).map { $0 }.retry(.immediate, maxAttempts: 1))
      await env.wait(until: .seconds(1))
      queue.suspend()
      env.check(await handle.outcome.error is Reason && env.elapsed == .seconds(2))
      queue.resume()
      await queue.shutDown()
    }
  }

  @Test("Q2: a run that waits in line on a suspended queue keeps no slot from executing runs")
  func noSlotInLine() async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let (queue, other) = (env.makeQueue(maxConcurrentProcedures: 1), env.makeQueue("other"))
      let retried = ProcedureTask {}.delay(.seconds(1)).timeout(.seconds(3)).map { $0 }
      let handle = queue.add(retried.retry(.immediate, maxAttempts: 2))
      let underWay = queue.add(
        ProcedureTask { try await other.add(ProcedureTask { await env.wait(until: .seconds(4)) }).value })
      await env.wait(until: .milliseconds(500))
      queue.suspend()
      try await underWay.value
      env.check(env.elapsed == .seconds(4), "continued after \(env.elapsed)")
      queue.resume()
      _ = await handle.outcome
      await queue.shutDown()
      env.check(queue.snapshot().slotsInUse == 0)
    }
  }

  @Test("Q2: a copy that waits in line on a suspended queue keeps no slot after the other copy has failed")
  func noSlotInLineForCopy() async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let (queue, other) = (env.makeQueue(maxConcurrentProcedures: 1), env.makeQueue("other"))
      let copies = Locked(0)
      let body = ProcedureTask {
        let copy = copies {
          $0 += 1
          return $0
        }
        // The first copy waits in line after its pause; the second one gets the slot back, and gives up.
        if copy == 2 { try await other.add(ProcedureTask { await env.wait(until: .seconds(2)) }).value }
        if copy < 3 { throw Flaw(number: copy) }
      }
      let retried = body.retry(.constant(.seconds(1)), maxAttempts: 2) { _, _ in copies.value == 1 ? .retry : .stop }
      let handle = queue.add(retried.hedged(after: .milliseconds(100)))
      await env.settle()
      let underWay = queue.add(
        ProcedureTask { try await other.add(ProcedureTask { await env.wait(until: .seconds(4)) }).value })
      await env.wait(until: .milliseconds(500))
      queue.suspend()
      try await underWay.value
      env.check(env.elapsed == .seconds(4), "continued after \(env.elapsed)")
      queue.resume()
      env.check(await handle.outcome.isFinished && copies.value == 3)
      await queue.shutDown()
      env.check(queue.snapshot().slotsInUse == 0)
    }
  }

  @Test(
    "L3, Q2: an end hook executes a graph of any width while the queue is full, or after it is resumed",
    arguments: [false, true])
  func graphInHook(isSuspended: Bool) async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let executed = Locked(0)
      let graph = ProcedureGraph("graph", returning: Void.self) { g in
        let first = g.add(ProcedureTask { executed { $0 += 1 } })
        for _ in 0..<3 { g.add(ProcedureTask { executed { $0 += 1 } }, after: [first]) }
      }
      let nested = ProcedureGraph("nested", returning: Void.self) { g in
        let first = g.add(ProcedureTask { executed { $0 += 1 } })
        for _ in 0..<3 { g.add(graph, after: [first]) }
      }
      let body = ProcedureTask { await env.wait(until: .seconds(1)) }
      let handle = queue.add(body.onWillFinish { _ in try await nested.execute() })
      await env.settle()
      if isSuspended { queue.suspend() }
      let other = queue.add(ProcedureTask { await env.wait(until: .seconds(3)) })
      if isSuspended {
        await env.wait(until: .seconds(2))
        env.check(executed.value == 0)
        queue.resume()
      }
      try await handle.value
      let end = Duration.seconds(isSuspended ? 2 : 1)
      env.check(env.elapsed == end && executed.value == 13, "\(executed.value) nodes at \(env.elapsed)")
      try await other.value
      await queue.shutDown()
      env.check(queue.snapshot().slotsInUse == 0)
    }
  }

  @Test(
    "L3: nodes of a graph in an end hook use their queue while it shuts down", arguments: [1, 3], [false, true])
  func graphInHookAtShutDown(width: Int, isAdded: Bool) async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 2)
      let graph = ProcedureGraph("graph", returning: Void.self) { g in
        let first = g.add(ProcedureTask {})
        for _ in 0..<width {
          g.add(
            ProcedureTask {
              try await isAdded ? queue.add(ProcedureTask {}).value : queue.run(ProcedureTask {})
            }, after: [first])
        }
      }
      let body = ProcedureTask { await env.wait(until: .seconds(1)) }
      let handle = queue.add(body.onWillFinish { _ in try await graph.execute() })
      await env.settle()
      async let end = queue.shutDown()
      env.check(await handle.outcome.isFinished)
      _ = await end
    }
  }

  @Test("Q2: a pause in a body and in an end hook ends on a suspended queue, too")
  func pausedWhileSuspended() async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let (queue, other) = (env.makeQueue(maxConcurrentProcedures: 1), env.makeQueue("other"))
      let paused = ProcedureTask {}.delay(.seconds(1))
      let handle = queue.add(paused.timeout(.seconds(3)).map { $0 }.retry(.immediate, maxAttempts: 1))
      let hooked = other.add(ProcedureTask { 1 }.onWillFinish { _ in try await paused.execute() })
      await env.wait(until: .milliseconds(500))
      queue.suspend()
      other.suspend()
      env.check(try await hooked.value == 1 && env.elapsed == .seconds(1), "the hook continued after \(env.elapsed)")
      let outcome = await handle.outcome
      env.check(outcome.isFinished && env.elapsed == .seconds(1), "\(env.elapsed): \(outcome)")
      queue.resume()
      await queue.shutDown()
    }
  }
}
