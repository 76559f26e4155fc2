/// Adds nodes to a graph while ``ProcedureGraph`` is being made.
///
/// Every `add` returns a ``Node``, which stands for the value that it will produce. A builder is of use only until the
/// closure that it was given to returns.
public final class GraphBuilder {
  /// Tells the nodes of one builder from those of another.
  struct Identity: Equatable, Sendable {
    let number: ProcedureID
  }

  let identity = Identity(number: .reserve())
  let graphName: String
  private var steps: ContiguousArray<NodeStep> = []
  private var edges: ContiguousArray<(from: Int32, to: Int32, kind: GraphShape.Edge)> = []
  private var priorities: ContiguousArray<UInt8> = []
  private var layout = ValueLayout()
  private var isBuilt = false

  init(graphName: String) {
    self.graphName = graphName
  }

  // MARK: Adding

  /// Adds a procedure that is given the value of one node.
  ///
  /// - Parameters:
  ///   - procedure: What to execute.
  ///   - node: Where its input comes from.
  ///   - dependencies: What else has to finish successfully before.
  /// - Returns: The value that it will produce.
  @discardableResult
  public func add<P: Procedure>(
    _ procedure: P, from node: Node<P.Input>, after dependencies: [any GraphDependency] = []
  ) -> Node<P.Output> {
    addStep(procedure.procedureTask, inputs: [node.reference], after: dependencies, gather: node.take)
  }

  /// Adds a procedure that is given the values of any number of nodes, as a tuple.
  ///
  /// - Parameters:
  ///   - procedure: What to execute.
  ///   - nodes: Where its input comes from.
  ///   - dependencies: What else has to finish successfully before.
  /// - Returns: The value that it will produce.
  @discardableResult
  public func add<each Value: Sendable, P: Procedure>(
    _ procedure: P, from nodes: repeat Node<each Value>, after dependencies: [any GraphDependency] = []
  ) -> Node<P.Output> where P.Input == (repeat each Value) {
    addStep(procedure.procedureTask, inputs: references(repeat each nodes), after: dependencies) { arena in
      (repeat (each nodes).take(arena))
    }
  }

  /// Adds a procedure that is given nothing.
  ///
  /// - Parameters:
  ///   - procedure: What to execute.
  ///   - dependencies: What has to finish successfully before.
  /// - Returns: The value that it will produce.
  @discardableResult
  public func add<P: Procedure>(
    _ procedure: P, after dependencies: [any GraphDependency] = []
  ) -> Node<P.Output> where P.Input == Void {
    addStep(procedure.procedureTask, inputs: [], after: dependencies) { _ in }
  }

  /// Adds a function of the values of any number of nodes.
  ///
  /// - Parameters:
  ///   - name: What errors, events and diagrams call it.
  ///   - nodes: Where its arguments come from.
  ///   - dependencies: What else has to finish successfully before.
  ///   - operation: The work. Never executes on the caller's actor.
  /// - Returns: The value that it will produce.
  @discardableResult
  public func add<each Value: Sendable, Output: Sendable>(
    _ name: String, from nodes: repeat Node<each Value>, after dependencies: [any GraphDependency] = [],
    operation: @escaping @concurrent @Sendable (repeat each Value) async throws -> Output
  ) -> Node<Output> {
    // `operation` is written as `@concurrent` because the compiler (Swift 6.3) crashes on closures of parameter packs
    // otherwise, in modules that have NonisolatedNonsendingByDefault.
    let task = ProcedureTask<(repeat each Value), Output>(name: name, priority: nil) { values in
      try await operation(repeat each values)
    }
    return addStep(task, inputs: references(repeat each nodes), after: dependencies) { arena in
      (repeat (each nodes).take(arena))
    }
  }

  /// Adds a node that gathers the values of many, in their order.
  ///
  /// - Parameters:
  ///   - nodes: Where the values come from.
  ///   - name: What errors, events and diagrams call it.
  /// - Returns: All the values.
  public func add<Value: Sendable>(from nodes: [Node<Value>], named name: String = "gather") -> Node<[Value]> {
    add(ProcedureTask(name) { (values: [Value]) in values }, from: nodes)
  }

  /// Adds a procedure that is given the values of many nodes of one type, in their order.
  ///
  /// - Parameters:
  ///   - procedure: What to execute.
  ///   - nodes: Where its input comes from; it may be none.
  ///   - dependencies: What else has to finish successfully before.
  /// - Returns: The value that it will produce.
  @discardableResult
  public func add<Value, P: Procedure>(
    _ procedure: P, from nodes: [Node<Value>], after dependencies: [any GraphDependency] = []
  ) -> Node<P.Output> where P.Input == [Value] {
    addStep(procedure.procedureTask, inputs: nodes.map(\.reference), after: dependencies) { arena in
      nodes.map { $0.take(arena) }
    }
  }

  private func references<each Value>(_ nodes: repeat Node<each Value>) -> [NodeReference] {
    var references: [NodeReference] = []
    for node in repeat each nodes { references.append(node.reference) }
    return references
  }

  // MARK: Building

  func addInput<Value>(of type: Value.Type) -> Node<Value> {
    Node(builder: identity, reading: layout.addSlot(for: Value.self))
  }

  private func addStep<Input, Output>(
    _ task: ProcedureTask<Input, Output>, inputs: [NodeReference], after dependencies: [any GraphDependency],
    gather: @escaping @Sendable (ValueArena) -> Input
  ) -> Node<Output> {
    require(!isBuilt, "GraphBuilder of \"\(graphName)\": \"\(task.name)\" was added after the graph had been made")
    let index = Int32(steps.count)
    let output = layout.addSlot(for: Output.self)
    for input in inputs {
      addEdge(from: input, to: index, task.name)
      layout.addConsumer(of: input.slot)
    }
    for dependency in dependencies { addEdge(from: dependency.reference, to: index, task.name) }
    priorities.append((task.priority ?? .medium).rawValue)
    steps.append(
      ProcedureStep(task, inputs: ContiguousArray(inputs.lazy.map(\.slot)), gather: gather, output: output))
    return Node(builder: identity, reading: output)
  }

  private func addEdge(from node: NodeReference, to target: Int32, _ name: String) {
    requireOwn(node, for: name)
    // The first slot is the graph's input, which is there from the start.
    if node.slot > 0 { edges.append((from: node.slot - 1, to: target, kind: node.edge)) }
  }

  private func requireOwn(_ node: NodeReference, for name: String) {
    require(
      node.builder == identity,
      "GraphBuilder of \"\(graphName)\": \"\(name)\" was given a node of another graph; "
        + "pass its value in as this graph's input, or add the other graph as a procedure")
  }

  /// Ends the building.
  ///
  /// - Parameter output: The node whose value is the graph's, if one is.
  /// - Returns: What every run of the graph walks.
  func finish(output: NodeReference?) -> GraphPlan {
    require(!steps.isEmpty, "ProcedureGraph \"\(graphName)\" has no nodes: add at least one")
    isBuilt = true
    var acceptedOutput: Int32 = -1
    if let output {
      requireOwn(output, for: "the result")
      layout.addConsumer(of: output.slot)
      if output.edge == .acceptsFailure { acceptedOutput = output.slot - 1 }
    }
    let shape = GraphShape(
      count: steps.count, edges: edges, priorities: priorities, acceptedOutput: acceptedOutput)
    return GraphPlan(shape: shape, steps: steps, layout: layout)
  }
}
