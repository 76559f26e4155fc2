import TestSupport
import Testing
import TestingProcedureKit

@Suite("Rules C1 to C6 under every order: cancelling", .timeLimit(.atDepth))
struct CancellationRuleTests {
  @Test(
    "C1, C3: the first of a cancellation and a finish decides, and the events and the value agree",
    arguments: [false, true])
  func cancelOrFinish(isObserved: Bool) async throws {
    try await exploreRace("finished", "cancelled", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue()
      let recorder = isObserved ? env.recordEvents(of: queue) : nil
      let handle = queue.add(
        ProcedureTask {
          await pause(env)
          return 42
        })
      async let first: Void = {
        await pause(env)
        handle.cancel(Reason())
      }()
      async let second: Void = {
        await pause(env, upTo: 12)
        handle.cancel(Reason(text: "too late"))
      }()
      let outcome = await handle.outcome
      env.check(handle.state == .finished)
      let steps = await handle.allEvents().steps()
      env.check(steps.last == .didFinish && steps.contains(.didCancel) == outcome.isCancelled, "\(steps) \(outcome)")
      _ = await (first, second)
      let later = await handle.outcome
      switch outcome {
      case .finished(let value): env.check(value == 42 && later.isFinished(42))
      case .cancelled(let reason): env.check(reason is Reason && later.isCancelled)
      default: env.check(false, "\(outcome)")
      }
      env.tally(outcome.isFinished ? "finished" : "cancelled")
      await queue.shutDown()
      if let recorder {
        try await recorder.waitUntilEnded()
        env.check(recorder.events.orderViolations().isEmpty, "\(recorder.events.orderViolations())")
        env.check(recorder.steps(of: handle.id) == steps)
      }
    }
  }

  @Test("C1, C6: a cancellation after the body has returned is ignored, even while the worker executes the next run")
  func cancelAfterReturn() async throws {
    try await exploreRace("executing the next", "before the next", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let returned = Locked(-1)
      let handles = (0..<5).map { number in
        queue.add(
          ProcedureTask {
            await pause(env, upTo: 1)
            env.clock.advance(by: .milliseconds(10))  // the worker yields for this call after it has returned
            returned { $0 = number }
          })
      }
      while returned.value < handles.count - 1 {
        await pause(env, upTo: 2)
        guard let latest = handles.indices.last(where: { $0 <= returned.value }) else { continue }
        if latest < handles.count - 1 {
          env.tally(handles[latest + 1].state == .executing ? "executing the next" : "before the next")
        }
        handles[latest].cancel()
      }
      await pause(env, upTo: 2)
      handles[4].cancel()
      for handle in handles { env.check(await handle.outcome.isFinished, "\(handle.name) had returned") }
      await queue.shutDown()
    }
  }

