internal import ProcedureKit

/// One run of a durable graph. It keeps track of the nodes whose values come from the journal, and of the fingerprints of all known values.
final class DurableRun: Sendable {
  private let plan: DurablePlan
  private let look: JournalScan
  private let input: Fingerprint
  /// The fingerprint of each node's value; `nil` if the value is not known yet.
  private let fingerprints: Locked<[Fingerprint?]>
  /// The values that have been requested by key.
  let requests: DurableRequests

  private var journal: any ProcedureJournal { plan.journal }

  /// Reads the journal. If `readsDurations` is `true`, the journal is also searched for the durations of nodes that will be executed again.
  init(_ plan: DurablePlan, input: Fingerprint, readsDurations: Bool) async throws {
    self.plan = plan
    self.input = input
    look = try await JournalScan(
      plan, input: input, readsDurations: readsDurations, isolation: plan.journal as? any Actor)
    fingerprints = Locked(look.fingerprints)
    requests = DurableRequests(plan)
  }

  /// Returns a version of the graph that uses the journal. Each node looks for its value in the journal before executing its body, and
  /// writes the value to the journal afterwards.
  func graph() -> GraphPlan {
    let graph = plan.graph
    var (bodies, traits) = (graph.bodies, graph.traits)
    for index in bodies.indices {
      let task = traits[index]
      traits[index] = NodeTraits(
        name: task.name, priority: task.priority, hasOnlyBody: false, version: task.version, weight: task.weight,
        expectedSeconds: look.expectedSeconds(of: Int32(index)) ?? task.expectedSeconds)
      bodies[index] = NodeBody { values in
        try await RunDriver.runNode(self.task(of: Int32(index), task, graph.bodies[index], values), ())
      }
    }
    return GraphPlan(
      shape: graph.shape, bodies: bodies, traits: traits, layout: plan.layout, inputs: graph.inputs,
      inputEnds: graph.inputEnds, collection: graph.collection, keyed: plan.keys.map { $0.durable(in: requests) },
      requestObserver: requests.requested)
  }

  /// Returns a node's procedure, which either reuses the value in the journal or executes the node and stores its value.
  private func task(
    of node: Int32, _ traits: NodeTraits, _ body: NodeBody, _ values: GraphValues
  ) -> ProcedureTask<Void, Void> {
    let (isSkipped, found) = (look.dispositions[Int(node)] == .skipped, Locked<Known?>(nil))
    var layer = ModifierLayer.Traits(name: traits.name, rawPriority: traits.priority)
    layer.reuse = ModifierLayer.Reuse(name: isSkipped ? "not needed again" : journal.name) { _ in
      try await self.find(node, values, found) ? ModifierLayer.Reused(value: ()) : nil
    }
    return ProcedureTask(layer) { try await self.execute(node, body, values, found) }
  }

  /// Returns whether a node has finished without being executed. If its value is in the journal and is needed, the function provides the
  /// value.
  private func find(_ node: Int32, _ values: GraphValues, _ found: Locked<Known?>) async throws -> Bool {
    let path = plan.paths[Int(node)]
    switch look.dispositions[Int(node)] {
    case .skipped: break
    case .reused(let isLoaded):
      guard isLoaded, let key = look.keys[Int(node)] else { break }
      guard let record = try await journal.record(for: key), !record.isFailure else {
        throw JournalError(
          .entryMissing, journal: journal.name,
          "has lost the entry for \(path) since the run started",
          advice: "Run the graph again, and make sure that no other program changes the journal"
        )
      }
      // If the value has changed, the keys of the nodes that depend on it are wrong, because they were computed from the earlier value.
      guard DurablePlan.fingerprint(of: record.content, of: key) == look.fingerprints[Int(node)] else {
        throw JournalError(
          .entryMissing, journal: journal.name,
          "has a value for \(path) that has changed since the run started, because another run also executed the node",
          advice: "Run the graph again"
        )
      }
      try put(record, of: node, values)
    case .executed:
      guard plan.isRemembered(node) else {
        if look.isContinued { explain(.notCodable(plan.typeName(of: node))) }
        return false
      }
      guard let known = known(node, values) else { return false }
      found.withLock { $0 = known }
      let key = known.key
      if key != look.keys[Int(node)] || look.failures[node] != nil || look.requesting.contains(node),
        let record = try await journal.record(for: key)
      {
        if let changed = try await requests.firstChange(in: record) {
          explain(.dependenciesChanged([changed]))
          return false
        }
        if let failure = record.failure {
          guard plan.remembersFailures else { return false }
          throw RememberedFailure(path: path, description: failure)
        }
        try put(record, of: node, values)
        setFingerprint(of: node, to: fingerprint(of: node, record.content, key, record.requests))
        break
      }
      if !look.isNew[Int(node)] { explain(try await plan.cause(of: node, known.fingerprints)) }
      return false
    }
    for input in plan.graph.inputs(of: node) { values.giveUpShare(of: input) }
    return true
  }

  /// Reports why a node is executed again. The reason appears in the log, in the event that reports the node's start, and in snapshots.
  private func explain(_ cause: ExecutionCause) {
    if cause != .notRemembered { ProcedureContext.current?.explain(cause) }
  }

