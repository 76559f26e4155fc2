internal import ProcedureKit
internal import ProcedureKitFoundation

/// The data that all runs of a durable graph share, such as the paths, dependencies, and codecs of the nodes.
final class DurablePlan: Sendable {
  let graph: GraphPlan
  let name: String
  let version: UInt32
  let journal: any ProcedureJournal
  let remembersFailures: Bool
  /// The layout of the values, in which the journal is one of the consumers of every `Codable` value.
  let layout: ValueLayout
  /// The path of each node in the journal. A path is unique in the graph and the same in every process.
  let paths: [String]
  /// The dependencies of each node. The nodes that provide inputs come first, in the order of the inputs. The other dependencies follow,
  /// sorted by path. The value -1 represents the input of the graph.
  let dependencies: [[Int32]]
  /// The codec for each node's value; `nil` if the value is not `Codable`.
  let codecs: [(any NodeCodec)?]
  /// The types of the keys by which bodies request values.
  let keys: [any DurableKeys]
  /// The nodes that no node depends on.
  let sinks: Set<Int32>
  /// The nodes whose values make up the value of the graph.
  let outputs: Set<Int32>

  init(
    _ graph: GraphPlan, name: String, version: UInt32, outputs: Set<Int32>, journal: any ProcedureJournal,
    remembersFailures: Bool
  ) {
    (self.graph, self.name, self.version, self.outputs) = (graph, name, version, outputs)
    (self.journal, self.remembersFailures) = (journal, remembersFailures)
    let nodes = Int32(0)..<Int32(graph.bodies.count)
    var layout = graph.layout
    codecs = nodes.map { graph.layout.codec(of: graph.slot(of: $0)) }
    for node in nodes where codecs[Int(node)] != nil { layout.addJournal(to: graph.slot(of: node)) }
    self.layout = layout
    let paths = Self.paths(of: graph.traits.map(\.name), in: name)
    let all = graph.shape.dependencies()
    dependencies = nodes.map { node in
      let inputs = graph.inputs(of: node).map { $0 - 1 }
      return inputs + Set(all[Int(node)]).subtracting(inputs).sorted { paths[Int($0)].precedes(paths[Int($1)]) }
    }
    self.paths = paths
    keys = Self.keys(graph.keyed)
    sinks = Set(nodes).subtracting(dependencies.joined())
  }

  /// Returns the paths of the nodes. Nodes that have the same name are numbered in the order in which they were added.
  private static func paths(of names: [String], in graph: String) -> [String] {
    var (taken, counts): (Set<ByteText>, [ByteText: Int]) = (Set(names.map(ByteText.init)), [:])
    return names.map { name in
      let key = ByteText(name)
      var path = name
      while counts[key, default: 0] > 0 {
        counts[key, default: 0] += 1
        path = "\(name)#\(counts[key, default: 0])"
        if taken.insert(ByteText(path)).inserted { break }
      }
      counts[key, default: 0] = max(counts[key, default: 0], 1)
      return "\(graph)/\(path)"
    }
  }

  /// Returns the types of the keys. Types with the same name are numbered in the order in which they were declared.
  private static func keys(_ keyed: [any KeyedProcedure]) -> [any DurableKeys] {
    func make<P: KeyedProcedure>(_ procedure: P, _ index: Int, _ name: String) -> any DurableKeys {
      KeyType(KeyProcedure<P.Key>(task: procedure.task, isVolatile: procedure.isVolatile), index: index, name: name)
    }
    let names = keyed.map { $0.keyTypeName }
    return keyed.enumerated().map { index, procedure in
      let earlier = names[..<index].count { $0.hasBytes(of: names[index]) }
      return make(procedure, index, earlier == 0 ? names[index] : "\(names[index])#\(earlier + 1)")
    }
  }

  func isRemembered(_ node: Int32) -> Bool { codecs[Int(node)] != nil }

  /// Returns the name of a dependency for use in explanations.
  func name(of dependency: Int32) -> String { dependency < 0 ? "the input" : graph.traits[Int(dependency)].name }

  func versions(of node: Int32) -> [UInt32] { [version, graph.traits[Int(node)].version] }

  /// Returns the key of a node whose dependencies have the given fingerprints.
  func key(of node: Int32, _ fingerprints: [Fingerprint]) -> JournalKey {
    let path = paths[Int(node)]
    let fingerprint = Fingerprint { parts in
      parts.add("node")
      parts.add(name)
      parts.add(path)
      parts.add(version)
      parts.add(graph.traits[Int(node)].version)
      for (dependency, fingerprint) in zip(dependencies[Int(node)], fingerprints) {
        parts.add(dependency < 0 ? "" : paths[Int(dependency)])
        parts.add(fingerprint)
      }
    }
    return JournalKey(path: path, fingerprint: fingerprint)
  }

