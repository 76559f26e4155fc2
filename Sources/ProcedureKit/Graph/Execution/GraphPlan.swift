import Synchronization

/// The immutable plan of a graph. The plan is computed once, and all runs of the graph share it.
///
/// The class is `package` because `ProcedureKitDurable` uses it.
package final class GraphPlan: Sendable {
  package let shape: GraphShape
  /// The bodies of the nodes, in the order in which the nodes were added.
  package let bodies: ContiguousArray<NodeBody>
  /// The other properties of each node.
  package let traits: ContiguousArray<NodeTraits>
  package let layout: ValueLayout
  /// The inputs of all nodes, in the order of the nodes. An input is encoded as twice its slot number, plus one if the node accepts a
  /// failure.
  package let inputs: ContiguousArray<Int32>
  /// For each node, the index in `inputs` at which its inputs end.
  package let inputEnds: ContiguousArray<Int32>
  /// The name of the `map` node whose elements are the nodes of this graph; `nil` for any other graph.
  package let collection: String?
  /// The procedures that compute values requested by key, in order of declaration.
  package let keyed: [any KeyedProcedure]
  package let requestObserver: RequestObserver?
  private let computedRanks = Mutex<ContiguousArray<Int32>?>(nil)

  package init(
    shape: GraphShape, bodies: ContiguousArray<NodeBody>, traits: ContiguousArray<NodeTraits>,
    layout: ValueLayout, inputs: ContiguousArray<Int32>, inputEnds: ContiguousArray<Int32>, collection: String?,
    keyed: [any KeyedProcedure], requestObserver: RequestObserver? = nil
  ) {
    (self.shape, self.bodies, self.traits, self.layout) = (shape, bodies, traits, layout)
    (self.inputs, self.inputEnds, self.collection) = (inputs, inputEnds, collection)
    (self.keyed, self.requestObserver) = (keyed, requestObserver)
  }

  /// The ranks of the nodes (Q8), which are computed on first use.
  var ranks: ContiguousArray<Int32> {
    computedRanks.withLock { ranks in
      if let ranks { return ranks }
      let computed = shape.ranks(expecting: traits)
      ranks = computed
      return computed
    }
  }

  /// Returns the slot of a node's value. The first slot holds the graph's input.
  package func slot(of node: Int32) -> Int32 {
    node + 1
  }

  /// Returns the slots from which a node takes its inputs.
  package func inputs(of node: Int32) -> some Sequence<Int32> {
    inputs[(node == 0 ? 0 : Int(inputEnds[Int(node) - 1]))..<Int(inputEnds[Int(node)])].lazy.map { $0 >> 1 }
  }
}

/// The body of a node, which takes its inputs from the values of a run, does the work, and stores its result in those values.
///
/// Wrapping the closure in a structure avoids a reabstraction thunk for each closure in an array.
///
/// The type is `package` because `ProcedureKitDurable` uses it.
package struct NodeBody: Sendable {
  package let execute: @Sendable (GraphValues) async throws -> Void

  package init(execute: @escaping @Sendable (GraphValues) async throws -> Void) { self.execute = execute }
}

/// The properties of a node that do not depend on its input and output types.
///
/// The type is `package` because `ProcedureKitDurable` uses it.
@usableFromInline
package struct NodeTraits: Sendable {
  private var label: String
  /// The index of the element, if the node belongs to a `map`; -1 for any other node.
  private var element: Int32 = -1
  /// The raw value of the priority. The layout of `TaskPriority` itself is not known at compile time.
  package let priority: UInt8?
  /// Whether the node consists of a body alone, without modifiers.
  let hasOnlyBody: Bool
  package let version: UInt32
  /// The weight of the node in the progress of the graph.
  package let weight: Float
  /// The number of seconds that the node is expected to take; negative if it is unknown.
  package var expectedSeconds: Float

  @usableFromInline
  package init(
    name: String, priority: UInt8? = nil, hasOnlyBody: Bool = true, version: UInt32 = 1, weight: Float = 1,
    expectedSeconds: Float = -1
  ) {
    (label, self.priority, self.hasOnlyBody, self.version, self.weight) = (name, priority, hasOnlyBody, version, weight)
    self.expectedSeconds = expectedSeconds
  }

  /// The name. For an element of a `map`, a name such as `sizes[3]` is created on each access, because most of these names are never read.
  @usableFromInline package var name: String { element < 0 ? label : "\(label)[\(element)]" }

  /// Returns the traits of the node for one element of a `map`, with the given name or with a name that contains the index.
  @usableFromInline
  func ofElement(_ index: Int, named name: String?) -> NodeTraits {
    var traits = self
    if let name { traits.label = name } else { traits.element = Int32(clamping: index) }
    return traits
  }
}