  private func put(_ record: JournalRecord, of node: Int32, _ values: GraphValues) throws {
    do {
      try plan.codecs[Int(node)]?.decode(record.content, into: values, journal.coder)
    } catch {
      throw JournalError(
        .valueNotDecodable, journal: journal.name,
        "has a value for \(plan.paths[Int(node)]) that could not be decoded as \(plan.typeName(of: node))",
        advice: "Increase the node's version if the type of its value has changed", underlying: error)
    }
  }

  /// Executes a node and writes its value to the journal before any dependent of the node starts.
  private func execute(
    _ node: Int32, _ body: NodeBody, _ values: GraphValues, _ found: Locked<Known?>
  ) async throws {
    let known = found.withLock(\.self) ?? known(node, values)
    let time = ProcedureContext.current?.run.core.time
    let start = time?.now
    let scope = requests.begin()
    do {
      try await body.execute(values)
      // The children that the body has started can still fail or request values.
      try await ProcedureContext.current?.run.waitForChildrenToSucceed()
    } catch {
      let trace = requests.end(scope)
      if plan.remembersFailures, plan.isRemembered(node), let known, let trace, error.isFailureOfWork {
        try await append(Array("\(error)".utf8), isFailure: true, of: node, known, trace)
      }
      throw error
    }
    let trace = requests.end(scope)
    guard let codec = plan.codecs[Int(node)] else {
      let fingerprint = trace.flatMap { trace in
        known.map { DurablePlan.fingerprint(of: $0.key.fingerprint, with: trace) }
      }
      return fingerprints.withLock { $0[Int(node)] = fingerprint }
    }
    if isCancelled { return }
    let end = time?.now
    let content: [UInt8]
    do {
      content = try codec.encode(values, journal.coder)
    } catch {
      throw JournalError(
        .valueNotEncodable, journal: journal.name, "could not encode the value of \(plan.paths[Int(node)])",
        underlying: error)
    }
    guard let known else { return }
    // If a request cannot be repeated, a later run could not determine whether the value is up to date, so the value is not stored.
    if let trace {
      let duration: Duration? = if let start, let end { start.duration(to: end) } else { nil }
      try await append(content, isFailure: false, of: node, known, trace, duration)
    }
    // Only the keys of the node's dependents contain the fingerprint of its value.
    if !plan.sinks.contains(node) { setFingerprint(of: node, to: fingerprint(of: node, content, known.key, trace)) }
  }

  /// Returns the fingerprint of a node's value. It does not depend on the values that the node requested, so a change in only these values
  /// does not affect the node's dependents. A node whose value is `Void` is an exception: its fingerprint changes whenever a requested
  /// value changes, and is `nil` if the requested values are unknown.
  private func fingerprint(
    of node: Int32, _ content: [UInt8], _ key: JournalKey, _ trace: [JournalRecord.Request]?
  ) -> Fingerprint? {
    let fingerprint = DurablePlan.fingerprint(of: content, of: key)
    guard plan.codecs[Int(node)] is VoidNode else { return fingerprint }
    return trace.map { DurablePlan.fingerprint(of: fingerprint, with: $0) }
  }

  private func setFingerprint(of node: Int32, to fingerprint: Fingerprint?) {
    fingerprints.withLock { $0[Int(node)] = fingerprint }
  }

  private func append(
    _ content: [UInt8], isFailure: Bool, of node: Int32, _ known: Known, _ trace: [JournalRecord.Request],
    _ duration: Duration? = nil
  ) async throws {
    let record = JournalRecord(
      isFailure: isFailure, versions: plan.versions(of: node),
      dependencies: plan.recordedDependencies(of: node, known.fingerprints), requests: trace, duration: duration,
      content: content)
    try await journal.appendShielded(record.bytes, for: known.key)
  }

  /// The fingerprints of a node's dependencies, and the node's key, which is computed from them.
  private struct Known {
    let fingerprints: [Fingerprint]
    let key: JournalKey
  }

  /// Returns the key of a node that is starting, and the fingerprints of its dependencies. Returns `nil` if a dependency was cancelled and
  /// therefore has no fingerprint.
  private func known(_ node: Int32, _ values: GraphValues) -> Known? {
    let dependencies = plan.dependencies[Int(node)]
    let known = fingerprints.withLock { fingerprints in
      dependencies.map { $0 < 0 ? input : fingerprints[Int($0)] }
    }
    var complete: [Fingerprint] = []
    for (dependency, fingerprint) in zip(dependencies, known) {
      let failure = fingerprint == nil ? values.error(of: plan.graph.slot(of: dependency)) : nil
      guard let fingerprint = fingerprint ?? failure.map({ DurablePlan.fingerprint(ofFailure: "\($0)") }) else {
        return nil
      }
      complete.append(fingerprint)
    }
    // The key has already been computed if the journal contained the same values for all dependencies.
    let isUnchanged = zip(dependencies, complete).allSatisfy { $0 < 0 || look.fingerprints[Int($0)] == $1 }
    let key = isUnchanged ? look.keys[Int(node)] : nil
    return Known(fingerprints: complete, key: key ?? plan.key(of: node, complete))
  }