  /// Returns the names and fingerprints of a node's dependencies in the form in which they are stored in an entry.
  func recordedDependencies(of node: Int32, _ fingerprints: [Fingerprint]) -> [JournalRecord.Dependency] {
    zip(dependencies[Int(node)], fingerprints).map { .init(name: name(of: $0), prefix: $1.prefix) }
  }

  /// Returns the fingerprint of a node's value.
  static func fingerprint(of content: [UInt8], of key: JournalKey) -> Fingerprint {
    Fingerprint { parts in
      parts.add("value")
      parts.add(key.fingerprint)
      parts.add(content)
    }
  }

  /// Returns a fingerprint for a value that cannot be compared with an earlier value. The fingerprint changes whenever one of the requested
  /// values changes.
  static func fingerprint(of fingerprint: Fingerprint, with requests: [JournalRecord.Request]) -> Fingerprint {
    if requests.isEmpty { return fingerprint }
    return Fingerprint { parts in
      parts.add("requests")
      parts.add(fingerprint)
      for request in requests { parts.add(request.fingerprint) }
    }
  }

  /// Returns the fingerprint of a failure.
  static func fingerprint(ofFailure description: String) -> Fingerprint {
    Fingerprint { parts in
      parts.add("failure")
      parts.add(description)
    }
  }
}

extension DurablePlan {
  func typeName(of node: Int32) -> String { "\(layout.slots[Int(graph.slot(of: node))].type)" }

  /// Returns the reason the journal contains no value for a node whose dependencies have the given fingerprints.
  func cause(of node: Int32, _ fingerprints: [Fingerprint]) async throws -> ExecutionCause {
    // An entry at this path that was not written by a node is ignored, because it does not explain why the node has to be executed.
    guard let latest = try await journal.latestKey(at: paths[Int(node)]), let bytes = try await journal.read(latest),
      let record = JournalRecord(bytes), record.versions.count == 2
    else { return .notRemembered }
    if record.versions != versions(of: node) { return .versionChanged }
    let (now, before) = (recordedDependencies(of: node, fingerprints), record.dependencies)
    let names = Set(now.map { ByteText($0.name) })
    let changed = now.filter { !before.contains($0) } + before.filter { !names.contains(ByteText($0.name)) }
    return changed.isEmpty ? .notRemembered : .dependenciesChanged(changed.map(\.name))
  }
}

extension DurablePlan {
  /// Returns how long the latest remembered execution of a node took; `nil` if this is unknown. An entry that cannot be read is ignored,
  /// because the duration affects only the order in which nodes start.
  nonisolated(nonsending) func lastDuration(of node: Int32) async -> Duration? {
    guard let key = try? await journal.latestKey(at: paths[Int(node)]), let bytes = try? await journal.read(key)
    else { return nil }
    return JournalRecord(bytes)?.duration
  }
}

/// A codec that encodes and decodes the value of one node. The type of the value is known only when the graph is created.
protocol NodeCodec: Sendable {
  /// Returns the encoded value. After this call, the journal no longer needs the value itself.
  func encode(_ values: GraphValues, _ coder: any ProcedureCoder) throws -> [UInt8]

  /// Decodes the value and stores it for the node's consumers.
  func decode(_ bytes: [UInt8], into values: GraphValues, _ coder: any ProcedureCoder) throws
}

/// The codec for a node with a `Codable` value.
struct CodableNode<Value: Codable>: NodeCodec {
  let slot: ValueSlot<Value>

  func encode(_ values: GraphValues, _ coder: any ProcedureCoder) throws -> [UInt8] {
    try coder.encode(values.take(slot))
  }

  func decode(_ bytes: [UInt8], into values: GraphValues, _ coder: any ProcedureCoder) throws {
    values.put(try coder.decode(Value.self, from: bytes), into: slot)
    values.giveUpShare(of: slot.index)
  }
}

/// The codec for a node whose value is `Void`. The node's entry records only that the node has finished.
struct VoidNode: NodeCodec {
  func encode(_ values: GraphValues, _ coder: any ProcedureCoder) -> [UInt8] { [] }

  func decode(_ bytes: [UInt8], into values: GraphValues, _ coder: any ProcedureCoder) {}
}

extension ValueLayout {
  /// Returns the codec for the value in a slot, or `nil` if the value is not `Codable`.
  func codec(of slot: Int32) -> (any NodeCodec)? {
    let (type, offset) = (slots[Int(slot)].type, slots[Int(slot)].offset)
    if type == Void.self { return VoidNode() }
    func open<Value: Codable>(_ type: Value.Type) -> any NodeCodec {
      CodableNode<Value>(slot: ValueSlot(index: slot, offset: offset))
    }
    return (type as? any Codable.Type).map { open($0) }
  }

  /// Adds the journal to the consumers of a slot's value.
  mutating func addJournal(to slot: Int32) {
    if countsConsumers { slots[Int(slot)].consumers += 1 }
  }
}
