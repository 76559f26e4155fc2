import ProcedureKit
import TestingProcedureKit

/// A body of a random program, with its claims and the procedures that it runs in between.
struct BodyPlan: Sendable {
  /// The kind of work that a body does between its other steps.
  enum Way: Sendable {
    case nothing
    case fail
    case elsewhere
    /// Maps elements on the other queue.
    case mapElsewhere
    /// Cancels itself, or is stopped by a child that fails, and then waits for the other queue.
    case cancelSelf, failChild
    case run, add
    case runBoth
    case cancelOne
    case call
    case runGraph(GraphPlan)
    case callGraph(GraphPlan)
  }

  /// A condition, evaluated for a while.
  enum ConditionPlan: Sendable { case satisfied, unsatisfied, failing }

  private(set) var way = Way.nothing
  /// The procedures that the body runs.
  private(set) var parts: [BodyPlan] = []
  private(set) var wants = RandomWants()
  private(set) var condition: ConditionPlan?
  private(set) var priority: TaskPriority?

  init(depth: Int = 0, using random: inout SeededGenerator) {
    let number = depth < 2 ? random.below(14) : 9
    var count = 0
    switch number {
    case 0: (way, count) = (.run, 1)
    case 1: (way, count) = (.add, 1)
    case 2: way = .elsewhere
    case 4: way = .fail
    case 5: (way, count) = (.runBoth, 2)
    case 6: (way, count) = (.cancelOne, 3)
    case 3, 7:
      count = 2 + random.below(3)
      let graph = GraphPlan(nodeCount: count, using: &random)
      way = number == 3 ? .runGraph(graph) : .callGraph(graph)
    case 10: (way, count) = (.call, 1)
    case 11: way = .mapElsewhere
    case 12: way = .cancelSelf
    case 13: way = .failChild
    default: break
    }
    parts = (0..<count).map { _ in BodyPlan(depth: depth + 1, using: &random) }
    wants = RandomWants(using: &random)
    if random.below(3) == 0 {
      condition = random.below(3) == 0 ? .unsatisfied : random.below(5) == 0 ? .failing : .satisfied
    }
    if random.below(4) == 0 { priority = random.below(2) == 0 ? .high : .low }
  }

  private init() {}

  /// The simpler plans, starting with the simplest.
  var simpler: [BodyPlan] {
    var plans = parts
    if case .nothing = way {} else { plans.append(changed { ($0.way, $0.parts) = (.nothing, []) }) }
    if wants.isAnything { plans.append(changed { $0.wants = RandomWants() }) }
    if condition != nil { plans.append(changed { $0.condition = nil }) }
    if priority != nil { plans.append(changed { $0.priority = nil }) }
    for (index, part) in parts.enumerated() {
      plans += part.simpler.map { simplerPart in changed { $0.parts[index] = simplerPart } }
    }
    return plans
  }

  /// The plan of a body without claims.
  var withoutClaims: BodyPlan {
    changed { ($0.wants, $0.condition) = (RandomWants(), nil) }
  }

  private func changed(_ change: (inout BodyPlan) -> Void) -> BodyPlan {
    var plan = self
    change(&plan)
    return plan
  }
}

/// A graph of a random program: nodes, one of which may fail, and a dependent of them all.
struct GraphPlan: Sendable {
  let failing: Int?
  let acceptsFailures: Bool
  let policy: FailurePolicy
  let limit: Int

  init(nodeCount: Int, using random: inout SeededGenerator) {
    failing = random.below(3) == 0 ? random.below(nodeCount) : nil
    acceptsFailures = random.below(2) == 0
    policy = random.below(2) == 0 ? .failFast : .collect
    limit = random.below(2) == 0 ? 1 : 4
  }
}

extension BodyPlan: CustomStringConvertible {
  var description: String {
    let claims = wants.isAnything ? " with \(wants)" : ""
    let terms = [condition.map { " if \($0)" }, priority.map { " (\($0))" }].compactMap(\.self).joined()
    return "\(way)\(claims)\(terms)" + (parts.isEmpty ? "" : " \(parts)")
  }
}

extension GraphPlan: CustomStringConvertible {
  var description: String {
    let failure = failing.map { ", node \($0) fails" } ?? ""
    return "limit \(limit), \(policy)" + failure + (acceptsFailures ? ", accepts failures" : "")
  }
}
