import Testing

@Suite("L5: the same rules apply, however a procedure is run", .timeLimit(.minutes(10)))
struct WayTests {
  @Test("L5/K1, K2, K3, Q3, R2: conditions", arguments: Rule.conditions.cases)
  func conditions(rule: Rule.Case) async { await rule.run() }

  @Test("L5/R1–R4, L4: resources", arguments: Rule.resources.cases)
  func resources(rule: Rule.Case) async { await rule.run() }

  @Test("L1, L4, Q3, Q5, Q6: slots, states and the context", arguments: Rule.queues.cases)
  func queues(rule: Rule.Case) async { await rule.run() }

  @Test("L5: modifiers around and before the body", arguments: Rule.modifiers.cases)
  func modifiers(rule: Rule.Case) async { await rule.run() }

  @Test("L5/L3: hooks", arguments: Rule.hooks.cases)
  func hooks(rule: Rule.Case) async { await rule.run() }

  @Test("L5/C1–C4, C6: cancellation from each side", arguments: Rule.cancels.cases)
  func cancels(rule: Rule.Case) async { await rule.run() }

  @Test("L5/L1, C1, C6, D4: children", arguments: Rule.children.cases)
  func children(rule: Rule.Case) async { await rule.run() }

  @Test("L5/C5, T2: timeouts and retries", arguments: Rule.times.cases)
  func times(rule: Rule.Case) async { await rule.run() }

  @Test("L5/L2, L6: events", arguments: Rule.events.cases)
  func events(rule: Rule.Case) async { await rule.run() }

  @Test("L5: progress", arguments: Rule.progress.cases)
  func progress(rule: Rule.Case) async { await rule.run() }

  @Test("L5/L1, C1, D1: outcomes", arguments: Rule.outcomes.cases)
  func outcomes(rule: Rule.Case) async { await rule.run() }
}
