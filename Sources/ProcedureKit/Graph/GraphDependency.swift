/// A ``Node`` without the type of its value, for the parameter `after:`, so that nodes of different types stand in one array.
///
/// Only `Node` conforms: a dependency of another type traps.
public protocol GraphDependency: Sendable {}

/// Internal. A dependency with its entry in a builder.
protocol ReferencedNode: GraphDependency {
  var reference: NodeReference { get }
}

extension GraphDependency {
  /// The node's entry in its builder. Traps for a type of another module.
  var reference: NodeReference {
    guard let node = self as? any ReferencedNode else { fatalError("\(Self.self) is no node of a ProcedureGraph") }
    return node.reference
  }
}
