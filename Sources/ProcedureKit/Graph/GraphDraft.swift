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
    // The first slot is the graph's input, which is there from the start.
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
  /// - Parameter output: The node whose value is the graph's, if one is.
  func plan(output: NodeReference?) -> GraphPlan {
    var layout = layout
    layout.countConsumers(inputs: inputs, output: output?.slot)
    let acceptedOutput = output.map { $0.edge == .acceptsFailure ? $0.slot - 1 : -1 } ?? -1
    let shape = GraphShape(count: bodies.count, edges: edges, priorities: priorities, acceptedOutput: acceptedOutput)
    return GraphPlan(
      shape: shape, bodies: bodies, traits: traits, layout: layout, inputs: inputs, inputEnds: inputEnds)
  }

  private var edges: ContiguousArray<(from: Int32, to: Int32, kind: GraphShape.Edge)> {
    var edges = dependencies
    edges.reserveCapacity(dependencies.count + inputs.count)
    var place = 0
    for node in inputEnds.indices {
      while place < inputEnds[node] {
        let input = inputs[place]
        if input > 1 {
          edges.append(
            (from: input >> 1 - 1, to: Int32(node), kind: input & 1 == 1 ? .acceptsFailure : .requiresSuccess))
        }
        place += 1
      }
    }
    return edges
  }
}
