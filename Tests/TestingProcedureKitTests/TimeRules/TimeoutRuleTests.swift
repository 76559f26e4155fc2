import TestSupport
import Testing
import TestingProcedureKit

@Suite("C5: timeouts and deadlines", .timeLimit(.atDepth))
struct TimeoutRuleTests {
  /// The ways in which a procedure can be executed.
  enum Way: CaseIterable {
    case added
    case run
    case inner
    case inGraph
    case recovered
  }

  /// Executes a procedure, and returns its outcome.
  private func outcome(
    of procedure: ProcedureTask<Int, Int>, _ way: Way, on queue: ProcedureQueue
  ) async -> ProcedureOutcome<Int> {
    switch way {
    case .added: return await queue.add(procedure, input: 7).outcome
    case .run:
      do {
        return .finished(try await queue.run(procedure, input: 7))
      } catch {
        return .cancelled(reason: error)
      }
    case .inner: return await queue.add(procedure.map { $0 }, input: 7).outcome
    case .inGraph:
      let graph = ProcedureGraph("graph") { (g, number: Node<Int>) in g.add(procedure, from: number) }
      return await cancelled(queue.add(graph, input: 7).outcome)
    case .recovered: return await cancelled(queue.add(procedure.recover { throw $0 }.map { $0 }, input: 7).outcome)
    }
  }

  /// Returns `outcome` as a cancellation if it is a failure, because the timeout of a nested run is a failure of the surrounding run.
  private func cancelled(_ outcome: ProcedureOutcome<Int>) -> ProcedureOutcome<Int> {
    outcome.error.map { .cancelled(reason: $0) } ?? outcome
  }

  @Test(
    "A timeout that fires while the body returns has either outcome, never both or neither", arguments: Way.allCases)
  func race(_ way: Way) async throws {
    try await exploreRace("finished", "timed out", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let recorder = env.recordEvents(of: queue)
      let body = ProcedureTask("work") { (number: Int) in
        await env.wait(until: .seconds(1))
        await pause(env, upTo: 2)
        return number
      }
      let outcome = await outcome(of: body.timeout(.seconds(1)), way, on: queue)
      env.check(outcome.isFinished(7) || outcome.timeout == .seconds(1), "\(outcome)")
      env.check(env.elapsed == .seconds(1) && queue.snapshot().slotsInUse == 0 && !Task.isCancelled)
      env.tally(outcome.isFinished ? "finished" : "timed out")
      await env.settle()
      env.check(env.clock.sleeperCount == 0, "no timer is left")
      await queue.shutDown()
      try await recorder.waitUntilEnded()
      env.check(recorder.events.orderViolations().isEmpty, "\(recorder.events.orderViolations())")
      let cancels = recorder.steps().count { $0 == .didCancel }
      env.check(cancels == 0 ? way != .added && way != .run || outcome.isFinished : outcome.timeout != nil)
    }
  }

