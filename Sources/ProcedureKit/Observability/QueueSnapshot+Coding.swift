/// The encoded form of a snapshot. The guide *The JSON of a snapshot* documents this form for other programs.
///
/// All keys and kinds are string literals, so renaming a declaration does not change the format. Adding a key does not change the version,
/// because decoders ignore unknown keys. Any other change, such as adding a kind of wait, requires a new version.
extension QueueSnapshot: Codable {
  private static let formatVersion = 1

  private enum CodingKeys: CodingKey {
    case version, name, instant, maxConcurrentProcedures, slotsInUse, maxWaitingProcedures
    case maxConcurrentProceduresPerKey, maxWaitingProceduresPerKey, isSuspended, isShutDown, totals, procedures
  }

  /// Decodes a snapshot. Unknown keys are ignored.
  ///
  /// - Throws: `DecodingError` if the data is invalid or uses a different version of the format.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let version = try container.decode(Int.self, forKey: .version)
    guard version == Self.formatVersion else {
      throw DecodingError.dataCorruptedError(
        forKey: .version, in: container,
        debugDescription:
          "the snapshot has format version \(version), but this release of ProcedureKit reads only version \(Self.formatVersion)"
      )
    }
    /// Returns the limit for a key. If the key is absent, there is no limit, and the result is `Int.max`.
    func limit(_ key: CodingKeys) throws -> Int { try container.decodeIfPresent(Int.self, forKey: key) ?? .max }
    self.init(
      name: try container.decode(String.self, forKey: .name),
      instant: try container.decode(ProcedureInstant.self, forKey: .instant),
      maxConcurrentProcedures: try limit(.maxConcurrentProcedures),
      slotsInUse: try container.decode(Int.self, forKey: .slotsInUse),
      maxWaitingProcedures: try limit(.maxWaitingProcedures),
      maxConcurrentProceduresPerKey: try limit(.maxConcurrentProceduresPerKey),
      maxWaitingProceduresPerKey: try limit(.maxWaitingProceduresPerKey),
      isSuspended: try container.decode(Bool.self, forKey: .isSuspended),
      isShutDown: try container.decode(Bool.self, forKey: .isShutDown),
      totals: try container.decodeIfPresent(QueueTotals.self, forKey: .totals),
      procedures: try container.decode([Entry].self, forKey: .procedures))
  }

  /// Encodes the snapshot and the version of the format.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    /// Encodes a limit. The key is omitted if the limit is `Int.max`, because many JSON decoders cannot represent this number exactly.
    func encode(limit: Int, forKey key: CodingKeys) throws {
      try container.encodeIfPresent(limit == .max ? nil : limit, forKey: key)
    }
    try container.encode(Self.formatVersion, forKey: .version)
    try container.encode(name, forKey: .name)
    try container.encode(instant, forKey: .instant)
    try encode(limit: maxConcurrentProcedures, forKey: .maxConcurrentProcedures)
    try container.encode(slotsInUse, forKey: .slotsInUse)
    try encode(limit: maxWaitingProcedures, forKey: .maxWaitingProcedures)
    try encode(limit: maxConcurrentProceduresPerKey, forKey: .maxConcurrentProceduresPerKey)
    try encode(limit: maxWaitingProceduresPerKey, forKey: .maxWaitingProceduresPerKey)
    try container.encode(isSuspended, forKey: .isSuspended)
    try container.encode(isShutDown, forKey: .isShutDown)
    try container.encodeIfPresent(totals, forKey: .totals)
    try container.encode(procedures, forKey: .procedures)
  }
}

extension QueueSnapshot.Entry: Codable {
  private enum CodingKeys: CodingKey {
    case id, name, state, parent, key, slot, progress, executionCause, wait
  }

