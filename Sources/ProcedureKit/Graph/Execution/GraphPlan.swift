/// Internal. A graph, built once and walked by every run of it: flat, immutable, shared.
///
/// `package` for `ProcedureKitDurable`.
package final class GraphPlan: Sendable {
  package let shape: GraphShape
  /// For each node, in the order in which they were added: what it executes.
  package let bodies: ContiguousArray<NodeBody>
  /// For each node what is known of it besides.
  package let traits: ContiguousArray<NodeTraits>
  package let layout: ValueLayout
  /// What the nodes take, one node after another: numbers of slots, doubled, plus one where a failure is accepted.
  package let inputs: ContiguousArray<Int32>
  /// For each node, where its inputs end in `inputs`.
  package let inputEnds: ContiguousArray<Int32>
  /// The collection of which each node is an element, as the name of a `map`; `nil` for a graph of other nodes.
  package let collection: String?

  package init(
    shape: GraphShape, bodies: ContiguousArray<NodeBody>, traits: ContiguousArray<NodeTraits>,
    layout: ValueLayout, inputs: ContiguousArray<Int32>, inputEnds: ContiguousArray<Int32>, collection: String?
  ) {
    (self.shape, self.bodies, self.traits, self.layout) = (shape, bodies, traits, layout)
    (self.inputs, self.inputEnds, self.collection) = (inputs, inputEnds, collection)
  }

  /// Where the value of a node lies; the first slot is that of the graph's input.
  package func slot(of node: Int32) -> Int32 {
    node + 1
  }

  /// The slots from which a node takes its input.
  package func inputs(of node: Int32) -> some Sequence<Int32> {
    inputs[(node == 0 ? 0 : Int(inputEnds[Int(node) - 1]))..<Int(inputEnds[Int(node)])].lazy.map { $0 >> 1 }
  }
}

/// Internal. The body of a node: takes the inputs from the values of a run, executes the work, and stores the value there.
///
/// A structure, since an array of closures would wrap each closure in one more.
///
/// `package` for `ProcedureKitDurable`.
package struct NodeBody: Sendable {
  package let execute: @Sendable (GraphValues) async throws -> Void

  package init(execute: @escaping @Sendable (GraphValues) async throws -> Void) { self.execute = execute }
}

/// Internal. What is known of a node besides its types.
///
/// `package` for `ProcedureKitDurable`.
@usableFromInline
package struct NodeTraits: Sendable {
  @usableFromInline package let name: String
  /// The raw value of a priority: of one itself the compiler does not know how large it is.
  package let priority: UInt8?
  /// Whether the node has nothing but a body.
  let isPlain: Bool
  package let version: UInt32
  /// How much the progress of the node counts.
  package let weight: Float

  @usableFromInline
  package init(name: String, priority: UInt8? = nil, isPlain: Bool = true, version: UInt32 = 1, weight: Float = 1) {
    (self.name, self.priority, self.isPlain, self.version, self.weight) = (name, priority, isPlain, version, weight)
  }
}

