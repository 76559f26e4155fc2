import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite("Shields: cleanup that cancellation cannot cut short, under every order", .timeLimit(.atDepth))
struct ShieldRuleTests {
  /// The way in which the body is cancelled.
  enum Way: CaseIterable {
    case handle
    case caller
    case queue
    case timeout
    case shutdown
  }

  /// Runs `body` on `queue`, cancels it at a random moment after `isStarted` is set, and waits until everything has ended. Returns whether
  /// the run succeeded.
  private func cancel(
    _ body: ProcedureTask<Void, Void>, by way: Way, after isStarted: Locked<Bool>, on queue: ProcedureQueue,
    in env: ExplorationEnvironment
  ) async -> Bool {
    let outer = way == .timeout ? body.timeout(.nanoseconds(1)) : body
    let handle = way == .handle || way == .timeout ? queue.add(outer) : nil
    let end = handle == nil ? Task(executorPreference: env.executor) { try await queue.run(outer) } : nil
    try? await eventually { isStarted.value }
    await pause(env)
    switch way {
    case .handle: handle?.cancel(Reason())
    case .caller: end?.cancel()
    case .queue: queue.cancelAll(Reason())
    case .timeout: await env.wait(until: .nanoseconds(2))
    case .shutdown: await queue.shutDown(grace: .zero)
    }
    let result = await (handle?.result, end?.result)
    await queue.waitUntilIdle()
    return (result.0 ?? result.1)?.isSuccess == true
  }

  @Test(
    "A shield hides the cancellation of the body, whether it comes before or during the shield", arguments: Way.allCases
  )
  func shielded(way: Way) async throws {
    try await exploreRace("before", "during or after", schedules: TestDepth.count(1_000)) { env in
      let (queue, other) = (env.makeQueue(maxConcurrentProcedures: 1), env.makeQueue(maxConcurrentProcedures: 1))
      let (isStarted, steps, wasCancelled) = (Locked(false), Locked<[String]>([]), Locked(false))
      let note: @Sendable (String) -> Void = { step in
        env.check(!Task.isCancelled, "\(step): the task is cancelled")
        env.check(ProcedureContext.current?.isCancelled == false, "\(step): the procedure is cancelled")
        steps { $0.append(step) }
      }
      let step = ProcedureTask("step") {
        await pause(env, upTo: 2)
        return ProcedureContext.current?.isCancelled == true ? "cancelled" : "done"
      }
      let body = ProcedureTask("body") {
        isStarted { $0 = true }
        // Lets the timeout expire.
        if way == .timeout, env.random.below(2) == 0 { try? await env.clock.sleep(for: .seconds(1)) }
        await pause(env)
        guard let context = ProcedureContext.current else { return }
        wasCancelled { [isCancelled = context.isCancelled] in $0 = isCancelled }
        do {
          try await context.shielded {
            note("begins")
            try await env.clock.sleep(for: .seconds(1))
            note("slept")
            note("called \(try await step.retry(.immediate)())")
            note("ran \(try await other.run(step))")
            async let child: Void = env.clock.sleep(for: .seconds(1))
            try await child
            note("produced \(try await ProcedureContext.current?.produce(step).value ?? "nothing")")
            note("ran here \(try await queue.run(step.retry(.immediate)))")
            note("ends")
          }
        } catch {
          env.check(false, "\(error)")
        }
        env.check(
          ProcedureContext.current?.isCancelled == context.isCancelled,
          "the cancellation cannot be observed after the shield")
      }
      let hasSucceeded = await cancel(body, by: way, after: isStarted, on: queue, in: env)
      let expected = ["begins", "slept", "called done", "ran done", "produced done", "ran here done", "ends"]
      env.check(steps.value == expected, "\(steps.value)")
      env.check(!hasSucceeded || !wasCancelled.value)
      env.tally(wasCancelled.value ? "before" : "during or after")
      await queue.shutDown()
      await other.shutDown()
    }
  }

  @Test("A shield times out at its limit, and the body continues")
  func limit() async throws {
    try await exploreSchedules(TestDepth.count(200)) { env in
      let queue = env.makeQueue()
      let kind = Locked<ProcedureError.Kind?>(nil)
      let body = ProcedureTask("body") {
        do {
          try await ProcedureContext.current?.shielded(atMost: .seconds(30)) {
            try await env.clock.sleep(for: .seconds(3_600))
          }
        } catch let error as ProcedureError {
          kind { $0 = error.kind }
          env.check(error.procedure.name == "shield of body", "\(error)")
        }
        return env.elapsed
      }
      env.check(try await queue.run(body) == .seconds(30))
      env.check(kind.value == .timedOut)
      await queue.shutDown()
    }
  }

