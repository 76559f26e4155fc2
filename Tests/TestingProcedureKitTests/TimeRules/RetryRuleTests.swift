import TestSupport
import Testing
import TestingProcedureKit

@Suite("T2: retrying", .timeLimit(.atDepth))
struct RetryRuleTests {
  @Test("T1, T2: the first retry waits for the first delay; a success ends the retry, and earlier errors are discarded")
  func delays() async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      let queue = env.makeQueue()
      let flaky = Flaky(failing: 3, env)
      let value = try await queue.run(flaky.retry(.linear(from: .seconds(1), by: .seconds(1))))
      env.check(value == 4 && flaky.starts.value == [.zero, .seconds(1), .seconds(3), .seconds(6)])
      env.check(flaky.attempts.value == [1, 2, 3, 4], "\(flaky.attempts.value)")
      await queue.shutDown()
    }
  }

  @Test("T1, T2: a retry whose attempts or delays are exhausted throws the last error", arguments: [1, 2, 5])
  func exhausted(count: Int) async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      let queue = env.makeQueue()
      for procedure in [
        Flaky(env).retry(.immediate, maxAttempts: count), Flaky(env).retry(.immediate.prefix(count - 1)),
      ] {
        let outcome = await queue.add(procedure).outcome
        env.check(outcome.error(as: Flaw.self) == Flaw(number: count), "\(outcome)")
      }
      await queue.shutDown()
    }
  }

  @Test("The decision can change the delay, end the retry, or replace the procedure")
  func decisions() async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      let queue = env.makeQueue()
      let flaky = Flaky(env)
      let other = ProcedureTask { 1_000 + (ProcedureContext.current?.attempt ?? 0) }
      let value = try await queue.run(
        flaky.retry(.constant(.seconds(1))) { error, attempt in
          env.check(error as? Flaw == Flaw(number: attempt))
          return switch attempt {
          case 1: .retry
          case 2: .retryAfter(.seconds(7))
          default: .replace(by: other)
          }
        })
      env.check(value == 1_004 && flaky.starts.value == [.zero, .seconds(1), .seconds(8)])
      env.check(env.elapsed == .seconds(9))
      let stopped = await queue.add(Flaky(env).retry(.immediate) { _, attempt in attempt < 3 ? .retry : .stop }).outcome
      env.check(stopped.error(as: Flaw.self) == Flaw(number: 3))
      await queue.shutDown()
    }
  }

  @Test("A cancelled or ignored attempt is not retried, but an attempt that timed out is")
  func notRetried() async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      let queue = env.makeQueue()
      let starts = Locked(0)
      let counting = ProcedureTask { starts { $0 += 1 } }
      let ignored = await queue.add(counting.condition("never") { false }.retry(.immediate)).outcome
      env.check(ignored.isIgnored && starts.value == 0)
      let cancelled = await queue.add(
        ProcedureTask {
          starts { $0 += 1 }
          throw CancellationError()
        }.retry(.immediate)
      ).outcome
      env.check(cancelled.error is CancellationError && starts.value == 1)
      let slow = ProcedureTask {
        starts { $0 += 1 }
        try await env.clock.sleep(for: .seconds(10))
      }
      let timedOut = await queue.add(slow.timeout(.seconds(1)).retry(.constant(.seconds(1)), maxAttempts: 3)).outcome
      env.check(timedOut.timeout == .seconds(1) && starts.value == 4 && env.elapsed == .seconds(5), "\(timedOut)")
      await queue.shutDown()
    }
  }

  @Test("Conditions before a retry are evaluated in each attempt, and conditions after it once")
  func conditions() async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      let queue = env.makeQueue()
      let (inner, outer) = (Locked(0), Locked(0))
      let procedure = Flaky(failing: 2, env)
        .condition("inner") {
          inner {
            $0 += 1
            return true
          }
        }
        .retry(.immediate)
        .condition("outer") {
          outer {
            $0 += 1
            return true
          }
        }
      env.check(try await queue.run(procedure) == 3)
      env.check(inner.value == 3 && outer.value == 1)
      await queue.shutDown()
    }
  }

  @Test(
    "L2: each attempt has its events, in order and on time, even for late subscribers; an inner retry has only its own")
  func events() async throws {
    try await exploreSchedules(TestDepth.count(200)) { env in
      let queue = env.makeQueue()
      let recorder = env.recordEvents(of: queue)
      let handle = queue.add(
        Flaky(failing: 3, env).retry(.constant(.seconds(1)), maxAttempts: 2).retry(.constant(.seconds(10))))
      if env.random.below(2) == 0 { await env.wait(until: .seconds(env.random.below(13))) }
      let early = handle.events
      env.check(await handle.outcome.isFinished(4))
      let expected: [ProcedureEvent.Kind] = [
        .didAttach, .willExecute, .retrying, .didExecute, .retrying, .willExecute, .retrying, .didExecute, .willFinish,
        .didFinish,
      ]
      for stream in [early, handle.events] {
        var events: [ProcedureEvent] = []
        for await event in stream { events.append(event) }
        env.check(events.map(\.kind) == expected, "\(events.map(\.kind))")
        env.check(events.orderViolations().isEmpty, "\(events.orderViolations())")
        let times = events.map { Int($0.instant.sinceStart / Duration.seconds(1)) }
        env.check(times == [0, 0, 0, 1, 1, 11, 11, 12, 12, 12], "\(times)")
        env.check(events.map(\.attempt) == [0, 1, 1, 1, 1, 2, 1, 2, 2, 2], "\(events.map(\.attempt))")
        guard case .retrying(_, .seconds(10), let error as Flaw) = events[4].step, error == Flaw(number: 2) else {
          env.check(false, "\(events[4])")
          continue
        }
      }
      await queue.shutDown()
      try await recorder.waitUntilEnded()
      env.check(recorder.steps(of: handle.id) == expected)
    }
  }

  @Test("A run that is retried in its caller's task has the same events, and a nested retry has only its own")
  func eventsOfRun() async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      let queue = env.makeQueue()
      let recorder = env.recordEvents(of: queue)
      env.check(try await queue.run(Flaky(failing: 1, env).retry(.immediate)) == 2)
      let value = try await queue.run(
        Flaky(failing: 1, env).retry(.immediate).then(ProcedureTask { (value: Int) in value }))
      env.check(value == 2)
      await queue.shutDown()
      try await recorder.waitUntilEnded()
      env.check(
        recorder.steps() == [
          .didAttach, .willExecute, .didExecute, .retrying, .willExecute, .didExecute, .willFinish, .didFinish,
          .didAttach, .willExecute, .retrying, .didExecute, .willFinish, .didFinish,
        ], "\(recorder.steps())")
    }
  }

  @Test(
    "The children of an attempt end before the next attempt starts, and their failure is the failure of the attempt")
  func children() async throws {
    try await exploreSchedules(TestDepth.count(300)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 2)
      let current = Locked(0)
      let procedure = ProcedureTask {
        env.check(current.value == 0, "a child of an earlier attempt still executes")
        let attempt = ProcedureContext.current?.attempt ?? 0
        for number in 0..<3 {
          ProcedureContext.current?.produce(
            ProcedureTask {
              current { $0 += 1 }
              defer { current { $0 -= 1 } }
              await pause(env, upTo: 3)
              if number == 1, attempt < 3 { throw Flaw(number: attempt) }
            })
        }
        return attempt
      }
      env.check(try await queue.add(procedure.retry(.constant(.seconds(1)))).value == 3)
      let collected = await queue.add(procedure.retry(.immediate, maxAttempts: 2).onFailure(.collect)).outcome
      env.check(collected.procedureError?.kind == .childrenFailed, "\(collected)")
      await queue.shutDown()
    }
  }

  @Test("A shared budget ends the retries of all runs, and successes refill it")
  func budget() async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      let queue = env.makeQueue()
      let budget = RetryBudget(capacity: 3, successesPerRetry: 1, oneMoreEvery: .seconds(1_000), clock: env.clock)
      let flaky = (0..<2).map { _ in Flaky(env) }
      for one in flaky { env.check(await queue.add(one.retry(.immediate, budget: budget)).outcome.isFailed) }
      env.check(flaky.map { $0.starts.value.count } == [4, 1] && budget.retriesLeft == 0)
      _ = try await queue.run(Flaky(failing: 0, env).retry(.immediate, budget: budget))
      env.check(budget.retriesLeft == 1)
      await queue.shutDown()
    }
  }

  @Test("A retry that a cancellation prevents is not taken from the budget")
  func budgetOfCancelled() async throws {
    try await exploreRace("pausing", "retried", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let budget = RetryBudget(capacity: 3, oneMoreEvery: .seconds(1_000), clock: env.clock)
      let flaky = Flaky(env)
      let handle = queue.add(flaky.retry(.constant(.seconds(1)), maxAttempts: 2, budget: budget))
      await env.wait(until: .seconds(1))
      await pause(env, upTo: 3)
      handle.cancel()
      _ = await handle.outcome
      env.check(budget.retriesLeft == 4 - flaky.starts.value.count, "\(budget.retriesLeft) left")
      env.tally(flaky.starts.value.count == 1 ? "pausing" : "retried")
      await queue.shutDown()
    }
  }

  @Test("Random delays are the same for the same seed, and differ between runs")
  func seeds() async throws {
    try await exploreSchedules(20) { env in
      func starts(seed: UInt64) async -> [Duration] {
        let queue = ProcedureQueue("seeded", clock: env.clock, executor: env.executor, seed: seed)
        let start = env.elapsed
        let flaky = Flaky(env)
        _ = await queue.add(flaky.retry(.random(in: .seconds(1) ... .seconds(2)), maxAttempts: 4)).outcome
        await queue.shutDown()
        return flaky.starts.value.map { $0 - start }
      }
      let (one, same, other) = await (starts(seed: 1), starts(seed: 1), starts(seed: 2))
      env.check(one == same && one != other && one.count == 4, "\(one) \(same) \(other)")
    }
  }

  @Test("Cancelling all runs ends their retries immediately, in any phase", arguments: [1, 3])
  func cancelAll(width: Int) async throws {
    try await exploreRace("finished", "cancelled", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: width)
      let recorder = env.recordEvents(of: queue)
      let starts = Locked(0)
      let handles = (0..<4).map { number in
        let body = ProcedureTask { () async throws -> Int in
          starts { $0 += 1 }
          await pause(env, upTo: 2)
          if ProcedureContext.current?.attempt == 1 + number % 3 { return number }
          throw Reason()
        }
        let schedule: Schedule = number % 2 == 0 ? .immediate : .constant(.seconds(1))
        return env.watch(queue.add(body.exclusive("x").retry(schedule).shared("y")))
      }
      let moment = Duration.seconds(env.random.below(3))
      await env.wait(until: moment)
      await pause(env, upTo: 6)
      queue.cancelAll(Reason())
      let count = starts.value
      for handle in handles {
        let outcome = await handle.outcome
        env.check(outcome.isFinished || outcome.cancellationReason(as: Reason.self) != nil, "\(outcome)")
        env.tally(outcome.label)
      }
      env.check(env.elapsed == moment)
      env.check(starts.value <= count + width, "no attempt follows the cancellation")
      env.check(env.resources.count == 0 && queue.snapshot().slotsInUse == 0)
      await queue.shutDown()
      try await recorder.waitUntilEnded()
      env.check(recorder.events.orderViolations().isEmpty, "\(recorder.events.orderViolations())")
    }
  }
}