/// Internal. The dependencies of a graph, flat and immutable: computed once when the graph is built, shared by all runs.
///
/// Nodes are numbered in the order in which they were added, so that every edge leads from a smaller number to a larger
/// one: there can be no cycle.
///
/// `package` for `ProcedureKitDurable`.
package struct GraphShape: Sendable {
  /// The response of a node to a dependency that does not succeed.
  enum Edge: Sendable {
    /// It is not executed.
    case requiresSuccess
    /// It is executed all the same.
    case acceptsFailure
  }

  let count: Int
  /// For each node, how many edges lead to it.
  let dependencyCounts: ContiguousArray<Int32>
  /// For each node, where its outgoing edges begin in `successors`; one more at the end.
  let offsets: ContiguousArray<Int32>
  /// Target and kind of each edge: the target's number doubled, plus one where it accepts failure.
  let successors: ContiguousArray<Int32>
  let roots: ContiguousArray<Int32>
  /// For each node its priority; empty where all are the same.
  let priorities: ContiguousArray<UInt8>
  /// The node whose failure the graph returns instead of failing itself, -1 if there is none.
  let acceptedOutput: Int32
  /// For each node whether its failure stays within the graph; empty where none does.
  private let acceptance: ContiguousArray<Bool>

  /// Each edge leads from a node that has to finish to one that starts after. There is a priority for each node, or none at all.
  init(
    count: Int, edges: some Sequence<(from: Int32, to: Int32, kind: Edge)>, priorities: ContiguousArray<UInt8> = [],
    acceptedOutput: Int32 = -1
  ) {
    var hasAccepting = acceptedOutput >= 0
    var counts = ContiguousArray<Int32>(repeating: 0, count: count)
    var offsets = ContiguousArray<Int32>(repeating: 0, count: count + 1)
    for edge in edges {
      precondition(edge.from >= 0 && edge.from < edge.to && edge.to < count, "GraphShape: an edge leads backwards")
      counts[Int(edge.to)] += 1
      offsets[Int(edge.from) + 1] += 1
      if edge.kind == .acceptsFailure { hasAccepting = true }
    }
    for node in 0..<count { offsets[node + 1] += offsets[node] }
    var cursors = offsets
    var successors = ContiguousArray<Int32>(repeating: 0, count: Int(offsets[count]))
    for edge in edges {
      successors[Int(cursors[Int(edge.from)])] = edge.to * 2 + (edge.kind == .acceptsFailure ? 1 : 0)
      cursors[Int(edge.from)] += 1
    }
    (self.count, self.acceptedOutput) = (count, acceptedOutput)
    dependencyCounts = counts
    (self.offsets, self.successors) = (offsets, successors)
    roots = ContiguousArray(counts.indices.lazy.filter { counts[$0] == 0 }.map(Int32.init))
    self.priorities = priorities.contains { $0 != priorities[0] } ? priorities : []
    acceptance =
      hasAccepting
      ? Self.acceptance(offsets: offsets, successors: successors, acceptedOutput: acceptedOutput) : []
  }

  /// A failure stays within the graph if it is accepted wherever it goes: by an edge that accepts it, or, where the edge
  /// does not, because the failure of the node at its end is accepted. It leaves the graph at a node without successors.
  private static func acceptance(
    offsets: ContiguousArray<Int32>, successors: ContiguousArray<Int32>, acceptedOutput: Int32
  ) -> ContiguousArray<Bool> {
    var accepted = ContiguousArray<Bool>(repeating: false, count: offsets.count - 1)
    for node in accepted.indices.reversed() {
      let edges = successors[Int(offsets[node])..<Int(offsets[node + 1])]
      let goesSomewhere = !edges.isEmpty || Int32(node) == acceptedOutput
      accepted[node] = goesSomewhere && edges.allSatisfy { $0 & 1 == 1 || accepted[Int($0 >> 1)] }
    }
    return accepted
  }

  /// Whether the graph does not fail when this node does.
  func acceptsFailure(of node: Int32) -> Bool {
    !acceptance.isEmpty && acceptance[Int(node)]
  }

  func priority(of node: Int32) -> UInt8 { priorities.isEmpty ? 0 : priorities[Int(node)] }

  func successorRange(of node: Int32) -> Range<Int> {
    Int(offsets[Int(node)])..<Int(offsets[Int(node) + 1])
  }
}

extension GraphShape {
  /// The dependencies of each node. O(n + e) for n nodes and e edges.
  package func dependencies() -> [[Int32]] {
    var dependencies = Array(repeating: [Int32](), count: max(offsets.count - 1, 0))
    for node in dependencies.indices {
      for successor in successors[successorRange(of: Int32(node))] {
        dependencies[Int(successor / 2)].append(Int32(node))
      }
    }
    return dependencies
  }
}

/// Internal. Where each value of a graph lies, and how many consumers take the value. Laid out once, when the graph is built.
///
/// `package` for `ProcedureKitDurable`.
package struct ValueLayout: Sendable {
  package struct Slot: Sendable {
    package let offset: Int32
    package var consumers: Int32 = 0
    let destroy: (@Sendable (GraphValues, Int32) -> Void)?
    package let type: Any.Type
  }

  private(set) var size = 0
  private(set) var alignment = 1
  package var slots: ContiguousArray<Slot> = []
  /// Whether a value has to be destroyed, so that consumers are counted.
  package private(set) var countsConsumers = false

  /// Lays out one more value, and returns the index and the offset of the value's slot.
  mutating func addSlot(for kind: ValueKind) -> (index: Int32, offset: Int32) {
    let offset = (size + kind.alignment - 1) & ~(kind.alignment - 1)
    size = offset + kind.size
    alignment = max(alignment, kind.alignment)
    countsConsumers = countsConsumers || kind.destroy != nil
    slots.append(Slot(offset: Int32(offset), destroy: kind.destroy, type: kind.type))
    return (Int32(slots.count - 1), Int32(offset))
  }

  /// Counts the consumers of each value: `inputs` has twice the slot of each input of each node, `outputs` are the slots of the graph's value.
  mutating func countConsumers(inputs: ContiguousArray<Int32>, outputs: [Int32]) {
    guard countsConsumers else { return }
    for input in inputs { slots[Int(input >> 1)].consumers += 1 }
    for output in outputs { slots[Int(output)].consumers += 1 }
  }
}

