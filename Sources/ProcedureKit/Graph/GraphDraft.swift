/// Internal. A graph that is being built: a little for each node, since a graph may have a million of them.
struct GraphDraft {
  private(set) var bodies: ContiguousArray<NodeBody> = []
  private var traits: ContiguousArray<NodeTraits> = []
  private var priorities: ContiguousArray<UInt8> = []
  /// What the nodes take, one node after another: numbers of slots, doubled, plus one where a failure is accepted.
  private var inputs: ContiguousArray<Int32> = []
  /// For each node, where its inputs end in `inputs`.
  private var inputEnds: ContiguousArray<Int32> = []
  /// What nodes wait for besides their inputs.
  private var dependencies: ContiguousArray<(from: Int32, to: Int32, kind: GraphShape.Edge)> = []
  var layout = ValueLayout()

  private static let mediumPriority = TaskPriority.medium.rawValue

  /// Says what the node that is to be added next takes.
  mutating func addInput(_ node: NodeReference) {
    inputs.append(node.slot << 1 | (node.edge == .acceptsFailure ? 1 : 0))
  }

  /// Says what the node that is to be added next waits for besides.
  mutating func addDependency(_ node: NodeReference) {
    if node.slot > 0 { dependencies.append((from: node.slot - 1, to: Int32(bodies.count), kind: node.edge)) }
  }

  mutating func addNode(_ traits: NodeTraits, _ body: NodeBody) {
    priorities.append(traits.priority ?? Self.mediumPriority)
    bodies.append(body)
    self.traits.append(traits)
    inputEnds.append(Int32(inputs.count))
  }

  /// What every run of the graph walks.
  ///
  /// - Parameters:
  ///   - output: The node whose value is the graph's, if one is.
  ///   - memory: Where what the bodies know lies.
  /// - Returns: The plan.
  func plan(output: NodeReference?, memory: NodeMemory) -> GraphPlan {
    var layout = layout
    layout.countConsumers(inputs: inputs, output: output?.slot)
    let acceptedOutput = output.map { $0.edge == .acceptsFailure ? $0.slot - 1 : -1 } ?? -1
    let shape = GraphShape(count: bodies.count, edges: edges, priorities: priorities, acceptedOutput: acceptedOutput)
    return GraphPlan(
      shape: shape, bodies: bodies, memory: memory, traits: traits, layout: layout, inputs: inputs, inputEnds: inputEnds
    )
  }

  private var edges: DraftEdges {
    DraftEdges(inputs: inputs, inputEnds: inputEnds, dependencies: dependencies)
  }
}

/// Internal. The edges of a graph that is being built, which need not be stored to be gone through.
private struct DraftEdges: Sequence, IteratorProtocol {
  let inputs: ContiguousArray<Int32>
  let inputEnds: ContiguousArray<Int32>
  let dependencies: ContiguousArray<(from: Int32, to: Int32, kind: GraphShape.Edge)>
  private var node = 0
  private var input = 0
  private var dependency = 0

  init(
    inputs: ContiguousArray<Int32>, inputEnds: ContiguousArray<Int32>,
    dependencies: ContiguousArray<(from: Int32, to: Int32, kind: GraphShape.Edge)>
  ) {
    (self.inputs, self.inputEnds, self.dependencies) = (inputs, inputEnds, dependencies)
  }

  mutating func next() -> (from: Int32, to: Int32, kind: GraphShape.Edge)? {
    while input < inputs.count {
      while inputEnds[node] <= input { node += 1 }
      let taken = inputs[input]
      input += 1
      // The first slot is the graph's input, which is there from the start.
      if taken > 1 {
        return (from: taken >> 1 - 1, to: Int32(node), kind: taken & 1 == 1 ? .acceptsFailure : .requiresSuccess)
      }
    }
    guard dependency < dependencies.count else { return nil }
    dependency += 1
    return dependencies[dependency - 1]
  }
}
