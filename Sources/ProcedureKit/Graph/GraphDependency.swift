/// A node whatever its value: what `after:` takes.
public protocol GraphDependency: Sendable {
  /// What the graph builder has to know of the node.
  var reference: NodeReference { get }
}