  @Test("A task group within a shield can cancel the procedures that its tasks call, before and during the call")
  func groupInShield() async throws {
    try await exploreRace("before", "during", schedules: TestDepth.count(500)) { env in
      let queue = env.makeQueue()
      let (hasStarted, hasBegun) = (Locked(false), Locked(false))
      let promise = Promise<Int>("never")
      let endless = ProcedureTask("endless") {
        hasBegun { $0 = true }
        return try await promise.execute()
      }
      let body = ProcedureTask("body") {
        hasStarted { $0 = true }
        try await eventually { ProcedureContext.current?.isCancelled == true }
        try await ProcedureContext.current?.shielded {
          await withTaskGroup { group in
            group.addTask { _ = try? await endless() }
            await pause(env, upTo: 10)
            env.tally(hasBegun.value ? "during" : "before")
            group.cancelAll()
          }
        }
      }
      let handle = queue.add(body)
      try await eventually { hasStarted.value }
      handle.cancel()
      env.check(await handle.outcome.isCancelled)
      env.check(env.elapsed == .zero, "\(env.elapsed)")
      withExtendedLifetime(promise) {}
      await queue.shutDown()
    }
  }

  @Test(
    "The error of a cleanup is logged if the run was cancelled, even if its body has returned a value",
    arguments: [false, true])
  func failingCleanup(isCancelled: Bool) async throws {
    try await exploreSchedules(TestDepth.count(200)) { env in
      let collector = LogCollector()
      var configuration = ProcedureQueue.Configuration("queue")
      configuration.log = ProcedureLog(to: collector)
      configuration.isSuspended = true
      let queue = env.makeQueue(configuration)
      let run = Locked<ProcedureHandle<Int>?>(nil)
      let body = ProcedureTask("body") { 1 }.cleanup {
        // The body has ended, so only the run is cancelled.
        if isCancelled { run.value?.cancel() }
        throw Reason()
      }
      let handle = queue.add(body)
      run { $0 = handle }
      queue.resume()
      let outcome = await handle.outcome
      env.check(isCancelled ? outcome.isCancelled : outcome.error is Reason, "\(outcome)")
      let texts = collector.texts(.warning).filter { $0.contains("cleanup failed") }
      env.check(texts.count == (isCancelled ? 1 : 0), "\(texts)")
      await queue.shutDown()
    }
  }

  @Test("The operation of a shield uses the slot of the body, and releases it while it waits")
  func slot() async throws {
    try await exploreSchedules(TestDepth.count(500)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let monitor = ConcurrencyMonitor()
      let inner = ProcedureTask("inner") { await monitor.during { await pause(env, upTo: 3) } }
      let body = ProcedureTask("body") {
        try await ProcedureContext.current?.shielded {
          await monitor.during { await pause(env, upTo: 3) }
          try await queue.run(inner)
          await monitor.during { await pause(env, upTo: 3) }
        }
      }
      let handles = (0..<3).map { _ in queue.add(body) }
      for handle in handles { try await handle.value }
      env.check(monitor.total == 9 && monitor.most == 1, "\(monitor.most)")
      await queue.shutDown()
    }
  }

  @Test("A failed child that stops the body does not stop the shield")
  func stopped() async throws {
    try await exploreSchedules(TestDepth.count(500)) { env in
      let queue = env.makeQueue()
      let isDone = Locked(false)
      let body = ProcedureTask("body") {
        ProcedureContext.current?.produce(ProcedureTask("failing") { throw Reason() })
        try await ProcedureContext.current?.shielded {
          try await env.clock.sleep(for: .seconds(1))
          isDone { $0 = true }
        }
      }
      env.check(await queue.add(body).outcome.error is Reason)
      env.check(isDone.value)
      await queue.shutDown()
    }
  }

  @Test(
    "The cleanup of a cancelled procedure is executed to its end, within the resources around it",
    arguments: Way.allCases)
  func cleanup(way: Way) async throws {
    try await exploreRace("before", "during", schedules: TestDepth.count(1_000)) { env in
      let queue = env.makeQueue()
      let (isStarted, steps, wasCancelled) = (Locked(false), Locked<[String]>([]), Locked(false))
      let body = ProcedureTask("body") {
        isStarted { $0 = true }
        defer { wasCancelled { [isCancelled = ProcedureContext.current?.isCancelled] in $0 = isCancelled == true } }
        if way == .timeout { try await env.clock.sleep(for: .nanoseconds(2 * env.random.below(2))) }
        await pause(env)
      }.cleanup {
        steps { $0.append("begins") }
        try await env.clock.sleep(for: .seconds(1))
        steps { $0.append("ends") }
      }.exclusive("folder")
      let hasSucceeded = await cancel(body, by: way, after: isStarted, on: queue, in: env)
      env.check(steps.value == ["begins", "ends"], "\(steps.value)")
      env.check(!hasSucceeded)
      env.tally(wasCancelled.value ? "before" : "during")
      env.check(env.resources.count == 0)
      await queue.shutDown()
    }
  }

