/// Rules T: retries, without a clock. Only a cancel ends the pauses here.
extension ConformanceTrial {
  func retries() async throws {
    try await attemptsAreCounted()
    try await pausesHoldNothing()
  }

  private func attemptsAreCounted() async throws {
    let queue = queue()
    let flaky = ProcedureTask { () async throws -> Int in
      let attempt = ProcedureContext.current?.attempt ?? 0
      if attempt < 4 { throw TrialError(number: attempt) }
      return attempt
    }
    let success = queue.add(flaky.retry(.immediate))
    let finished = await reach("the fourth attempt succeeds") { await success.outcome }
    try expect(finished.isFinished(4), "the value of the attempt that succeeds", finished)
    let steps = await success.allEvents().steps()
    let attempt: [ProcedureEvent.Kind] = [.willExecute, .didExecute]
    let expected = [.didAttach] + [attempt, attempt, attempt].flatMap { $0 + [.retrying] } + attempt
    try expect(steps, is: expected + [.willFinish, .didFinish], "events")
    let exhausted = queue.add(flaky.retry(.immediate, maxAttempts: 3))
    let failed = await reach("the third attempt is the last") { await exhausted.outcome }
    try expect(failed.error(as: TrialError.self) == TrialError(number: 3), "the last error", failed)
    let body = ProbeProcedure("body")
    let ignored = queue.add(body.condition("never") { false }.retry(.immediate))
    let outcome = await reach("an ignored attempt is the last") { await ignored.outcome }
    try expect(outcome.isIgnored && body.startCount == 0, "ignored", outcome)
  }

  private func pausesHoldNothing() async throws {
    let queue = queue(width: 1)
    let failing = ProbeProcedure("failing")
    failing.failAll(TrialError(number: 1))
    let pausing = queue.add(failing.retry(.constant(.seconds(3_600))).exclusive("conformance T2"))
    try await reach("the first attempt fails") { try await failing.waitUntilEnded() }
    let other = queue.add(ProcedureTask { 1 }.exclusive("conformance T2"))
    let value = try await reach("another one executes during the pause") { try await other.value }
    try expect(value, is: 1, "the value of what executes during a pause")
    pausing.cancel(TrialError(number: 2))
    let outcome = await reach("a cancel ends the pause") { await pausing.outcome }
    let reason = outcome.cancellationReason(as: TrialError.self)
    try expect(reason == TrialError(number: 2) && failing.startCount == 1, "cancelled, for the given reason", outcome)
  }
}
