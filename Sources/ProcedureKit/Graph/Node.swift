/// A future value in a graph, which is either the value of a procedure or the input of the graph.
///
/// A ``GraphBuilder`` creates nodes and accepts only nodes that it created itself. Because a node can be created only after its
/// dependencies, a graph cannot contain a cycle.
public struct Node<Value: Sendable>: GraphDependency, ReferencedNode {
  @usableFromInline let builder: ProcedureID
  @usableFromInline let source: Source
  /// Whether a consumer of the node executes even if the node fails (D1).
  let acceptsFailure: Bool

  /// The location of a node's value.
  @usableFromInline
  struct Source: Sendable {
    /// The slot that holds the value, or the value from which `making` creates it.
    @usableFromInline let slot: ValueSlot<Value>
    @usableFromInline var making: Making?

    /// A conversion that creates the node's value from a value of another type in the slot. The type is a class so that nodes without a
    /// conversion, which are the majority, remain small.
    @usableFromInline
    final class Making: Sendable {
      @usableFromInline let make: @Sendable (GraphValues) -> Value

      init(_ make: @escaping @Sendable (GraphValues) -> Value) {
        self.make = make
      }
    }

    /// Returns a consumer's copy of the value, given the values of one run of the graph.
    @inlinable
    func take(_ values: GraphValues) -> Value {
      if let making { return making.make(values) }
      return values.take(slot)
    }
  }

  /// Returns the node as a dependency that never fails, for error recovery and for work that must be done regardless of the outcome.
  ///
  /// If the node fails or is ignored, the result contains the error. A failure that all consumers receive as a `Result` does not fail
  /// the graph.
  public func catchingErrors() -> Node<Result<Value, any Error>> {
    let source = source
    let result = Node<Result<Value, any Error>>.Source.Making { values in
      source.making.map { .success($0.make(values)) } ?? values.takeResult(source.slot)
    }
    return Node<Result<Value, any Error>>(
      builder: builder, source: .init(slot: ValueSlot(index: source.slot.index, offset: 0), making: result),
      acceptsFailure: true)
  }

  /// A reference to this node without its value type, for use by the builder.
  @usableFromInline var reference: NodeReference {
    NodeReference(builder: builder, slot: source.slot.index, acceptsFailure: acceptsFailure)
  }
}

extension Node {
  /// Creates a node that reads `slot`.
  @usableFromInline
  init(builder: ProcedureID, reading slot: ValueSlot<Value>) {
    self.init(builder: builder, source: Source(slot: slot), acceptsFailure: false)
  }
}

/// A node's builder and slot, and whether its failure is accepted, without the type of its value.
@usableFromInline
struct NodeReference: Sendable {
  let builder: ProcedureID
  let slot: Int32
  let acceptsFailure: Bool
}

/// A ``Node`` without the type of its value, so that the array passed as `after:` can contain nodes of different types.
///
/// Only `Node` can conform to this protocol. Passing a dependency of any other type traps.
public protocol GraphDependency: Sendable {}

/// A dependency that is a node of a builder.
protocol ReferencedNode: GraphDependency {
  var reference: NodeReference { get }
}

extension GraphDependency {
  /// The reference that a builder uses to identify the node. Traps if the conforming type is declared in another module.
  var reference: NodeReference {
    guard let node = self as? any ReferencedNode else { fatalError("\(Self.self) is not a node of a ProcedureGraph") }
    return node.reference
  }
}

extension ProcedureTask {
  /// The traits and the function of a node that executes this task. If the task has modifiers, the function executes a run. Otherwise, the
  /// function is the body itself.
  @usableFromInline var node: (traits: NodeTraits, operation: @concurrent @Sendable (Input) async throws -> Output) {
    let traits = NodeTraits(
      name: name, priority: layer.traits.rawPriority,
      hasOnlyBody: layer.hasOnlyBody && layer.traits.key == nil && configure == nil, version: layer.traits.version,
      weight: Float(layer.traits.weight), expectedSeconds: layer.traits.expectedSeconds)
    guard !traits.hasOnlyBody else { return (traits, operation) }
    return (traits, { input in try await RunDriver.runNode(self, input) })
  }
}
