/// Internal. A graph, built once and walked by every run of it: flat, immutable, shared.
final class GraphPlan: Sendable {
  let shape: GraphShape
  /// For each node, in the order in which they were added: what it executes.
  let bodies: ContiguousArray<NodeBody>
  /// What they are told of.
  private let memory: NodeMemory
  /// For each node what is known of it besides.
  let traits: ContiguousArray<NodeTraits>
  let layout: ValueLayout
  /// What the nodes take, one node after another: numbers of slots, doubled, plus one where a failure is accepted.
  private let inputs: ContiguousArray<Int32>
  /// For each node, where its inputs end in `inputs`.
  private let inputEnds: ContiguousArray<Int32>
  /// Whether any node has conditions.

  init(
    shape: GraphShape, bodies: ContiguousArray<NodeBody>, memory: NodeMemory, traits: ContiguousArray<NodeTraits>,
    layout: ValueLayout, inputs: ContiguousArray<Int32>, inputEnds: ContiguousArray<Int32>
  ) {
    self.shape = shape
    self.bodies = bodies
    self.memory = memory
    self.traits = traits
    self.layout = layout
    self.inputs = inputs
    self.inputEnds = inputEnds
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

/// Internal. What a node does, whatever the types of its values: takes its inputs out of the arena, executes the work,
/// and puts its value there.
///
/// The function is made where the types are known, so that no generic function is entered and no metadata looked up when it
/// is called. It executes where it is called from; the work in it sees to it itself that it does not.
///
/// Invariant: the pointer is one into the ``NodeMemory`` of the same plan, to what the function takes it for.
@usableFromInline
struct NodeBody: @unchecked Sendable {
  @usableFromInline
  typealias Function = @Sendable (UnsafeRawPointer, ValueArena) async throws -> Void

  let pointer: UnsafeRawPointer
  let function: Function
}

/// Internal. What is known of a node besides its types.
@usableFromInline
struct NodeTraits: Sendable {
  let name: String
  /// The raw value of a priority: of one itself the compiler does not know how large it is.
  let priority: UInt8?
  /// Whether the node has nothing but a body.
  let isPlain: Bool

  @usableFromInline
  init(name: String) {
    self.init(name: name, priority: nil, isPlain: true)
  }

  init(name: String, priority: UInt8?, isPlain: Bool) {
    self.name = name
    self.priority = priority
    self.isPlain = isPlain
  }
}
