/// Internal. A node's builder, slot and kind of edge, as ``GraphBuilder`` needs them.
@usableFromInline
struct NodeReference: Sendable {
  let builder: ProcedureID
  let slot: Int32
  let edge: GraphShape.Edge
}
