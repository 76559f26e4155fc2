internal import ProcedureKit

/// The values that bodies request by key in one run of a durable graph.
///
/// The values that a body requests are known only after the body has been executed. They are stored in the body's entry in the order of the
/// requests, each with its fingerprint. Before a later run executes the body, it requests the same values in sequence. If none of them has
/// changed, the run uses the entry. The order matters, because a body can use one value to decide whether to request the next.
///
/// Only the fingerprints of the values are compared. If a value is computed again with the same result, its dependents are not executed.
final class DurableRequests: Sendable {
  private struct ID: Hashable, Sendable {
    let type: Int
    let key: [UInt8]
  }

  /// The requests that one body has made so far.
  private struct Trace: Sendable {
    var requests: [ID] = []
    /// Whether all requests can be repeated in a later run.
    var isRepeatable = true
  }

  private let plan: DurablePlan
  /// The requests of the bodies that are executing, keyed by the IDs of the bodies' runs.
  private let traces = Locked<[ProcedureID: Trace]>([:])
  /// The fingerprints of the values that have been computed.
  private let fingerprints = Locked<[ID: Fingerprint]>([:])

  init(_ plan: DurablePlan) { self.plan = plan }

  var journal: any ProcedureJournal { plan.journal }

  // MARK: Traces

  /// Starts recording the requests of the current body, and returns the ID of its run.
  func begin() -> ProcedureID {
    let id = ProcedureContext.requireCurrent(for: plan.name).run.reported.id
    traces.withLock { $0[id] = Trace() }
    return id
  }

  /// Records a request that a body within the graph makes. If `isDeclared` is `false`, the value belongs to another graph, and the journal
  /// cannot show whether the value has changed.
  @Sendable func requested(_ key: any GraphKey, by runs: [ProcedureID], isDeclared: Bool) {
    let id = isDeclared ? id(of: key) : nil
    traces.withLock { traces in
      guard let run = runs.first(where: { traces[$0] != nil }) else { return }
      if let id { traces[run]?.requests.append(id) } else { traces[run]?.isRepeatable = false }
    }
  }

  /// Stops recording a body's requests and returns them. Returns `nil` if a request cannot be repeated in a later run, or if the
  /// fingerprint of a value is unknown.
  func end(_ id: ProcedureID) -> [JournalRecord.Request]? {
    guard let trace = traces.withLock({ $0.removeValue(forKey: id) }), trace.isRepeatable else { return nil }
    var (requests, seen): ([JournalRecord.Request], Set<ID>) = ([], [])
    for id in trace.requests where seen.insert(id).inserted {
      guard let fingerprint = fingerprint(of: id) else { return nil }
      requests.append(.init(type: plan.keys[id.type].name, key: id.key, fingerprint: fingerprint))
    }
    return requests
  }

  /// Requests, in the same order, the values that a body requested before its entry was written.
  ///
  /// - Returns: The name of the first value that has changed; `nil` if the entry is up to date.
  func firstChange(in record: JournalRecord) async throws -> String? {
    for request in record.requests {
      guard let type = plan.keys.first(where: { $0.name.hasBytes(of: request.type) }),
        let key = type.decode(request.key, journal.coder)
      else { return request.type }
      do {
        try await ProcedureContext.requestValue(of: key)
      } catch {
        // If the value could not be computed, the body is executed and handles the failure, unless it has handled the same failure in an
        // earlier run.
        if ProcedureContext.isCurrentCancelled { throw error }
      }
      if fingerprint(of: ID(type: type.index, key: request.key)) != request.fingerprint { return key.name }
    }
    return nil
  }

  private func id(of key: any GraphKey) -> ID? {
    for type in plan.keys {
      if let bytes = type.encode(key, journal.coder) { return ID(type: type.index, key: bytes) }
    }
    return nil
  }

  private func fingerprint(of id: ID) -> Fingerprint? { fingerprints.withLock { $0[id] } }

  private func setFingerprint(of id: ID, to fingerprint: Fingerprint?) {
    fingerprints.withLock { $0[id] = fingerprint }
  }

  // MARK: Values

