/// A value that a graph will have once it runs: what a node produces, or the graph's input.
///
/// Nodes are made by a ``GraphBuilder``, and are of use only to that builder. Since a node exists only after everything
/// that it depends on, a graph cannot have a cycle.
public struct Node<Value: Sendable>: GraphDependency {
  @usableFromInline let builder: GraphBuilder.Identity
  @usableFromInline let source: Source
  let edge: GraphShape.Edge

  /// Where the value is.
  @usableFromInline
  struct Source: Sendable {
    /// Its slot, or that of the value it is made from.
    @usableFromInline let slot: ValueSlot<Value>
    @usableFromInline let making: Making?

    /// How it is made from the value of another type that lies in its slot. A class: most nodes have none.
    @usableFromInline
    final class Making: Sendable {
      @usableFromInline let make: @Sendable (ValueArena) -> Value

      init(_ make: @escaping @Sendable (ValueArena) -> Value) {
        self.make = make
      }
    }

    @usableFromInline
    init(slot: ValueSlot<Value>, making: Making? = nil) {
      self.slot = slot
      self.making = making
    }

    /// A consumer's copy of the value, in one run.
    @inlinable
    func take(_ arena: ValueArena) -> Value {
      making.map { $0.make(arena) } ?? arena.take(slot)
    }
  }

  /// The same node, as one that never fails: for recovery, and for what is to be executed whatever happened.
  ///
  /// If the node fails or is ignored, the failure is what its value would have thrown. A failure that is taken in this
  /// way everywhere it goes does not fail the graph.
  public var result: Node<Result<Value, any Error>> {
    let source = source
    let result = Node<Result<Value, any Error>>.Source.Making { arena in
      source.making.map { .success($0.make(arena)) } ?? arena.takeResult(source.slot)
    }
    return Node<Result<Value, any Error>>(
      builder: builder, source: .init(slot: ValueSlot(index: source.slot.index, offset: 0), making: result),
      edge: .acceptsFailure)
  }

  /// A node that reads its slot.
  @usableFromInline
  init(builder: GraphBuilder.Identity, reading slot: ValueSlot<Value>) {
    self.init(builder: builder, source: Source(slot: slot), edge: .requiresSuccess)
  }

  init(builder: GraphBuilder.Identity, source: Source, edge: GraphShape.Edge) {
    self.builder = builder
    self.source = source
    self.edge = edge
  }

  /// What the graph builder has to know of the node.
  public var reference: NodeReference {
    NodeReference(builder: builder, slot: source.slot.index, edge: edge)
  }
}
