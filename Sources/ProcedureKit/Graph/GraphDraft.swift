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
