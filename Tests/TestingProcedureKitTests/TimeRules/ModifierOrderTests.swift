import TestSupport
import Testing
import TestingProcedureKit

/// The rows of the table "In which order" in the guide *Retrying, repeating and giving up*. The rows about timeouts are tested by
/// `TimeoutRuleTests.andRetry`, and those about breakers by `ResilienceRuleTests.breakerAndRetry` and `breakerCounts`.
@Suite("Every modifier wraps what is written before it: conditions, categories and retry", .timeLimit(.atDepth))
struct ModifierOrderTests {
  /// Returns a condition that fails a number of times, then is `false` a number of times, and then is `true`. It counts its evaluations.
  private func condition(failing failures: Int, refusing refusals: Int, _ count: Locked<Int>) -> Condition {
    Condition("moody") {
      let number = count {
        $0 += 1
        return $0
      }
      if number <= failures { throw Reason() }
      return number > failures + refusals
    }
  }

  @Test("A condition before a retry is evaluated in each attempt: a failure is retried, and `false` ends the retry")
  func conditionThenRetry() async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      let queue = env.makeQueue()
      let (starts, count) = (Locked(0), Locked(0))
      let body = ProcedureTask { starts { $0 += 1 } }
      let failing = body.condition(condition(failing: 2, refusing: 0, count)).retry(.constant(.seconds(1)))
      env.check(await queue.add(failing).outcome.isFinished)
      env.check(count.value == 3 && starts.value == 1 && env.elapsed == .seconds(2))
      let refusing = body.condition(condition(failing: 0, refusing: 9, Locked(0))).retry(.constant(.seconds(1)))
      env.check(await queue.add(refusing).outcome.isIgnored && env.elapsed == .seconds(2))
      let both = body.condition(condition(failing: 1, refusing: 1, Locked(0))).retry(.constant(.seconds(1)))
      env.check(await queue.add(both).outcome.isIgnored && env.elapsed == .seconds(3) && starts.value == 1)
      await queue.shutDown()
    }
  }

  @Test("A condition after a retry is evaluated once, without a slot; a failure ends the run before the first attempt")
  func retryThenCondition() async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let blocker = queue.add(ProcedureTask { await env.wait(until: .seconds(10)) })
      await env.settle()
      let count = Locked(0)
      let flaky = Flaky(env)
      let failing = flaky.retry(.immediate, maxAttempts: 3).condition(condition(failing: 1, refusing: 0, count))
      let failed = await queue.add(failing).outcome
      env.check(failed.procedureError?.kind == .conditionFailed && count.value == 1 && env.elapsed < .seconds(1))
      env.check(flaky.starts.value.isEmpty)
      let passing = flaky.retry(.constant(.seconds(1)), maxAttempts: 3)
        .condition(condition(failing: 0, refusing: 0, count))
      env.check(await queue.add(passing).outcome.error is Flaw)
      env.check(count.value == 2 && flaky.starts.value == [.seconds(10), .seconds(11), .seconds(12)])
      env.check(await blocker.outcome.isFinished)
      await queue.shutDown()
    }
  }

  /// Runs two bodies, each of which holds a category and executes a procedure that needs the other's category.
  private func circle(
    _ env: ExplorationEnvironment,
    _ inner: @Sendable (ProcedureTask<Void, Void>, _ category: String) -> ProcedureTask<Void, Void>
  ) async -> (outcomes: [ProcedureOutcome<Void>], elapsed: Duration) {
    let queue = env.makeQueue()
    let names = ["a", "b"]
    let handles = names.indices.map { index in
      let next = inner(ProcedureTask("next") {}, names[1 - index])
      let body = ProcedureTask(names[index]) {
        await env.wait(until: .seconds(1))
        await pause(env, upTo: 2)
        try await next.execute()
      }
      return queue.add(body.exclusive(names[index]))
    }
    let outcomes = await [handles[0].outcome, handles[1].outcome]
    let elapsed = env.elapsed
    await queue.shutDown()
    env.check(env.resources.count == 0)
    return (outcomes, elapsed)
  }

  @Test("A category before a retry is claimed in each attempt, and a refusal because of a deadlock is retried")
  func exclusiveThenRetry() async throws {
    try await exploreSchedules(TestDepth.count(300)) { env in
      let (outcomes, elapsed) = await circle(env) {
        $0.exclusive($1).retry(.constant(.seconds(10)), maxAttempts: 3)
      }
      env.check(outcomes.count(where: \.isFinished) == 1, "\(outcomes)")
      env.check(outcomes.contains { $0.procedureError?.kind == .exclusionDeadlock } && elapsed == .seconds(21))
    }
  }

  @Test("A category after a retry is claimed before the first attempt, and a refusal ends the run")
  func retryThenExclusive() async throws {
    try await exploreSchedules(TestDepth.count(300)) { env in
      let (outcomes, elapsed) = await circle(env) {
        $0.retry(.constant(.seconds(10)), maxAttempts: 3).exclusive($1)
      }
      env.check(outcomes.count(where: \.isFinished) == 1, "\(outcomes)")
      env.check(outcomes.contains { $0.procedureError?.kind == .exclusionDeadlock } && elapsed == .seconds(1))
    }
  }

  @Test("A category after a retry is released in each pause, and claimed again")
  func givenBack() async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let (queue, other) = (env.makeQueue(), env.makeQueue("other"))
      let flaky = Flaky(failing: 2, env)
      let handle = queue.add(flaky.retry(.constant(.seconds(2))).exclusive("x"))
      await env.wait(until: .seconds(1))
      let stranger = other.add(ProcedureTask { await env.wait(until: .seconds(5)) }.exclusive("x"))
      env.check(await stranger.outcome.isFinished && env.elapsed == .seconds(5))
      env.check(await handle.outcome.isFinished)
      env.check(flaky.starts.value == [.zero, .seconds(5), .seconds(7)], "\(flaky.starts.value)")
      await queue.shutDown()
      await other.shutDown()
    }
  }
}
