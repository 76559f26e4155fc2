public import ProcedureKit

/// A description of what a run of a durable graph would do if it started now: which values it would reuse, and why it would execute the
/// other nodes.
///
/// ```swift
/// let plan = try await thumbnails.resumptionPlan(for: "kitten.ppm")
/// ```
public struct ResumptionPlan: Sendable, CustomStringConvertible {
  /// The plan for one node.
  public struct Entry: Sendable {
    /// The name of the node.
    public let name: String
    /// The action that a run would take for the node.
    public let action: Action
  }

  /// The action that a run would take for a node.
  @nonexhaustive
  public enum Action: Hashable, Sendable {
    /// The run would use the value in the journal.
    case reuse
    /// The node would fail with a ``RememberedFailure``, because it failed in an earlier run and the journal contains that failure.
    case fail(String)
    /// The run would skip the node. Its value is not `Codable`, and no node that would be executed needs the value.
    case skip
    /// The run would execute the node only if one of the values with these names has changed. They are values of dependencies, or values
    /// that the node requested by key. The run would have to check or compute these values first.
    case check([String])
    /// The run would execute the node, for the given reason.
    case execute(ExecutionCause)
  }

  /// The nodes, in the order in which they were added.
  public let entries: [Entry]

  /// The number of nodes that would be executed in any case. Nodes whose action is ``Action/check(_:)`` are not counted.
  public var executedCount: Int {
    entries.count { if case .execute = $0.action { true } else { false } }
  }

  /// A description of the plan, with one line for each node.
  public var description: String {
    entries.map { entry in
      let words =
        switch entry.action {
        case .reuse: "is reused"
        case .fail(let failure): "fails as before: \(failure)"
        case .skip: "is not needed"
        case .check(let names) where names.count == 1: "is executed if \(names[0].quoted) has changed"
        case .check(let names):
          "is executed if any of these has changed: \(names.map(\.quoted).sentenceList)"
        case .execute(let cause): "is executed: \(cause)"
        }
      return "\(entry.name.quoted) \(words)"
    }
    .joined(separator: "\n")
  }

  init(_ plan: DurablePlan, input: Fingerprint) async throws {
    let look = try await JournalScan(plan, input: input, isolation: plan.journal as? any Actor)
    var entries: [Entry] = []
    for (index, disposition) in look.dispositions.enumerated() {
      let action: Action =
        switch disposition {
        case .reused: .reuse
        case .skipped: .skip
        case .executed: try await Self.action(of: Int32(index), plan, look, input, entries)
        }
      entries.append(Entry(name: plan.graph.traits[index].name, action: action))
    }
    self.entries = entries
  }

  private static func action(
    of node: Int32, _ plan: DurablePlan, _ look: JournalScan, _ input: Fingerprint, _ earlier: [Entry]
  ) async throws -> Action {
    if look.requesting.contains(node), let key = look.keys[Int(node)] {
      return .check(try await plan.journal.record(for: key)?.requests.map(plan.name(of:)) ?? [])
    }
    if let failure = look.failures[node], plan.remembersFailures { return .fail(failure) }
    guard plan.isRemembered(node) else { return .execute(.notCodable(plan.typeName(of: node))) }
    let dependencies = plan.dependencies[Int(node)]
    let known = dependencies.map { $0 < 0 ? input : look.fingerprints[Int($0)] }
    let unknown = zip(dependencies, known).filter { $1 == nil }.map(\.0)
    let isExecuted = unknown.contains { if case .execute = earlier[Int($0)].action { true } else { false } }
    if isExecuted { return .execute(.dependenciesExecuted(unknown.map { plan.name(of: $0) })) }
    if !unknown.isEmpty { return .check(unknown.map { plan.name(of: $0) }) }
    return .execute(try await plan.cause(of: node, known.compactMap(\.self)))
  }
}
