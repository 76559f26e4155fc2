/// Internal. A graph, built once and walked by every run of it: flat, immutable, shared.
final class GraphPlan: Sendable {
  let shape: GraphShape
  /// For each node, in the order in which they were added: what it executes.
  let bodies: ContiguousArray<NodeBody>
  /// For each node what is known of it besides.
  let traits: ContiguousArray<NodeTraits>
  let layout: ValueLayout
  /// What the nodes take, one node after another: numbers of slots, doubled, plus one where a failure is accepted.
  let inputs: ContiguousArray<Int32>
  /// For each node, where its inputs end in `inputs`.
  let inputEnds: ContiguousArray<Int32>
  /// The collection of which each node is an element, as the name of a `map`; `nil` for a graph of other nodes.
  let collection: String?

  init(
    shape: GraphShape, bodies: ContiguousArray<NodeBody>, traits: ContiguousArray<NodeTraits>,
    layout: ValueLayout, inputs: ContiguousArray<Int32>, inputEnds: ContiguousArray<Int32>, collection: String?
  ) {
    (self.shape, self.bodies, self.traits, self.layout) = (shape, bodies, traits, layout)
    (self.inputs, self.inputEnds, self.collection) = (inputs, inputEnds, collection)
  }

  /// Where the value of a node lies; the first slot is that of the graph's input.
  func slot(of node: Int32) -> Int32 {
    node + 1
  }

  /// The slots from which a node takes its input.
  func inputs(of node: Int32) -> some Sequence<Int32> {
    inputs[(node == 0 ? 0 : Int(inputEnds[Int(node) - 1]))..<Int(inputEnds[Int(node)])].lazy.map { $0 >> 1 }
  }
}

/// Internal. The body of a node: takes the inputs from the values of a run, executes the work, and stores the value there.
///
/// A structure, since an array of closures would wrap each closure in one more.
struct NodeBody: Sendable {
  let execute: @Sendable (GraphValues) async throws -> Void
}

/// Internal. What is known of a node besides its types.
@usableFromInline
struct NodeTraits: Sendable {
  @usableFromInline let name: String
  /// The raw value of a priority: of one itself the compiler does not know how large it is.
  let priority: UInt8?
  /// Whether the node has nothing but a body.
  let isPlain: Bool
  let version: UInt32
  /// How much the progress of the node counts.
  let weight: Float

  @usableFromInline
  init(name: String, priority: UInt8? = nil, isPlain: Bool = true, version: UInt32 = 1, weight: Float = 1) {
    (self.name, self.priority, self.isPlain, self.version, self.weight) = (name, priority, isPlain, version, weight)
  }
}