/// The dependencies of a graph, as flat, immutable adjacency lists that are computed once, when the graph is built.
///
/// Nodes are numbered in the order in which they were added. Every edge leads from a lower to a higher number, so the graph has no cycles.
///
/// The type is `package` because `ProcedureKitDurable` uses it.
package struct GraphShape: Sendable {
  /// An edge from a dependency to a node. If the dependency does not succeed, the node is skipped, unless the edge accepts a failure (D1).
  typealias Edge = (from: Int32, to: Int32, acceptsFailure: Bool)

  let count: Int
  /// The number of edges that lead to each node.
  let dependencyCounts: ContiguousArray<Int32>
  /// For each node, the index in `successors` at which its outgoing edges start. The additional last element is the index at which the last
  /// node's edges end.
  let offsets: ContiguousArray<Int32>
  /// The target and the kind of each edge, encoded as twice the number of the target, plus one if the edge accepts a failure.
  let successors: ContiguousArray<Int32>
  let roots: ContiguousArray<Int32>
  /// The priority of each node; empty if all nodes have the same priority.
  let priorities: ContiguousArray<UInt8>
  /// The node whose `Result` is the value of the graph; -1 if there is none. A failure of this node does not fail the graph.
  let acceptedOutput: Int32
  /// For each node, whether the graph accepts its failure; empty if the graph accepts no failure.
  private let acceptance: ContiguousArray<Bool>

  /// Computes the shape from edges, each of which leads from a dependency to a dependent. `priorities` has one element per node or is
  /// empty.
  init(
    count: Int, edges: some Sequence<Edge>, priorities: ContiguousArray<UInt8> = [], acceptedOutput: Int32 = -1
  ) {
    var hasAccepting = acceptedOutput >= 0
    var counts = ContiguousArray<Int32>(repeating: 0, count: count)
    var offsets = ContiguousArray<Int32>(repeating: 0, count: count + 1)
    for edge in edges {
      require(
        edge.from >= 0 && edge.to < count,
        "GraphShape: node \(edge.to) was given node \(edge.from) as a dependency, "
          + "but there are only \(count) nodes, numbered from 0")
      require(
        edge.from < edge.to,
        "GraphShape: node \(edge.to) was given node \(edge.from) as a dependency, "
          + "but a node can depend only on nodes that were added before it")
      counts[Int(edge.to)] += 1
      offsets[Int(edge.from) + 1] += 1
      if edge.acceptsFailure { hasAccepting = true }
    }
    for node in 0..<count { offsets[node + 1] += offsets[node] }
    var cursors = offsets
    var successors = ContiguousArray<Int32>(repeating: 0, count: Int(offsets[count]))
    for edge in edges {
      successors[Int(cursors[Int(edge.from)])] = edge.to * 2 + (edge.acceptsFailure ? 1 : 0)
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

  /// Returns, for each node, whether the graph accepts its failure (D4). A failure that the graph accepts does not fail the graph.
  ///
  /// The graph accepts a failure if each of the node's outgoing edges accepts the failure, or leads to a node whose own failure the graph
  /// accepts. The failure of a node without successors is accepted only if the node's `Result` is the value of the graph.
  private static func acceptance(
    offsets: ContiguousArray<Int32>, successors: ContiguousArray<Int32>, acceptedOutput: Int32
  ) -> ContiguousArray<Bool> {
    var accepted = ContiguousArray<Bool>(repeating: false, count: offsets.count - 1)
    for node in accepted.indices.reversed() {
      let edges = successors[Int(offsets[node])..<Int(offsets[node + 1])]
      let hasConsumer = !edges.isEmpty || Int32(node) == acceptedOutput
      accepted[node] = hasConsumer && edges.allSatisfy { $0 & 1 == 1 || accepted[Int($0 >> 1)] }
    }
    return accepted
  }

  /// Returns whether the graph accepts the failure of a node (D4). A failure that the graph accepts does not fail the graph.
  func acceptsFailure(of node: Int32) -> Bool {
    !acceptance.isEmpty && acceptance[Int(node)]
  }

  func priority(of node: Int32) -> UInt8 { priorities.isEmpty ? 0 : priorities[Int(node)] }

  /// Returns the range of a node's outgoing edges in `successors`.
  func successorRange(of node: Int32) -> Range<Int> {
    Int(offsets[Int(node)])..<Int(offsets[Int(node) + 1])
  }

  /// Returns the dependencies of each node.
  ///
  /// - Complexity: O(n + e) for n nodes and e edges.
  package func dependencies() -> [[Int32]] {
    var dependencies = Array(repeating: [Int32](), count: count)
    for node in dependencies.indices {
      for successor in successors[successorRange(of: Int32(node))] {
        dependencies[Int(successor / 2)].append(Int32(node))
      }
    }
    return dependencies
  }
}

/// The memory layout of a graph's values, and the number of consumers of each value. Both are computed once, when the graph is built.
///
/// The type is `package` because `ProcedureKitDurable` uses it.
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
  /// Whether consumers are counted, which is necessary if at least one value has to be destroyed.
  package private(set) var countsConsumers = false

  /// Adds a slot for a value and returns its index and its offset.
  mutating func addSlot(for kind: ValueKind) -> (index: Int32, offset: Int32) {
    let offset = (size + kind.alignment - 1) & ~(kind.alignment - 1)
    size = offset + kind.size
    alignment = max(alignment, kind.alignment)
    countsConsumers = countsConsumers || kind.destroy != nil
    slots.append(Slot(offset: Int32(offset), destroy: kind.destroy, type: kind.type))
    return (Int32(slots.count - 1), Int32(offset))
  }

  /// Counts the consumers of each value. `inputs` are encoded as in `GraphPlan`, and `outputs` are the slots of the values that form the
  /// graph's value.
  mutating func countConsumers(inputs: ContiguousArray<Int32>, outputs: [Int32]) {
    guard countsConsumers else { return }
    for input in inputs { slots[Int(input >> 1)].consumers += 1 }
    for output in outputs { slots[Int(output)].consumers += 1 }
  }
}

/// A graph under construction. A draft must use little memory per node, because a graph can have a million nodes.
struct GraphDraft {
  private(set) var bodies: ContiguousArray<NodeBody> = []
  private var traits: ContiguousArray<NodeTraits> = []
  private var priorities: ContiguousArray<UInt8> = []
  /// The inputs of all nodes, in the order of the nodes, encoded as in `GraphPlan`.
  private var inputs: ContiguousArray<Int32> = []
  /// For each node, the index in `inputs` at which its inputs end.
  private var inputEnds: ContiguousArray<Int32> = []
  /// The dependencies whose values the dependents do not use.
  private var dependencies: ContiguousArray<GraphShape.Edge> = []
  private var layout = ValueLayout()
  /// The procedures that compute values requested by key.
  var keyed: [any KeyedProcedure] = []

  /// Adds a slot for the value of the next node.
  mutating func addSlot(_ kind: ValueKind) -> (index: Int32, offset: Int32) {
    layout.addSlot(for: kind)
  }

  /// Adds an input to the next node.
  mutating func addInput(_ node: NodeReference) {
    inputs.append(node.slot << 1 | (node.acceptsFailure ? 1 : 0))
  }

  /// Makes the next node depend on a node whose value it does not use.
  mutating func addDependency(_ node: NodeReference) {
    if node.slot > 0 { dependencies.append((node.slot - 1, Int32(bodies.count), node.acceptsFailure)) }
  }

  /// Adds the next node, with the inputs and dependencies that have already been added.
  mutating func addNode(_ traits: NodeTraits, _ body: NodeBody) {
    priorities.append(traits.priority ?? TaskPriority.medium.rawValue)
    bodies.append(body)
    self.traits.append(traits)
    inputEnds.append(Int32(inputs.count))
  }

  /// Creates the plan of the graph.
  ///
  /// - Parameters:
  ///   - outputs: The nodes whose values form the value of the graph; empty for a graph without a value.
  ///   - collection: The name of the `map` node whose elements are the nodes of this graph, if any.
  /// - Returns: The plan.
  func plan(outputs: [NodeReference], elementsOf collection: String?) -> GraphPlan {
    var layout = layout
    layout.countConsumers(inputs: inputs, outputs: outputs.map(\.slot))
    let acceptedOutput = outputs.first(where: \.acceptsFailure).map { $0.slot - 1 } ?? -1
    let edges = DraftEdges(inputs: inputs, inputEnds: inputEnds, dependencies: dependencies)
    let shape = GraphShape(count: bodies.count, edges: edges, priorities: priorities, acceptedOutput: acceptedOutput)
    return GraphPlan(
      shape: shape, bodies: bodies, traits: traits, layout: layout, inputs: inputs, inputEnds: inputEnds,
      collection: collection, keyed: keyed)
  }
}

/// The edges of a graph under construction, computed lazily.
private struct DraftEdges: Sequence, IteratorProtocol {
  let inputs: ContiguousArray<Int32>
  let inputEnds: ContiguousArray<Int32>
  let dependencies: ContiguousArray<GraphShape.Edge>
  var node = 0
  var input = 0
  var dependency = 0

  mutating func next() -> GraphShape.Edge? {
    while input < inputs.count {
      while inputEnds[node] <= input { node += 1 }
      let taken = inputs[input]
      input += 1
      // Slot 0 contains the input of the graph. The input is available from the start, so it needs no edge.
      if taken > 1 { return (from: taken >> 1 - 1, to: Int32(node), acceptsFailure: taken & 1 == 1) }
    }
    guard dependency < dependencies.count else { return nil }
    dependency += 1
    return dependencies[dependency - 1]
  }
}