  @Test(
    "Of timeouts of 0.1, 0.1, 0.2 and 3 seconds on a procedure of 0.5 seconds, one of 0.1 fires",
    arguments: Way.allCases)
  func earliest(_ way: Way) async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      let queue = env.makeQueue()
      let procedure = env.sleeper("slow", for: .milliseconds(500)).timeout(.milliseconds(100)).timeout(
        .milliseconds(100)
      )
      .timeout(.milliseconds(200)).timeout(.seconds(3))
      let outcome = await outcome(of: procedure, way, on: queue)
      env.check(outcome.timeout == .milliseconds(100), "\(outcome)")
      env.check(outcome.procedureError?.procedure.name == "slow")
      env.check(env.elapsed == .milliseconds(100))
      await queue.shutDown()
    }
  }

  @Test("Of timeouts with other modifiers in between, so that each is nested in the next, the same one fires")
  func nested() async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let queue = env.makeQueue()
      let recorder = env.recordEvents(of: queue)
      let procedure = env.sleeper(for: .milliseconds(500)).timeout(.milliseconds(100)).map { $0 }
        .timeout(.milliseconds(100)).onDidExecute { _ in }.timeout(.milliseconds(200)).map { $0 }.timeout(.seconds(3))
      let outcome = await queue.add(procedure, input: 1).outcome
      env.check(outcome.timeout == .milliseconds(100) && env.elapsed == .milliseconds(100), "\(outcome)")
      await queue.shutDown()
      try await recorder.waitUntilEnded()
      // The outermost level was not cancelled: a nested run failed.
      let expected: [ProcedureEvent.Kind] = [.didAttach, .willExecute, .didExecute, .willFinish, .didFinish]
      env.check(recorder.steps() == expected, "\(recorder.steps())")
    }
  }

  @Test(
    "The time starts with the execution, not while the run is waiting; a timeout that is not positive has no effect")
  func beginsWithExecution() async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let blocker = queue.add(ProcedureTask { await env.wait(until: .seconds(10)) }.exclusive("x"))
      await env.settle()
      let procedure = env.sleeper(for: .milliseconds(500)).exclusive("x").condition("slow") {
        await env.wait(until: .seconds(5))
        return true
      }
      let handle = queue.add(procedure.timeout(.seconds(1)), input: 7)
      env.check(await handle.outcome.isFinished(7))
      for duration in [Duration.zero, .seconds(-1)] {
        env.check(try await queue.run(procedure.timeout(duration), input: 8) == 8)
      }
      env.check(await blocker.outcome.isFinished)
      await queue.shutDown()
    }
  }

  @Test("A body that ignores cancellation is awaited, and its value is not used", arguments: Way.allCases)
  func waitedFor(_ way: Way) async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let isCancelled = Locked(false)
      let deaf = ProcedureTask { (number: Int) in
        try? await env.clock.sleep(for: .seconds(5))
        isCancelled { $0 = Task.isCancelled }
        for _ in 0..<3 { await Task.yield() }
        return number
      }
      let outcome = await outcome(of: deaf.timeout(.seconds(1)), way, on: queue)
      env.check(outcome.timeout == .seconds(1) && isCancelled.value && !Task.isCancelled, "\(outcome)")
      await queue.shutDown()
    }
  }

  @Test("A timeout before a retry applies to each attempt, and after it to all attempts together")
  func andRetry() async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      let queue = env.makeQueue()
      let starts = Locked<[Duration]>([])
      let slow = ProcedureTask {
        starts { $0.append(env.elapsed) }
        try await env.clock.sleep(for: .seconds(3))
      }
      let each = slow.timeout(.seconds(2)).retry(.constant(.seconds(1)), maxAttempts: 3)
      env.check(await queue.add(each).outcome.timeout == .seconds(2))
      env.check(starts.value == [.zero, .seconds(3), .seconds(6)] && env.elapsed == .seconds(8), "\(starts.value)")
      let all = ProcedureTask {
        starts { $0.append(env.elapsed) }
        throw Reason()
      }
      .retry(.constant(.seconds(2)), maxAttempts: 3).timeout(.seconds(3))
      env.check(await queue.add(all).outcome.timeout == .seconds(3))
      env.check(
        starts.value.suffix(2) == [.seconds(8), .seconds(10)] && env.elapsed == .seconds(11), "\(starts.value)")
      await queue.shutDown()
    }
  }

  @Test("A timeout can be recovered from, and the run is not cancelled")
  func recovered() async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let procedure = env.sleeper(for: .seconds(5)).timeout(.seconds(1)).recover { error in
        env.check((error as? ProcedureError)?.kind == .timedOut)
        env.check(!Task.isCancelled && ProcedureContext.current?.isCancelled == false)
        return -1
      }
      let isRun = env.random.below(2) == 0
      let value = try await isRun ? queue.run(procedure, input: 7) : queue.add(procedure, input: 7).value
      env.check(value == -1 && env.elapsed == .seconds(1))
      await queue.shutDown()
    }
  }

  @Test("Children of the body count towards the time, and are cancelled with it", arguments: [false, true])
  func children(isInner: Bool) async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let queue = env.makeQueue()
      let child = Locked<ProcedureHandle<Int>?>(nil)
      var procedure = ProcedureTask {
        let handle = ProcedureContext.current?.produce(env.sleeper(for: .seconds(10)), input: 1)
        child { $0 = handle }
      }.timeout(.seconds(1))
      if isInner { procedure = procedure.onDidExecute { _ in } }
      env.check(await queue.add(procedure).outcome.timeout == .seconds(1))
      env.check(child.value?.state == .finished)
      env.check(await child.value?.outcome.isCancelled ?? false)
      env.check(env.elapsed == .seconds(1))
      await queue.shutDown()
    }
  }

  @Test("A deadline includes waits: a run that has not ended by then is cancelled, whatever it is doing")
  func deadline() async throws {
    try await exploreRace("waiting", "executing", "past", "in time", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let blocker = queue.add(ProcedureTask { await env.wait(until: .seconds(10)) })
      await env.wait(until: .seconds(1))
      let hasStarted = Locked(false)
      let body = ProcedureTask {
        hasStarted { $0 = true }
        try await env.clock.sleep(for: .seconds(5))
      }
      let (way, isRun) = (env.random.below(4), env.random.below(2) == 0)
      let instant = Duration.seconds([4, 12, 0, 20][way])
      let procedure = body.deadline(.init(offset: instant), on: env.clock)
        .deadline(.init(offset: .seconds(50)), on: env.clock)
      let outcome: ProcedureOutcome<Void>
      if isRun {
        do {
          outcome = .finished(try await queue.run(procedure))
        } catch {
          outcome = .cancelled(reason: error)
        }
      } else {
        outcome = await queue.add(procedure).outcome
      }
      env.check(way == 3 ? outcome.isFinished : outcome.timeout == max(instant - .seconds(1), .zero), "\(outcome)")
      env.check(env.elapsed == (way == 3 ? .seconds(15) : max(instant, .seconds(1))), "\(env.elapsed)")
      env.check(hasStarted.value == (way % 2 == 1))
      env.check(way == 3 || outcome.hasStartedBeforeTimeout == hasStarted.value, "\(outcome)")
      env.tally(["waiting", "executing", "past", "in time"][way])
      _ = await blocker.outcome
      await env.settle()
      env.check(env.clock.sleeperCount == 0)
      await queue.shutDown()
    }
  }

  @Test("A body does not start at its deadline or later, whether or not there is a slot")
  func late() async throws {
    try await exploreRace("added", "run", "produced", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let recorder = env.recordEvents(of: queue)
      let hasStarted = Locked(false)
      let instant = Duration.seconds(env.random.below(3))
      let late = ProcedureTask("late") { hasStarted { $0 = true } }.deadline(.init(offset: instant), on: env.clock)
      if env.random.below(2) == 0 {
        queue.add(ProcedureTask("blocker") { await env.wait(until: .seconds(2)) })
        await env.settle()
      } else {
        await env.wait(until: .seconds(2))
      }
      let way = ["added", "run", "produced"][env.random.below(3)]
      let allowance = max(instant - env.elapsed, .zero)
      let outcome: ProcedureOutcome<Void>
      switch way {
      case "added": outcome = await queue.add(late.onDidFinish { _ in }).outcome
      case "run":
        do {
          outcome = .finished(try await queue.run(late))
        } catch {
          outcome = .cancelled(reason: error)
        }
      default:
        let child = Locked<ProcedureHandle<Void>?>(nil)
        // The failure of the child fails its parent.
        try? await queue.run(
          ProcedureTask { child { [handle = ProcedureContext.current?.produce(late)] in $0 = handle } })
        guard let handle = child.value else { return env.check(false) }
        outcome = await handle.outcome
      }
      env.check(way == "produced" || outcome.timeout == allowance, "\(outcome), not \(allowance)")
      env.check(outcome.timeout != nil && !hasStarted.value, "\(outcome)")
      env.check(outcome.hasStartedBeforeTimeout == false, "\(outcome)")
      env.tally(way)
      await queue.shutDown()
      try await recorder.waitUntilEnded()
      env.check(recorder.events.orderViolations().isEmpty, "\(recorder.events.orderViolations())")
    }
  }

  @Test(
    "The error of a missed deadline states whether the body had started, for every way of executing",
    arguments: Way.allCases)
  func startBeforeDeadline(_ way: Way) async throws {
    try await exploreRace("waiting", "executing", "past", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue()
      let kind = ["waiting", "executing", "past"][env.random.below(3)]
      if kind == "past" { await env.wait(until: .seconds(2)) }
      let procedure = env.sleeper("late", for: .seconds(5)).condition("slow") {
        if kind == "waiting" { await env.wait(until: .seconds(3)) }
        return true
      }
      let outcome = await outcome(of: procedure.deadline(.init(offset: .seconds(2)), on: env.clock), way, on: queue)
      env.check(outcome.timeout == (kind == "past" ? .zero : .seconds(2)), "\(outcome)")
      env.check(outcome.hasStartedBeforeTimeout == (kind == "executing"), "\(outcome)")
      env.check("\(outcome)".contains("not started by its deadline") == (kind == "waiting"), "\(outcome)")
      env.check("\(outcome)".contains("passed before it was added") == (kind == "past"), "\(outcome)")
      env.tally(kind)
      await queue.shutDown()
    }
  }

  @Test("A deadline before a retry is the same for each attempt, and leaves no time for another attempt")
  func deadlineOfAttempts() async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      let queue = env.makeQueue()
      let flaky = Flaky(env)
      let procedure = flaky.delay(.seconds(2)).deadline(.init(offset: .seconds(5)), on: env.clock)
        .retry(.constant(.seconds(1)), maxAttempts: 4)
      let outcome = await queue.add(procedure).outcome
      env.check(outcome.timeout == .zero, "\(outcome)")
      env.check(flaky.starts.value == [.seconds(2), .seconds(5)] || flaky.starts.value == [.seconds(2)])
      await queue.shutDown()
    }
  }

  @Test("A timeout is measured with the queue's clock, for every clock")
  func otherClock() async throws {
    let queue = ProcedureQueue("suspending", clock: SuspendingClock())
    let endless = ProcedureTask { try? await VirtualClock().sleep(for: .seconds(1)) }
    for procedure in [
      endless.timeout(.nanoseconds(1)), endless.deadline(SuspendingClock().now, on: SuspendingClock()),
    ] {
      #expect(await queue.add(procedure).outcome.timeout != nil)
    }
    #expect(await queue.add(ProcedureTask {}.timeout(Duration(attoseconds: .max))).outcome.isFinished)
    await queue.shutDown()
  }

  @Test("Without a queue, a timeout is measured with the clock of the process")
  func withoutQueue() async throws {
    let endless = ProcedureTask("endless") { try? await VirtualClock().sleep(for: .seconds(1)) }
    await #expect {
      try await endless.timeout(.nanoseconds(1)).execute()
    } throws: {
      ($0 as? ProcedureError)?.kind == .timedOut
    }
    await #expect {
      try await endless.deadline(ContinuousClock().now).execute()
    } throws: {
      ($0 as? ProcedureError)?.kind == .timedOut
    }
  }
}
