import Testing

/// The rules that do not hold yet in some ways. To be deleted, with `KnownDifference`, when they do.
let knownDifferences: Set<KnownDifference> = {
  let parts: [Way] = [.part, .level, .node, .nodeWithInput, .attempt, .secondAttempt]
  let nodes: [Way] = [.node, .nodeWithInput]
  let known: [(rule: String, ways: [Way])] = [
    // The condition goes on, and whatever is around it waits.
    ("K1 deaf added", parts + [.copy]),
    // The condition is not cancelled.
    ("C2 condition, queue", parts),
    // The wait of the body goes on.
    ("C3 wait, caller", Side.caller.ways), ("C3 wait, handle", Side.handle.ways),
    ("C3 wait, childHandle", Side.childHandle.ways), ("C3 wait, context", Side.context.ways),
    ("C3 wait, queue", Side.queue.ways), ("C4 wait", Way.handled), ("C5 wait", Way.allCases),
    // A timeout is told as a cancel.
    ("C5 outcome", Way.allCases), ("C5 children", Way.allCases),
    // What a part produces belongs to the body around it.
    ("L3 children", [.part, .level]), ("L5 late child", [.part, .level]), ("L5 failed child", [.part, .level]),
    ("C1 between", [.part, .level]),
    // A cancel of the caller's task reaches them after the body.
    ("C3 children, caller", [.run, .alone, .part, .level]),
    // The slot is kept.
    ("L3 slot", parts + [.copy]),
    // `willExecute` comes before the hooks, of nodes before the conditions.
    ("L2 hook", Way.eventful), ("L2 cancelled in a hook", Way.eventful), ("L2 ignored", nodes),
    ("L2 cancelled", nodes),
  ]
  return Set(known.flatMap { known in known.ways.map { KnownDifference(way: $0, rule: known.rule) } })
}()

// The limit ends what hangs; a case takes milliseconds.
@Suite("L5: whatever way a procedure is run, the same rules hold", .timeLimit(.minutes(10)))
struct WayTests {
  @Test("L5/K1, K2: conditions", arguments: Rule.conditions.cases)
  func conditions(rule: Rule.Case) async { await rule.run() }

  @Test("L5/R1–R4, L4: resources", arguments: Rule.resources.cases)
  func resources(rule: Rule.Case) async { await rule.run() }

  @Test("L5/L3: hooks", arguments: Rule.hooks.cases)
  func hooks(rule: Rule.Case) async { await rule.run() }

  @Test("L5/C1–C4, C6: cancels from each side", arguments: Rule.cancels.cases)
  func cancels(rule: Rule.Case) async { await rule.run() }

  @Test("L5/C1, C6: children", arguments: Rule.children.cases)
  func children(rule: Rule.Case) async { await rule.run() }

  @Test("L5/C5: timeouts", arguments: Rule.times.cases)
  func times(rule: Rule.Case) async { await rule.run() }

  @Test("L5/L2: events", arguments: Rule.events.cases)
  func events(rule: Rule.Case) async { await rule.run() }

  @Test("L5/L1, C1, D1: outcomes", arguments: Rule.outcomes.cases)
  func outcomes(rule: Rule.Case) async { await rule.run() }
}
