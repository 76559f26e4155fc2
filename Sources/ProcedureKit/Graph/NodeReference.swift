/// What a graph builder has to know of a node that something waits for.
public struct NodeReference: Sendable {
  let builder: GraphBuilder.Identity
  let slot: Int32
  let edge: GraphShape.Edge
}