  @Test("C1: a cancellation while an end hook executes is ignored", arguments: [false, true])
  func cancelInEndHook(isAdded: Bool) async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let (queue, isInHook, isReleased) = (env.makeQueue(), Locked(false), Locked(false))
      let context = Locked<ProcedureContext?>(nil)
      let task = ProcedureTask { context { $0 = .current } }.onWillFinish { _ in
        try await withTaskCancellationHandler {
          isInHook { $0 = true }
          try await eventually { isReleased.value }
        } onCancel: {
          env.check(false, "the hook was cancelled")
        }
      }
      let recorder = env.recordEvents(of: queue)
      async let outcome = isAdded ? queue.add(task).outcome : Self.outcome { try await queue.run(task) }
      try await eventually { isInHook.value }
      context.value?.cancel(Reason())
      isReleased { $0 = true }
      let decided = await outcome
      env.check(decided.isFinished, "\(decided)")
      await queue.shutDown()
      try await recorder.waitUntilEnded()
      env.check(!recorder.events.contains { $0.kind == .didCancel }, "\(recorder.events)")
    }
  }

  private static func outcome(_ work: () async throws -> Void) async -> ProcedureOutcome<Void> {
    do {
      try await work()
      return .finished(())
    } catch {
      return .failed(error)
    }
  }

  @Test(
    "C3: a child that a body produces after it was cancelled, or stopped because another child failed, is cancelled",
    arguments: [false, true])
  func childAfterCancellation(isStopped: Bool) async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let (queue, isExecuting, start) = (env.makeQueue(), Locked(false), env.clock.now)
      let handle = queue.add(
        ProcedureTask {
          let context = ProcedureContext.current!
          if isStopped { context.produce(ProcedureTask("fails") { throw Reason() }) }
          isExecuting { $0 = true }
          try await eventually { context.isCancelled }
          let child = context.produce(
            ProcedureTask("late") { try await env.clock.sleep(for: .seconds(100)) })
          let outcome = await child.outcome
          env.check(outcome.isCancelled, "\(outcome)")
        })
      try await eventually { isExecuting.value }
      if !isStopped { handle.cancel(Reason()) }
      let outcome = await handle.outcome
      env.check(isStopped ? outcome.label == "failed" : outcome.isCancelled, "\(outcome)")
      env.check(env.clock.now == start, "the child was not cancelled")
      await queue.shutDown()
    }
  }

  @Test(
    "D4: a body that awaits its failing child receives the child's error, and only then is interrupted",
    arguments: [false, true])
  func awaitedChild(isAdded: Bool) async throws {
    try await exploreSchedules(TestDepth.count(300)) { env in
      let (queue, errors, calls) = (env.makeQueue(), Locked(0), Locked(0))
      let task = ProcedureTask {
        let child = ProcedureContext.current!.produce(ProcedureTask("child") { throw Reason() })
        do {
          try await withTaskCancellationHandler {
            try await child.value
          } onCancel: {
            calls { $0 += 1 }
          }
        } catch {
          env.check(error is Reason, "\(error)")
          errors { $0 += 1 }
        }
      }
      do {
        if isAdded { try await queue.add(task).value } else { try await queue.run(task) }
        env.check(false, "the run succeeded although a child failed")
      } catch {
        env.check(error is Reason, "\(error)")
      }
      env.check(errors.value == 1 && calls.value <= 1)
      await queue.shutDown()
    }
  }

  @Test("C2: the body of a run that is cancelled before its start never runs", arguments: [1, 2])
  func cancelOrStart(width: Int) async throws {
    try await exploreRace("started", "never started", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: width)
      let hasStarted = Locked(false)
      let blocker = queue.add(ProcedureTask("blocker") { await pause(env) })
      let handle = queue.add(
        ProcedureTask {
          hasStarted { $0 = true }
          await pause(env, upTo: 2)
        })
      async let cancel: Void = {
        await pause(env)
        handle.cancel(Reason())
      }()
      let outcome = await handle.outcome
      let steps = await handle.allEvents().steps()
      env.check(steps.contains(.willExecute) == hasStarted.value, "\(steps)")
      if !hasStarted.value { env.check(outcome.cancellationReason(as: Reason.self) == Reason(), "\(outcome)") }
      env.tally(hasStarted.value ? "started" : "never started")
      await cancel
      env.check(await blocker.outcome.isFinished)
      env.check((try? await queue.run(ProcedureTask { 1 })) == 1, "the slot is free again")
      await queue.shutDown()
    }
  }

  @Test("C2: a waiting run is cancelled promptly, whatever it is waiting for")
  func cancelWhileWaiting() async throws {
    try await exploreRace("pending", "evaluating", "waiting", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let blocker = ProbeProcedure("blocker")
      let condition = ConditionProbe()
      let hasStarted = Locked(false)
      let body = ProcedureTask { hasStarted { $0 = true } }
      let blocking = queue.add(blocker)
      try await blocker.waitUntilStarted()
      let handle =
        switch env.random.below(3) {
        case 0: queue.add(body, after: [blocking])
        case 1: queue.add(body.condition(.probe(condition)))
        default: queue.add(body)
        }
      await pause(env)
      env.tally("\(handle.state)")
      handle.cancel(Reason())
      env.check(await handle.outcome.cancellationReason(as: Reason.self) == Reason())
      blocker.finish()
      env.check(await blocking.outcome.isFinished)
      env.check(!hasStarted.value)
      await queue.shutDown()
    }
  }

  @Test("C4: cancelling the caller of run cancels the body, and run returns only when the body has")
  func cancelCallerOfRun() async throws {
    try await exploreRace("finished", "cancelled", "never started", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let state = Locked("never started")
      queue.add(ProcedureTask("blocker") { await pause(env, upTo: 3) })
      let task = Task(executorPreference: env.executor) {
        let result = await Result {
          try await queue.run(
            ProcedureTask {
              state { $0 = "started" }
              await pause(env, upTo: 3)
              try Task.checkCancellation()
              await pause(env, upTo: 3)
              state { $0 = "finished" }
              return 42
            })
        }
        env.check(state.value != "started" || result.isFailure, "the body has ended")
        return result
      }
      await pause(env)
      task.cancel()
      switch await task.value {
      case .success(let value): env.check(value == 42 && state.value == "finished")
      case .failure(let error):
        env.check(error is CancellationError, "\(error)")
        if state.value == "finished" { state { $0 = "cancelled" } }
      }
      if state.value == "started" { state { $0 = "cancelled" } }
      env.tally(state.value)
      await queue.shutDown()
    }
  }

  @Test("C4: cancelling a task that awaits a value ends the wait immediately, and does not cancel the procedure")
  func cancelWhoAwaits() async throws {
    try await exploreRace("cancelled before", "cancelled after", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue()
      let handle = queue.add(
        ProcedureTask {
          await pause(env)
          return Task.isCancelled ? -1 : 42
        })
      let task = Task(executorPreference: env.executor) { try await handle.value }
      await pause(env)
      env.tally(handle.state == .finished ? "cancelled after" : "cancelled before")
      task.cancel()
      switch await task.result {
      case .success(let value): env.check(value == 42)
      case .failure(let error): env.check(error is CancellationError)
      }
      env.check(await handle.outcome.isFinished(42))
      await queue.shutDown()
    }
  }

  @Test("C6: cancelling a run does not affect the runs before and after it on the same worker")
  func cancelDisturbsNobodyElse() async throws {
    try await exploreRace("cancelled", "finished", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1 + env.random.below(2))
      let disturbed = Locked<[String]>([])
      let procedure = { (name: String) in
        ProcedureTask(name) {
          await pause(env, upTo: 3)
          if Task.isCancelled { disturbed { $0.append(name) } }
        }
      }
      let handles = ["a", "b", "c", "d"].map { queue.add(procedure($0)) }
      async let cancel: Void = {
        await pause(env, upTo: 14)
        handles[1].cancel()
      }()
      for (index, handle) in handles.enumerated() where index != 1 {
        env.check(await handle.outcome.isFinished, "\(handle.name)")
      }
      await cancel
      env.check(disturbed.value.allSatisfy { $0 == "b" }, "\(disturbed.value)")
      env.tally(await handles[1].outcome.isFinished ? "finished" : "cancelled")
      await queue.shutDown()
    }
  }

  @Test("C3: a nested run is cancelled even if its parent is cancelled during its admission")
  func cancelledDuringAdmission() async throws {
    let (outer, inner) = (ProcedureQueue("outer"), ProcedureQueue("inner", isSuspended: true, clock: CallingClock()))
    await #expect(throws: CancellationError.self) {
      try await outer.run(
        ProcedureTask("outer") {
          let context = try #require(ProcedureContext.current)
          try await CallingClock.$call.withValue({ context.cancel() }) {
            try await inner.run(ProcedureTask("inner") {})
          }
        })
    }
    #expect(inner.snapshot().procedures.isEmpty)
  }
}

extension Result where Failure == any Error {
  fileprivate init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }

  fileprivate var isFailure: Bool {
    if case .failure = self { true } else { false }
  }
}
