import ProcedureKit
import TestingProcedureKit

/// A procedure of an `AdmissionSystem`: a leaf, or a procedure with nested procedures.
struct AdmissionPlan: Sendable {
  /// The way in which a procedure uses its nested procedures.
  enum Way: Sendable {
    case leaf
    case run(queue: Int)
    case add(queue: Int)
    case produce, produceAndWait
    case execute
    case runAndExecute(queue: Int)
    /// Produces a child, cancels itself, and produces another child.
    case cancelBetween
    /// Produces a child in a task that outlives the body.
    case escape
    case nothing
  }

  enum Claim: Sendable {
    case exclusive([String])
    case shared(String)
    case units(Int)
    case coalesced
  }

  private(set) var way = Way.leaf
  private(set) var parts: [AdmissionPlan] = []
  private(set) var leaf: LeafPlan
  private(set) var claim: Claim?
  private(set) var continuesAfterFailures = false
  /// The leaf that the end hook runs.
  private(set) var hook: LeafPlan?
  private(set) var pausesWhenCancelled = false
  private(set) var priority: TaskPriority?

  init(depth: Int = 0, using random: inout SeededGenerator) {
    let (number, queue) = (depth < 2 ? random.below(9) : 8, random.below(AdmissionSystem.queueCount))
    let ways: [Way] = [
      .run(queue: queue), .add(queue: queue), .produce, .produceAndWait, .execute, .runAndExecute(queue: queue),
      .cancelBetween, .escape, .leaf,
    ]
    way = ways[number]
    leaf = LeafPlan(using: &random)
    let counts = [1, 1, 2, 1, 1, 2, 2, 1, 0]
    parts = (0..<counts[number]).map { _ in AdmissionPlan(depth: depth + 1, using: &random) }
    guard number < 8 else { return }
    continuesAfterFailures = random.below(6) == 0
    if random.below(2) == 0 { claim = Self.randomClaim(using: &random) }
    if random.below(5) == 0 { hook = LeafPlan(using: &random) }
    pausesWhenCancelled = random.below(5) == 0
    if random.below(4) == 0 { priority = random.below(2) == 0 ? .high : .low }
  }

  private static func randomClaim(using random: inout SeededGenerator) -> Claim {
    switch random.below(7) {
    case 0: .exclusive(["a"])
    case 1: .exclusive(["b"])
    case 2: .exclusive(["a", "b"])
    case 3: .shared("c")
    case 4: .exclusive(["c"])
    case 5: .units(1 + random.below(3))
    default: .coalesced
    }
  }

  /// The simpler plans, starting with the simplest.
  var simpler: [AdmissionPlan] {
    var plans = parts
    switch way {
    case .leaf: plans += leaf.simpler.map { leaf in changed { $0.leaf = leaf } }
    case .nothing: break
    default: plans.append(changed { ($0.way, $0.parts) = (.nothing, []) })
    }
    if claim != nil { plans.append(changed { $0.claim = nil }) }
    if hook != nil { plans.append(changed { $0.hook = nil }) }
    if continuesAfterFailures { plans.append(changed { $0.continuesAfterFailures = false }) }
    if pausesWhenCancelled { plans.append(changed { $0.pausesWhenCancelled = false }) }
    if priority != nil { plans.append(changed { $0.priority = nil }) }
    for (index, part) in parts.enumerated() {
      plans += part.simpler.map { simplerPart in changed { $0.parts[index] = simplerPart } }
    }
    return plans
  }

  private func changed(_ change: (inout AdmissionPlan) -> Void) -> AdmissionPlan {
    var plan = self
    change(&plan)
    return plan
  }
}

/// A procedure without nested procedures. No two leaves with a common category may execute concurrently.
struct LeafPlan: Sendable {
  private(set) var categories: [String]
  private(set) var fails: Bool
  private(set) var usesUnits: Bool

  init(using random: inout SeededGenerator) {
    categories = [["a"], ["b"], ["a", "b"], []][random.below(4)]
    fails = random.below(6) == 0
    usesUnits = random.below(3) == 0 && categories.isEmpty
  }

  var simpler: [LeafPlan] {
    var simplest = self
    (simplest.categories, simplest.fails, simplest.usesUnits) = ([], false, false)
    return categories.isEmpty && !fails && !usesUnits ? [] : [simplest]
  }
}

extension AdmissionPlan: CustomStringConvertible {
  var description: String {
    var text = if case .leaf = way { "\(leaf)" } else { "\(way)" }
    if let claim { text += " with \(claim)" }
    if let hook { text += ", at the end \(hook)" }
    return text + (parts.isEmpty ? "" : " \(parts)")
  }
}

extension LeafPlan: CustomStringConvertible {
  var description: String { "leaf\(categories)" + (fails ? " failing" : "") + (usesUnits ? " with units" : "") }
}
