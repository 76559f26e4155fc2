import Synchronization

/// Rules D: dependencies and results.
extension ConformanceTrial {
  func dependentsAreStopped() async throws {
    let queue = queue()
    let (stopped, executed) = (Milestones(), Milestones())
    let probe = ProbeProcedure<Void, Int>("fails or is cancelled")
    probe.fail(TrialError())
    let failing = queue.add(probe)
    _ = await reach("a run finishes whose body throws") { await failing.outcome }
    let cancelled = queue.add(probe)
    let ignored = queue.add(ProcedureTask { 1 }.condition("no") { false })
    let dependencies = [failing, cancelled, ignored]
    let dependents = dependencies.map { dependency in
      queue.add(ProcedureTask("dependent") { (_: Int) in stopped.increment() }, from: dependency)
    }
    let unstoppable = dependencies.map { dependency in
      queue.add(ProcedureTask { (_: Result<Int, any Error>) in executed.increment() }, from: dependency.asResult)
    }
    cancelled.cancel(TrialError(number: 1))
    var outcomes: [ProcedureOutcome<Void>] = []
    for dependent in dependents {
      outcomes.append(await reach("a dependent finishes with its dependency") { await dependent.outcome })
    }
    let failure = outcomes[0].procedureError
    try expect(failure?.kind == .dependencyFailed, "dependencyFailed where a dependency failed", outcomes[0])
    try expect(failure?.underlying is TrialError, "the error of the dependency within", outcomes[0])
    let reason = outcomes[1].cancellationReason(as: TrialError.self)
    try expect(reason == TrialError(number: 1), "cancelled like the dependency", outcomes[1])
    try expect(outcomes[2].ignoringCondition == "no", "ignored like the dependency", outcomes[2])
    try expect(stopped.count, is: 0, "dependents that execute")
    for handle in unstoppable {
      let outcome = await reach("what depends on a result finishes") { await handle.outcome }
      try expect(outcome.isFinished, "what depends on a result succeeds", outcome)
    }
    try expect(executed.count, is: 3, "procedures that depend on results and execute")
  }

  func dependenciesElsewhere() async throws {
    let queues = [queue("first", width: 1), queue("second", width: 1), queue("third", width: 1)]
    let number = queues[0].add(ProcedureTask { 42 })
    let text = queues[1].add(ProcedureTask { (number: Int) in "\(number)" }, from: number)
    let both = queues[2].add(ProcedureTask { (pair: (Int, String)) in "\(pair)" }, from: number, text)
    let value = try await reach("a run finishes whose dependencies are on other queues") { try await both.value }
    try expect(value, is: "(42, \"42\")", "the values that are passed")
  }

  func valuesAreReleased() async throws {
    let alive = Tally()
    let graph = ProcedureGraph("releases") { g in
      let token = g.add(ProcedureTask("make") { Token(alive) })
      let consumers = (0..<2).map { _ in g.add(ProcedureTask("consume") { (_: Token) in alive.count }, from: token) }
      let gathered = g.add(from: consumers)
      return g.add(ProcedureTask("look") { (before: [Int]) in before + [alive.count] }, from: gathered)
    }
    let counts = try await reach("the graph finishes") { try await self.queue().run(graph) }
    try expect(counts, is: [1, 1, 0], "values alive in their consumers, and when these have ended")
  }

  func graphFailures() async throws {
    let queue = queue()
    let (failing, running) = (ProbeProcedure("failing"), ProbeProcedure("running"))
    let (later, dependent) = (ProbeProcedure("later"), ProbeProcedure("dependent"))
    let graph = ProcedureGraph("graph") { g in
      let first = g.add(failing)
      g.add(dependent, after: [first])
      g.add(later, after: [g.add(running)])
      g.add(ProcedureTask("late failure") { throw TrialError(number: 2) }, after: [g.add(later)])
    }
    for policy in [ErrorPolicy.failFast, .continue] {
      let (starts, cancels, laterStarts) = (failing.startCount, running.cancellationCount, later.startCount)
      let handle = queue.add(graph.errorPolicy(policy).named("\(policy)"))
      try await reach("independent nodes start at once") {
        try await failing.waitUntilStarted(starts + 1)
        try await running.waitUntilStarted(starts + 1)
      }
      failing.fail(TrialError(number: 1))
      if policy == .continue {
        running.finish()
        later.finishAll()
      }
      let outcome = await reach("the graph finishes, with \(policy)") { await handle.outcome }
      switch policy {
      case .failFast:
        let error = outcome.error(as: TrialError.self)
        try expect(error == TrialError(number: 1), "the graph fails with the first error", outcome)
        try expect(running.cancellationCount, is: cancels + 1, "nodes that the first failure cancels")
      case .continue:
        guard let failures = outcome.procedureError?.failures, !failures.isEmpty else {
          throw violation("the graph fails with partsFailed", "\(outcome)")
        }
        let errors = failures.compactMap { $0.error as? TrialError }.map(\.number).sorted()
        try expect(errors, is: [1, 2], "all errors")
        try expect(later.startCount, is: laterStarts + 2, "nodes that are executed in spite of failures")
      }
    }
    try expect(dependent.startCount, is: 0, "nodes that execute although they depend on a failure")
  }
}

/// The number of existing tokens.
private final class Tally: Sendable {
  private let contents = Atomic(0)

  var count: Int { contents.load(ordering: .sequentiallyConsistent) }

  func add(_ amount: Int) {
    contents.add(amount, ordering: .sequentiallyConsistent)
  }
}

/// A value that a ``Tally`` counts while the value is referenced.
private final class Token: Sendable {
  private let tally: Tally

  init(_ tally: Tally) {
    self.tally = tally
    tally.add(1)
  }

  deinit {
    tally.add(-1)
  }
}