  /// Decodes an entry.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      procedure: ProcedureIdentity(
        id: try container.decode(ProcedureID.self, forKey: .id), name: try container.decode(String.self, forKey: .name)),
      state: try container.decode(ProcedureState.self, forKey: .state),
      parent: try container.decodeIfPresent(ProcedureIdentity.self, forKey: .parent),
      key: try container.decodeIfPresent(String.self, forKey: .key),
      slot: try container.decodeIfPresent(Int.self, forKey: .slot),
      progress: try container.decodeIfPresent(Double.self, forKey: .progress),
      executionCause: try container.decodeIfPresent(ExecutionCause.self, forKey: .executionCause),
      wait: try container.decodeIfPresent(QueueSnapshot.Wait.self, forKey: .wait))
  }

  /// Encodes the entry. The run's ID and name are encoded as keys of the entry, not as a nested object.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(procedure.id, forKey: .id)
    try container.encode(procedure.name, forKey: .name)
    try container.encode(state, forKey: .state)
    try container.encodeIfPresent(parent, forKey: .parent)
    try container.encodeIfPresent(key, forKey: .key)
    try container.encodeIfPresent(slot, forKey: .slot)
    try container.encodeIfPresent(progress, forKey: .progress)
    try container.encodeIfPresent(executionCause, forKey: .executionCause)
    try container.encodeIfPresent(wait, forKey: .wait)
  }
}

extension QueueSnapshot.Wait: Codable {
  private enum CodingKeys: CodingKey {
    case kind, procedures, conditions, resources, key, limit, until, queue, source
  }

  private enum Kind: String, Codable {
    case dependencies, conditions, resumption, resources, slot, key, pause, procedures, idleness, room, events, children
    case nodes, graphLimit, rateLimit
  }

  /// Decodes a wait.
  ///
  /// - Throws: `DecodingError` if the data is invalid or the kind of wait is unknown.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    func procedures() throws -> [ProcedureIdentity] {
      try container.decode([ProcedureIdentity].self, forKey: .procedures)
    }
    switch try container.decode(Kind.self, forKey: .kind) {
    case .dependencies: self = .dependencies(try procedures())
    case .conditions: self = .conditions(try container.decode([String].self, forKey: .conditions))
    case .resumption: self = .resumption
    case .resources: self = .resources(try container.decode([ExclusionWait].self, forKey: .resources))
    case .slot: self = .slot
    case .key:
      self = .key(
        try container.decode(String.self, forKey: .key), limit: try container.decode(Int.self, forKey: .limit))
    case .pause: self = .pause(until: try container.decodeIfPresent(ProcedureInstant.self, forKey: .until))
    case .procedures: self = .procedures(try procedures())
    case .idleness: self = .idleness(of: try container.decode(String.self, forKey: .queue))
    case .room: self = .room(on: try container.decode(String.self, forKey: .queue))
    case .events: self = .events(of: try container.decode(String.self, forKey: .source))
    case .children: self = .children(try procedures())
    case .nodes: self = .nodes
    case .graphLimit: self = .graphLimit(try container.decode(Int.self, forKey: .limit))
    case .rateLimit: self = .rateLimit
    }
  }

  /// Encodes the kind of wait and its associated value, if any.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    func encode(_ kind: Kind) throws { try container.encode(kind, forKey: .kind) }
    func encode(_ kind: Kind, _ value: some Encodable, _ key: CodingKeys) throws {
      try encode(kind)
      try container.encode(value, forKey: key)
    }
    switch self {
    case .dependencies(let procedures): try encode(.dependencies, procedures, .procedures)
    case .conditions(let names): try encode(.conditions, names, .conditions)
    case .resumption: try encode(.resumption)
    case .resources(let waits): try encode(.resources, waits, .resources)
    case .slot: try encode(.slot)
    case .key(let key, let limit):
      try encode(.key, key, .key)
      try container.encode(limit, forKey: .limit)
    case .pause(let end):
      try encode(.pause)
      try container.encodeIfPresent(end, forKey: .until)
    case .procedures(let procedures): try encode(.procedures, procedures, .procedures)
    case .idleness(let queue): try encode(.idleness, queue, .queue)
    case .room(let queue): try encode(.room, queue, .queue)
    case .events(let name): try encode(.events, name, .source)
    case .children(let procedures): try encode(.children, procedures, .procedures)
    case .nodes: try encode(.nodes)
    case .graphLimit(let limit): try encode(.graphLimit, limit, .limit)
    case .rateLimit: try encode(.rateLimit)
    }
  }
}