  @Test("The cleanup of a run that was cancelled in a pause waits for the resources around it, up to its limit")
  func cleanupAfterPause() async throws {
    try await exploreRace("cleaned up", "timed out", "deadlock", schedules: TestDepth.count(500)) { env in
      let collector = LogCollector()
      var configuration = ProcedureQueue.Configuration("queue")
      configuration.log = ProcedureLog(to: collector)
      let queue = env.makeQueue(configuration)
      let (monitor, paused) = (ConcurrencyMonitor(), Locked<ProcedureHandle<Void>?>(nil))
      let inner = ProcedureTask("body") { throw Reason() }.retry(.constant(.seconds(3_600)))
      let cleaning = inner.map {}.cleanup { await monitor.during { await pause(env) } }
      let handle = queue.add(cleaning.map {}.exclusive("folder"))
      paused { $0 = handle }
      try await eventually { queue.snapshot().procedures.first?.state == .pausing }
      let (time, waits) = ([1, 40][env.random.below(2)], env.random.below(2) == 0)
      let other = ProcedureTask("other") {
        await monitor.during {
          paused.value?.cancel()
          await pause(env)
          if waits { _ = await paused.value?.result } else { try? await env.clock.sleep(for: .seconds(time)) }
        }
      }
      try await queue.add(other.exclusive("folder")).value
      env.check(await handle.outcome.isCancelled)
      env.check(monitor.most == 1, "\(monitor.most)")
      let warnings = collector.texts(.warning).filter { $0.contains("cleanup failed") }
      let isClean = monitor.total == 2
      env.check(warnings.count == (isClean ? 0 : 1), "\(warnings)")
      env.check(isClean == (!waits && time == 1), "\(monitor.total)")
      env.tally(isClean ? "cleaned up" : waits ? "deadlock" : "timed out")
      env.check(env.resources.count == 0)
      await queue.shutDown()
    }
  }

  @Test(
    "A shield stays on the executor of the caller if there is no queue, or if the queue has no executor",
    arguments: [false, true])
  func executor(hasQueue: Bool) async throws {
    let clock = VirtualClock()
    let isOnExecutor: @Sendable () -> Bool = {
      withUnsafeCurrentTask { $0?.unownedTaskExecutor } == clock.executor.asUnownedTaskExecutor()
    }
    let found = Locked<[Bool]>([])
    let body = ProcedureTask("body") {
      let shielded = try await ProcedureContext.current?.shielded { isOnExecutor() }
      found { $0 += [isOnExecutor(), shielded == true] }
    }.cleanup { found { $0.append(isOnExecutor()) } }
    try await withTaskExecutorPreference(clock.executor) {
      if hasQueue { try await ProcedureQueue().run(body) } else { try await body() }
    }
    #expect(found.value == [true, true, true])
  }

  @Test("L3: an end hook is not cancelled by a cancellation that reaches the worker's task after the body has returned")
  func lateTaskCancellation() async throws {
    try await exploreSchedules(TestDepth.count(500)) { env in
      let (queue, suspended) = (env.makeQueue("q"), env.makeQueue("suspended", isSuspended: true))
      let blocker = suspended.add(ProcedureTask("blocker") {})
      let handle = queue.add(
        ProcedureTask("waits") { try await blocker.value }
          .onWillFinish { _ in
            for _ in 0..<3 { await Task.yield() }
            env.check(!Task.isCancelled)
          })
      try await env.clock.sleep(for: .seconds(1))
      handle.cancel()
      env.check(await handle.outcome.isCancelled)
      blocker.cancel()
    }
  }

  @Test("An end hook is not cancelled with the caller, even by a cancellation during the hook")
  func endHook() async throws {
    try await exploreSchedules(TestDepth.count(500)) { env in
      let queue = env.makeQueue()
      let (isStarted, steps) = (Locked(false), Locked<[String]>([]))
      let hook: @Sendable (String) async -> Void = { step in
        await pause(env, upTo: 3)
        do {
          try await env.clock.sleep(for: .seconds(1))
          steps { $0.append(step) }
        } catch {
          env.check(false, "\(step): \(error)")
        }
      }
      let inner = ProcedureTask("body") {
        isStarted { $0 = true }
        await pause(env)
      }.onWillFinish { _ in await hook("inner will") }
      let outer = inner.map { $0 }.onWillFinish { _ in await hook("will") }.onDidFinish { _ in await hook("did") }
      let end = Task(executorPreference: env.executor) { try await queue.run(outer) }
      try await eventually { isStarted.value }
      await pause(env)
      end.cancel()
      _ = await end.result
      env.check(steps.value == ["inner will", "will", "did"], "\(steps.value)")
      await queue.shutDown()
    }
  }

  @Test("L3: end hooks are not cancelled, even if children are cancelled before them")
  func hooksWhileSettling() async throws {
    for cancels in [true, false] {
      let queue = ProcedureQueue("q")
      let seen = Box<Bool?>(nil)
      let childStarted = Signal()
      let release = Signal()
      let handle = queue.add(
        ProcedureTask("parent") {
          ProcedureContext.current?.produce(
            ProcedureTask("child") {
              childStarted.set()
              if cancels { return await untilCancelled() }
              await release.wait()
              throw TestError(code: 1)
            })
        }.onWillFinish { _ in
          let isCancelled = Task.isCancelled
          seen.update { $0 = isCancelled }
        })
      await childStarted.wait()
      try await eventually { handle.state == .finishing }
      if cancels { handle.cancel() } else { release.set() }
      _ = await handle.outcome
      #expect(seen.value == false)
    }
  }
}

extension Result {
  fileprivate var isSuccess: Bool { if case .success = self { true } else { false } }
}
