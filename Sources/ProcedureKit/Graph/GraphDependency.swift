/// A node without the type of its value, for the parameter `after:`.
public protocol GraphDependency: Sendable {
  /// The node's entry in its builder.
  var reference: NodeReference { get }
}
