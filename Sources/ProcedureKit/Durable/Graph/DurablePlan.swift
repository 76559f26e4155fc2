/// Internal. What all durable runs of a graph share: the keys, dependencies and codecs of the nodes.
final class DurablePlan: Sendable {
  let graph: GraphPlan
  let name: String
  let version: UInt32
  let journal: any ProcedureJournal
  let remembersFailures: Bool
  /// The layout, in which the journal is a consumer of each `Codable` value.
  let layout: ValueLayout
  /// The path of each node in the journal: unique, and equal in each process.
  let paths: [String]
  /// The dependencies of each node: the inputs in their order, then the others by their paths. The graph's input is -1.
  let dependencies: [[Int32]]
  /// `nil` for a node whose value is not `Codable`.
  let codecs: [(any NodeCodec)?]
  /// The nodes that no node depends on.
  let sinks: Set<Int32>
  /// The nodes with the value of the graph.
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
    sinks = Set(nodes).subtracting(dependencies.joined())
  }

  /// Returns the paths of nodes: nodes of one name are numbered, in the order in which they were added.
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

  func isRemembered(_ node: Int32) -> Bool { codecs[Int(node)] != nil }

  /// The name of a dependency in explanations.
  func name(of dependency: Int32) -> String { dependency < 0 ? "the input" : graph.traits[Int(dependency)].name }

  func versions(of node: Int32) -> [UInt32] { [version, graph.traits[Int(node)].version] }

  /// Returns the key of a node whose dependencies have these fingerprints.
  func key(of node: Int32, _ fingerprints: [Fingerprint]) -> JournalKey {
    let path = paths[Int(node)]
    var parts = ["node", name, path].map { Array($0.utf8) } + versions(of: node).map(\.littleEndianBytes)
    for (dependency, fingerprint) in zip(dependencies[Int(node)], fingerprints) {
      parts += [Array((dependency < 0 ? "" : paths[Int(dependency)]).utf8), fingerprint.bytes]
    }
    return JournalKey(path: path, fingerprint: Fingerprint(parts: parts))
  }

  /// Returns the dependencies of a node with these fingerprints, as an entry keeps them.
  func recordedDependencies(of node: Int32, _ fingerprints: [Fingerprint]) -> [JournalRecord.Dependency] {
    zip(dependencies[Int(node)], fingerprints).map { .init(name: name(of: $0), prefix: $1.prefix) }
  }

  /// Returns the fingerprint of a value that a node has.
  static func fingerprint(of content: [UInt8], of key: JournalKey) -> Fingerprint {
    Fingerprint(parts: [Array("value".utf8), key.fingerprint.bytes, content])
  }

  /// Returns the fingerprint of a failure.
  static func fingerprint(ofFailure description: String) -> Fingerprint {
    Fingerprint(parts: [Array("failure".utf8), Array(description.utf8)])
  }
}
