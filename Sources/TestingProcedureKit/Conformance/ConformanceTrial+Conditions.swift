/// Rules K: conditions.
extension ConformanceTrial {
  func conditionsAtOnce() async throws {
    let (queue, other) = (queue(width: 1), queue("other"))
    let (dependency, blocker) = (ProbeProcedure("dependency"), ProbeProcedure("blocker"))
    let body = ProbeProcedure("body")
    body.finishAll()
    let (first, second) = (ConditionProbe("first"), ConditionProbe("second"))
    let task = body.condition(.probe(first)).condition(.probe(second))
    queue.add(blocker)
    try await reach("the blocker starts") { try await blocker.waitUntilStarted() }
    let failing = queue.add(task, after: [other.add(dependency)])
    _ = try await reach("another queue goes on") { try await other.run(ProcedureTask {}) }
    try expect(first.evaluationCount + second.evaluationCount, is: 0, "evaluations while a dependency executes")
    dependency.finish()
    try await reach("all conditions are evaluated at once, without a slot") {
      try await first.waitUntilEvaluated()
      try await second.waitUntilEvaluated()
    }
    second.fail(TrialError())
    // The first condition gets no instruction: only the cancel after the failure ends its evaluation.
    let failed = await reach("the first failure decides, and cancels the others") { await failing.outcome }
    guard let error = failed.procedureError, error.kind == .conditionFailed, error.condition == "second",
      error.underlying is TrialError
    else {
      throw violation("conditionFailed by \"second\", with its error", "\(failed)")
    }
    let ignored = queue.add(task)
    first.satisfy()
    second.ignore()
    let outcome = await reach("the run finishes when its conditions have been evaluated") { await ignored.outcome }
    try expect(outcome.ignoringCondition == "second", "ignored by \"second\"", outcome)
    try expect(body.startCount, is: 0, "bodies that execute although a condition is not satisfied")
    let satisfied = queue.add(task)
    first.satisfy()
    second.satisfy()
    blocker.finish()
    let last = await reach("a run with satisfied conditions executes") { await satisfied.outcome }
    try expect(last.isFinished, "finished", last)
  }

  func conditionsArePrepared() async throws {
    let queue = queue()
    let (prepared, evaluated) = (Milestones(), Milestones())
    let good = Condition("good") {
      prepared.increment()
    } evaluate: {
      evaluated.increment()
      return prepared.count > 0
    }
    let unprepared = await outcome(of: .silent(good), on: queue)
    try expect(prepared.count, is: 0, "preparations of a silent condition")
    try expect(unprepared.isIgnored, "ignored, as nothing was prepared", unprepared)
    let first = await outcome(of: good, on: queue)
    try expect(first.isFinished, "finished, as the condition was prepared before", first)
    try expect([prepared.count, evaluated.count], is: [1, 2], "preparations and evaluations")
    let bad = Condition("bad") {
      throw TrialError()
    } evaluate: {
      evaluated.increment()
      return true
    }
    let failed = await outcome(of: bad, on: queue)
    try expect(failed.procedureError?.kind == .conditionFailed, "conditionFailed by the preparation", failed)
    try expect(evaluated.count, is: 2, "evaluations after a preparation that failed")
  }

  func conditionsCombine() async throws {
    let queue = queue()
    let yes = Condition("yes") { true }
    let no = Condition("no") { false }
    let error = Condition("error") { throw TrialError() }
    let cases: [(Condition, String)] = [
      (yes || error, "finished"), (error || yes, "finished"), (no || yes, "finished"), (no || no, "ignored"),
      (no || error, "conditionFailed"), (error || error, "conditionFailed"), (!yes, "conditionFailed"),
      (!no, "finished"), (!error, "finished"),
    ]
    for (condition, expected) in cases {
      let outcome = await outcome(of: condition, on: queue)
      let word =
        outcome.isFinished
        ? "finished" : outcome.isIgnored ? "ignored" : outcome.procedureError.map { "\($0.kind)" } ?? "\(outcome)"
      try expect(word, is: expected, "the outcome with the condition \(condition.name)")
    }
  }

  private func outcome(of condition: Condition, on queue: ProcedureQueue) async -> ProcedureOutcome<Void> {
    let handle = queue.add(ProcedureTask("conditioned") {}.condition(condition))
    return await reach("a run with the condition \(condition.name) finishes") { await handle.outcome }
  }
}
