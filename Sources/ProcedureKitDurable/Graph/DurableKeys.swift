internal import ProcedureKit
internal import ProcedureKitFoundation

/// A description of one key type in a durable graph. It encodes the keys and provides a procedure for their values.
protocol DurableKeys: Sendable {
  /// The name of the type in the journal. The name is unique in the graph and the same in every process.
  var name: String { get }

  /// The position of the type among the graph's key types.
  var index: Int { get }

  /// Returns the encoded key; `nil` if the key is of another type, or cannot be encoded.
  func encode(_ key: any GraphKey, _ coder: any ProcedureCoder) -> [UInt8]?

  /// Decodes a key. Returns `nil` if the type of the keys has changed.
  func decode(_ bytes: [UInt8], _ coder: any ProcedureCoder) -> (any GraphKey)?

  /// Returns a procedure that provides the values of the keys. It looks for each value in the journal before computing the value, and
  /// stores each value that it computes.
  func durable(in requests: DurableRequests) -> any KeyedProcedure
}

/// A description of the key type `Key`. `KeyType` is the only type that conforms to `DurableKeys`.
struct KeyType<Key: GraphKey>: DurableKeys {
  let procedure: KeyProcedure<Key>
  let index: Int
  let name: String
  /// The codec for the values; `nil` if the values are not `Codable`.
  let codec: KeyedValueCodec<Key.Value>?

  init(_ procedure: KeyProcedure<Key>, index: Int, name: String) {
    (self.procedure, self.index, self.name) = (procedure, index, name)
    codec = KeyedValueCodec()
  }

  /// Whether the journal stores the values. It does not store volatile values, because they would be computed again anyway.
  var isStored: Bool { !procedure.isVolatile && codec != nil }

  func encode(_ key: any GraphKey, _ coder: any ProcedureCoder) -> [UInt8]? {
    guard let key = key as? Key, let key = key as? any Codable else { return nil }
    return try? coder.encode(key)
  }

  func decode(_ bytes: [UInt8], _ coder: any ProcedureCoder) -> (any GraphKey)? {
    guard let type = Key.self as? any (Codable & GraphKey).Type else { return nil }
    return try? coder.decode(type, from: bytes)
  }

  func durable(in requests: DurableRequests) -> any KeyedProcedure {
    let task = procedure.task
    let durable: ProcedureTask<Key, Key.Value> = task.wrapped {
      guard isStored else { return }
      $0.reuse = ModifierLayer.Reuse(name: requests.journal.name) { key in
        try await requests.find(key as! Key, self).map { ModifierLayer.Reused(value: $0) }
      }
    } _: { key in
      try await requests.execute(task, key, self)
    }
    return KeyProcedure(task: durable, isVolatile: procedure.isVolatile)
  }
}

/// A codec for values that are requested by key.
struct KeyedValueCodec<Value: Sendable>: Sendable {
  /// Creates a codec. Returns `nil` if the type is neither `Codable` nor `Void`.
  init?() {
    guard Value.self is any Codable.Type || Value.self == Void.self else { return nil }
  }

  func encode(_ value: Value, _ coder: any ProcedureCoder) throws -> [UInt8] {
    func encode<Coded: Codable>(as type: Coded.Type) throws -> [UInt8] { try coder.encode(value as! Coded) }
    return try (Value.self as? any Codable.Type).map { try encode(as: $0) } ?? []
  }

  func decode(_ bytes: [UInt8], _ coder: any ProcedureCoder) throws -> Value {
    func decode<Coded: Codable>(as type: Coded.Type) throws -> Value { try coder.decode(type, from: bytes) as! Value }
    return try (Value.self as? any Codable.Type).map { try decode(as: $0) } ?? () as! Value
  }
}

extension KeyedProcedure {
  /// The name of the key type, without the module. The full name of a type that is local to a function would contain an address, which
  /// differs between processes.
  var keyTypeName: String { "\(Key.self)" }
}

extension DurablePlan {
  /// Returns the key under which the journal stores a value. The key does not depend on the values that were requested to compute the
  /// value.
  func key<Key>(of key: Key, _ encoded: [UInt8], _ type: KeyType<Key>) -> JournalKey {
    let fingerprint = Fingerprint { parts in
      for text in ["keyed", name, type.name] { parts.add(text) }
      for version in versions(of: type) { parts.add(version) }
      parts.add(encoded)
    }
    return JournalKey(path: path(of: key, type), fingerprint: fingerprint)
  }

  func path<Key>(of key: Key, _ type: KeyType<Key>) -> String { "\(name)/\(type.name)/\(key.name)" }

  func versions<Key>(of type: KeyType<Key>) -> [UInt32] { [version, type.procedure.version] }

  /// Returns the name of a requested value for use in explanations.
  func name(of request: JournalRecord.Request) -> String {
    keys.first { $0.name.hasBytes(of: request.type) }?.decode(request.key, journal.coder)?.name ?? request.type
  }
}

extension ProcedureContext {
  /// Reports why a node is executed again, or why the value of a key is computed again. The reason appears in the log, in the event that
  /// reports the start, and in snapshots.
  func explain(_ cause: ExecutionCause) {
    log.log(level: .info, "executing again: \(cause)")
    run.reported.noteExecutionCause(cause)
  }
}
