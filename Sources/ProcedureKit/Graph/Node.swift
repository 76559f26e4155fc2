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
  enum Source: Sendable {
    case slot(ValueSlot<Value>)
    /// Made from that of another type, which lies in the slot of that number.
    indirect case made(from: Int32, @Sendable (ValueArena) -> Value)

    /// A consumer's copy of the value, in one run.
    @inlinable
    func take(_ arena: ValueArena) -> Value {
      switch self {
      case .slot(let slot): arena.take(slot)
      case .made(_, let make): make(arena)
      }
    }
  }

  /// The same node, as one that never fails: for recovery, and for what is to be executed whatever happened.
  ///
  /// If the node fails or is ignored, the failure is what its value would have thrown. A failure that is taken in this
  /// way everywhere it goes does not fail the graph.
  public var result: Node<Result<Value, any Error>> {
    switch source {
    case .slot(let slot):
      Node<Result<Value, any Error>>(
        builder: builder, source: .made(from: slot.index) { $0.takeResult(slot) }, edge: .acceptsFailure)
    case .made(let index, let make):
      Node<Result<Value, any Error>>(
        builder: builder, source: .made(from: index) { .success(make($0)) }, edge: .acceptsFailure)
    }
  }

  /// A node that reads its slot.
  @usableFromInline
  init(builder: GraphBuilder.Identity, reading slot: ValueSlot<Value>) {
    self.init(builder: builder, source: .slot(slot), edge: .requiresSuccess)
  }

  init(builder: GraphBuilder.Identity, source: Source, edge: GraphShape.Edge) {
    self.builder = builder
    self.source = source
    self.edge = edge
  }

  /// What the graph builder has to know of the node.
  public var reference: NodeReference {
    let index =
      switch source {
      case .slot(let slot): slot.index
      case .made(let index, _): index
      }
    return NodeReference(builder: builder, slot: index, edge: edge)
  }
}