  private var isCancelled: Bool { ProcedureContext.isCurrentCancelled }
}

/// The state of each node before the first node starts: whether the journal contains the node's value, and whether the value is needed.
struct JournalScan: Sendable {
  enum NodeDisposition: Sendable, Equatable {
    /// The value comes from the journal. It is decoded only if the caller or a node that is executed uses it.
    case reused(isLoaded: Bool)
    /// The value is not `Codable`, but the node does not have to be executed. All of its dependents have values in the journal or are
    /// skipped.
    case skipped
    case executed
  }

  private(set) var dispositions: [NodeDisposition]
  /// The key of each node; `nil` if the fingerprint of a dependency is unknown.
  private(set) var keys: [JournalKey?]
  /// The fingerprint of each node's value; `nil` if it is unknown. The fingerprint of a value that is not `Codable` is derived from the
  /// node's key.
  private(set) var fingerprints: [Fingerprint?]
  /// For each node, whether the journal contains no entry for the node under any key. Such a node is executed for the first time, so no
  /// explanation is needed.
  private(set) var isNew: [Bool]
  /// The failures in the journal, keyed by the nodes that failed in an earlier run.
  private(set) var failures: [Int32: String] = [:]
  /// The durations of the latest executions of nodes that will be executed again. Nodes whose latest duration is unknown are omitted.
  private var durations: [Int32: Duration] = [:]

  /// The nodes whose bodies have requested values by key. The entry of such a node is up to date only if these values have not changed.
  /// This is checked when the node starts.
  private(set) var requesting: Set<Int32> = []

  /// Whether the journal contains values from an earlier run.
  var isContinued: Bool {
    !requesting.isEmpty || dispositions.contains { if case .reused = $0 { true } else { false } }
  }

  /// Returns the number of seconds that a node is expected to take: 0 if the node will not be executed, and `nil` if nothing is known about
  /// its duration.
  func expectedSeconds(of node: Int32) -> Float? {
    dispositions[Int(node)] == .executed ? durations[node]?.expectedSeconds : 0
  }

  /// Reads the journal. If the journal is an actor, the initializer is isolated to it, so that individual reads do not switch threads.
  /// Until the initializer returns, other callers of the journal wait.
  ///
  /// - Throws: Any error that the journal throws.
  /// - Complexity: At most one read for each node, or two if `readsDurations` is `true`.
  init(
    _ plan: DurablePlan, input: Fingerprint, readsDurations: Bool = false, isolation: isolated (any Actor)?
  ) async throws {
    let nodes = Int32(0)..<Int32(plan.graph.bodies.count)
    dispositions = Array(repeating: .executed, count: nodes.count)
    keys = Array(repeating: nil, count: nodes.count)
    fingerprints = Array(repeating: nil, count: nodes.count)
    isNew = Array(repeating: false, count: nodes.count)
    for node in nodes {
      isNew[Int(node)] = try await plan.journal.latestKey(at: plan.paths[Int(node)]) == nil
      let known = plan.dependencies[Int(node)].compactMap { $0 < 0 ? input : fingerprints[Int($0)] }
      guard known.count == plan.dependencies[Int(node)].count else { continue }
      let key = plan.key(of: node, known)
      keys[Int(node)] = key
      guard plan.isRemembered(node) else {
        // The values that the node has requested by key were not recorded, so a node that may have requested any has to be executed.
        if plan.keys.isEmpty { fingerprints[Int(node)] = key.fingerprint }
        continue
      }
      guard let record = try await plan.journal.record(for: key) else { continue }
      if !record.requests.isEmpty {
        requesting.insert(node)
        continue
      }
      if let failure = record.failure {
        failures[node] = failure
      } else {
        fingerprints[Int(node)] = DurablePlan.fingerprint(of: record.content, of: key)
        dispositions[Int(node)] = .reused(isLoaded: false)
      }
    }
    findNeeded(plan)
    guard readsDurations else { return }
    for node in nodes where dispositions[Int(node)] == .executed && !isNew[Int(node)] {
      durations[node] = await plan.lastDuration(of: node)
    }
  }

  /// Determines which values have to be decoded, and which nodes can be skipped. A node can be skipped if neither the caller nor an
  /// executed node needs its value.
  private mutating func findNeeded(_ plan: DurablePlan) {
    var needed = plan.sinks.union(plan.outputs)
    for node in dispositions.indices.reversed().map(Int32.init) {
      let isNeeded = needed.contains(node)
      switch dispositions[Int(node)] {
      case .reused:
        let isLoaded = plan.outputs.contains(node) || isNeeded && !plan.sinks.contains(node)
        dispositions[Int(node)] = .reused(isLoaded: isLoaded)
      case .executed where !plan.isRemembered(node) && !isNeeded: dispositions[Int(node)] = .skipped
      case .executed: needed.formUnion(plan.dependencies[Int(node)])
      case .skipped: break
      }
    }
  }
}
