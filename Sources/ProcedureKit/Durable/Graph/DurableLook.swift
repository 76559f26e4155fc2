/// Internal. What a run knows of each node before the first node starts: which entries are there, and which nodes nobody needs.
struct DurableLook: Sendable {
  enum Fate: Sendable, Equatable {
    /// The value comes from the journal. It is decoded only if a node that is executed takes it, or the caller.
    case reused(isLoaded: Bool)
    /// The value is not `Codable`, and all that depends on it comes from the journal.
    case skipped
    case executed
  }

  private(set) var fates: [Fate]
  /// The keys of the nodes whose dependencies are known.
  private(set) var keys: [JournalKey?]
  /// The fingerprints of the nodes whose values are known, or would be the same whenever they are computed.
  private(set) var fingerprints: [Fingerprint?]
  /// The nodes that have failed in an earlier run, whose failure is remembered.
  private(set) var failures: [Int32: String] = [:]

  /// Whether an earlier run has left something.
  var isContinued: Bool { fates.contains { if case .reused = $0 { true } else { false } } }

  /// Reads the journal, isolated to the journal if that is an actor: no read has to change the thread. Others wait meanwhile.
  ///
  /// - Throws: The errors of the journal.
  /// - Complexity: One read for each node whose dependencies are in the journal.
  init(_ plan: DurablePlan, input: Fingerprint, isolation: isolated (any Actor)?) async throws {
    let nodes = Int32(0)..<Int32(plan.graph.bodies.count)
    fates = Array(repeating: .executed, count: nodes.count)
    keys = Array(repeating: nil, count: nodes.count)
    fingerprints = Array(repeating: nil, count: nodes.count)
    for node in nodes {
      let known = plan.dependencies[Int(node)].compactMap { $0 < 0 ? input : fingerprints[Int($0)] }
      guard known.count == plan.dependencies[Int(node)].count else { continue }
      let key = plan.key(of: node, known)
      keys[Int(node)] = key
      guard plan.isRemembered(node) else {
        fingerprints[Int(node)] = key.fingerprint
        continue
      }
      guard let record = try await plan.journal.record(for: key) else { continue }
      if let failure = record.failure {
        failures[node] = failure
      } else {
        fingerprints[Int(node)] = DurablePlan.fingerprint(of: record.content, of: key)
        fates[Int(node)] = .reused(isLoaded: false)
      }
    }
    findNeeded(plan)
  }

  /// Finds the values that are needed: by the caller, or by a node that is executed.
  private mutating func findNeeded(_ plan: DurablePlan) {
    var needed = plan.sinks.union(plan.outputs)
    for node in fates.indices.reversed().map(Int32.init) {
      let isNeeded = needed.contains(node)
      switch fates[Int(node)] {
      case .reused:
        fates[Int(node)] = .reused(isLoaded: plan.outputs.contains(node) || isNeeded && !plan.sinks.contains(node))
      case .executed where !plan.isRemembered(node) && !isNeeded: fates[Int(node)] = .skipped
      case .executed: needed.formUnion(plan.dependencies[Int(node)])
      case .skipped: break
      }
    }
  }
}