/// Internal. A graph under construction, with little memory for each node: a graph can have a million nodes.
struct GraphDraft {
  private(set) var bodies: ContiguousArray<NodeBody> = []
  private var traits: ContiguousArray<NodeTraits> = []
  private var priorities: ContiguousArray<UInt8> = []
  /// The inputs of all nodes, one node after another: twice the number of the slot, plus one for an input that accepts
  /// a failure.
  private var inputs: ContiguousArray<Int32> = []
  /// The end of each node's inputs in `inputs`.
  private var inputEnds: ContiguousArray<Int32> = []
  /// The dependencies without a value.
  private var dependencies: ContiguousArray<(from: Int32, to: Int32, kind: GraphShape.Edge)> = []
  private var layout = ValueLayout()

  /// Lays out the value of the next node.
  mutating func addSlot(_ kind: ValueKind) -> (index: Int32, offset: Int32) {
    layout.addSlot(for: kind)
  }

  /// Adds an input to the next node.
  mutating func addInput(_ node: NodeReference) {
    inputs.append(node.slot << 1 | (node.edge == .acceptsFailure ? 1 : 0))
  }

  /// Adds a dependency without a value to the next node.
  mutating func addDependency(_ node: NodeReference) {
    if node.slot > 0 { dependencies.append((from: node.slot - 1, to: Int32(bodies.count), kind: node.edge)) }
  }

  mutating func addNode(_ traits: NodeTraits, _ body: NodeBody) {
    priorities.append(traits.priority ?? TaskPriority.medium.rawValue)
    bodies.append(body)
    self.traits.append(traits)
    inputEnds.append(Int32(inputs.count))
  }

  /// Makes the plan of every run of the graph.
  ///
  /// - Parameters:
  ///   - outputs: The nodes with the value of the graph; none for a graph without a value.
  ///   - collection: The collection of which each node is an element, if any.
  /// - Returns: The plan.
  func plan(outputs: [NodeReference], elementsOf collection: String?) -> GraphPlan {
    var layout = layout
    layout.countConsumers(inputs: inputs, outputs: outputs.map(\.slot))
    let acceptedOutput = outputs.first { $0.edge == .acceptsFailure }.map { $0.slot - 1 } ?? -1
    let edges = DraftEdges(inputs: inputs, inputEnds: inputEnds, dependencies: dependencies)
    let shape = GraphShape(count: bodies.count, edges: edges, priorities: priorities, acceptedOutput: acceptedOutput)
    return GraphPlan(
      shape: shape, bodies: bodies, traits: traits, layout: layout, inputs: inputs, inputEnds: inputEnds,
      collection: collection)
  }
}

/// Internal. The edges of a graph under construction, computed during the iteration.
private struct DraftEdges: Sequence, IteratorProtocol {
  let inputs: ContiguousArray<Int32>
  let inputEnds: ContiguousArray<Int32>
  let dependencies: ContiguousArray<(from: Int32, to: Int32, kind: GraphShape.Edge)>
  var node = 0
  var input = 0
  var dependency = 0

  mutating func next() -> (from: Int32, to: Int32, kind: GraphShape.Edge)? {
    while input < inputs.count {
      while inputEnds[node] <= input { node += 1 }
      let taken = inputs[input]
      input += 1
      // Slot 0 is the graph's input, which has a value from the start.
      if taken > 1 {
        return (from: taken >> 1 - 1, to: Int32(node), kind: taken & 1 == 1 ? .acceptsFailure : .requiresSuccess)
      }
    }
    guard dependency < dependencies.count else { return nil }
    dependency += 1
    return dependencies[dependency - 1]
  }
}