  /// Returns the value of a key from the journal; `nil` if the journal has no entry for the key, or if the entry is out of date.
  func find<Key>(_ key: Key, _ type: KeyType<Key>) async throws -> Key.Value? {
    guard let codec = type.codec, let id = id(of: key) else { return nil }
    let journalKey = plan.key(of: key, id.key, type)
    guard let record = try await journal.record(for: journalKey) else {
      if let latest = try await journal.latestKey(at: journalKey.path), let bytes = try await journal.read(latest),
        let record = JournalRecord(bytes), record.versions != plan.versions(of: type)
      {
        ProcedureContext.current?.explain(.versionChanged)
      }
      return nil
    }
    if let changed = try await firstChange(in: record) {
      ProcedureContext.current?.explain(.dependenciesChanged([changed]))
      return nil
    }
    if let failure = record.failure {
      guard plan.remembersFailures else { return nil }
      setFingerprint(of: id, to: DurablePlan.fingerprint(ofFailure: failure))
      throw RememberedFailure(path: journalKey.path, description: failure)
    }
    do {
      let value = try codec.decode(record.content, journal.coder)
      setFingerprint(of: id, to: fingerprint(of: journalKey, type, record.content, record.requests))
      return value
    } catch {
      throw JournalError(
        .valueNotDecodable, journal: journal.name,
        "has a value for \(journalKey.path) that could not be decoded as \(Key.Value.self)",
        advice: "Increase the version of the procedure if the type has changed", underlying: error)
    }
  }

  /// Computes the value of a key and writes it to the journal before any body that requested the value continues.
  func execute<Key>(
    _ task: ProcedureTask<Key, Key.Value>, _ key: Key, _ type: KeyType<Key>
  ) async throws -> Key.Value {
    let (id, run) = (id(of: key), begin())
    let value: Key.Value
    do {
      value = try await task.executeAsLayer(key)
    } catch {
      let trace = end(run)
      if let id, error.isFailureOfWork {
        let description = "\(error)"
        if plan.remembersFailures, type.isStored, let trace {
          try await append(Array(description.utf8), isFailure: true, of: plan.key(of: key, id.key, type), type, trace)
        }
        setFingerprint(of: id, to: DurablePlan.fingerprint(ofFailure: description))
      }
      throw error
    }
    let trace = end(run)
    guard let id, !ProcedureContext.isCurrentCancelled else { return value }
    let journalKey = plan.key(of: key, id.key, type)
    let content: [UInt8]?
    do {
      content = try type.codec?.encode(value, journal.coder)
    } catch {
      throw JournalError(
        .valueNotEncodable, journal: journal.name, "could not encode the value of \(journalKey.path)", underlying: error
      )
    }
    if type.isStored, let content, let trace {
      try await append(content, isFailure: false, of: journalKey, type, trace)
    }
    setFingerprint(of: id, to: fingerprint(of: journalKey, type, content, trace))
    return value
  }

  /// Returns the fingerprint of a value. If the value cannot be compared with an earlier value, the fingerprint changes whenever one of the
  /// values that the body requested changes. In that case, the result is `nil` if the requested values are unknown, or if the value is
  /// volatile.
  private func fingerprint<Key>(
    of key: JournalKey, _ type: KeyType<Key>, _ content: [UInt8]?, _ trace: [JournalRecord.Request]?
  ) -> Fingerprint? {
    if let content, Key.Value.self != Void.self {
      return Fingerprint { parts in
        parts.add("value")
        parts.add(content)
      }
    }
    guard let trace, !type.procedure.isVolatile else { return nil }
    return DurablePlan.fingerprint(of: key.fingerprint, with: trace)
  }

  private func append<Key>(
    _ content: [UInt8], isFailure: Bool, of key: JournalKey, _ type: KeyType<Key>, _ trace: [JournalRecord.Request]
  ) async throws {
    let record = JournalRecord(
      isFailure: isFailure, versions: plan.versions(of: type), dependencies: [], requests: trace, content: content)
    try await journal.appendShielded(record.bytes, for: key)
  }
}

extension ProcedureContext {
  /// Requests the value of a key whose type is known only at run time, and waits for it.
  fileprivate static func requestValue<Key: GraphKey>(of key: Key) async throws { _ = try await value(of: key) }
}
