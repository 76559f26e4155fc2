/// A value that a graph will have once it runs: what a node produces, or the graph's input.
///
/// Nodes are made by a ``GraphBuilder``, and are of use only to that builder. Since a node exists only after everything
/// that it depends on, a graph cannot have a cycle.
public struct Node<Value: Sendable>: GraphDependency {
  let builder: GraphBuilder.Identity
  let slot: Int32
  let edge: GraphShape.Edge
  let take: @Sendable (ValueArena) -> Value

  /// The same node, as one that never fails: for recovery, and for what is to be executed whatever happened.
  ///
  /// If the node fails or is ignored, the failure is what its value would have thrown. A failure that is taken in this
  /// way everywhere it goes does not fail the graph.
  public var result: Node<Result<Value, any Error>> {
    Node<Result<Value, any Error>>(
      builder: builder, slot: slot, edge: .acceptsFailure, take: takeResult)
  }

  let takeResult: @Sendable (ValueArena) -> Result<Value, any Error>

  /// A node that reads its slot.
  init(builder: GraphBuilder.Identity, reading slot: ValueSlot<Value>) {
    self.builder = builder
    self.slot = slot.index
    edge = .requiresSuccess
    take = { $0.take(slot) }
    takeResult = { $0.takeResult(slot) }
  }

  /// A node that never fails.
  private init(
    builder: GraphBuilder.Identity, slot: Int32, edge: GraphShape.Edge, take: @escaping @Sendable (ValueArena) -> Value
  ) {
    self.builder = builder
    self.slot = slot
    self.edge = edge
    self.take = take
    takeResult = { .success(take($0)) }
  }

  /// What the graph builder has to know of the node.
  public var reference: NodeReference {
    NodeReference(builder: builder, slot: slot, edge: edge)
  }
}
