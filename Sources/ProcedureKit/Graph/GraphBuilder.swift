/// Adds nodes to a graph while ``ProcedureGraph`` is being made.
///
/// Every `add` returns a ``Node``, which stands for the value that it will produce. A builder is of use only until the
/// closure that it was given to returns: adding to it later traps, and so does a node of another builder.
public final class GraphBuilder {
  /// Tells the nodes of one builder from those of another.
  @usableFromInline
  struct Identity: Equatable, Sendable {
    let number: ProcedureID
  }

  @usableFromInline let identity = Identity(number: .reserve())
  let graphName: String
  @usableFromInline let memory = NodeMemory()
  // Invariant: no access to it lasts while foreign code is called, so that none can begin within another.
  @exclusivity(unchecked) private var draft = GraphDraft()
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
  @inlinable
  public func add<P: Procedure>(
    _ procedure: P, from node: Node<P.Input>, after dependencies: [any GraphDependency] = []
  ) -> Node<P.Output> {
    let (traits, operation) = procedure.procedureTask.node
    let output = addSlot(for: P.Output.self)
    let function = memory.store(FunctionOfOne(operation, addInput(node, of: traits), into: output))
    addStep(traits, after: dependencies, knowing: function) { pointer, arena in
      let function = pointer.assumingMemoryBound(to: FunctionOfOne<P.Input, P.Output>.self)
      let value = try await function.pointee.operation(function.pointee.a.take(arena))
      arena.put(value, into: function.pointee.output)
    }
    return Node(builder: identity, reading: output)
  }

  /// Adds a procedure that is given the values of any number of nodes, as a tuple.
  ///
  /// - Parameters:
  ///   - procedure: What to execute.
  ///   - nodes: Where its input comes from.
  ///   - dependencies: What else has to finish successfully before.
  /// - Returns: The value that it will produce.
  @discardableResult
  @inlinable
  public func add<each Value: Sendable, P: Procedure>(
    _ procedure: P, from nodes: repeat Node<each Value>, after dependencies: [any GraphDependency] = []
  ) -> Node<P.Output> where P.Input == (repeat each Value) {
    let (traits, operation) = procedure.procedureTask.node
    let output = addSlot(for: P.Output.self)
    let sources = (repeat addInput(each nodes, of: traits))
    addStep(traits, after: dependencies) { arena in
      arena.put(try await operation((repeat (each sources).take(arena))), into: output)
    }
    return Node(builder: identity, reading: output)
  }

  /// Adds a procedure that is given nothing.
  ///
  /// - Parameters:
  ///   - procedure: What to execute.
  ///   - dependencies: What has to finish successfully before.
  /// - Returns: The value that it will produce.
  @discardableResult
  @inlinable
  public func add<P: Procedure>(
    _ procedure: P, after dependencies: [any GraphDependency] = []
  ) -> Node<P.Output> where P.Input == Void {
    let (traits, operation) = procedure.procedureTask.node
    let output = addSlot(for: P.Output.self)
    let function = memory.store(FunctionOfNone(operation, into: output))
    addStep(traits, after: dependencies, knowing: function) { pointer, arena in
      let function = pointer.assumingMemoryBound(to: FunctionOfNone<P.Output>.self)
      let value = try await function.pointee.operation(())
      arena.put(value, into: function.pointee.output)
    }
    return Node(builder: identity, reading: output)
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
  @inlinable
  public func add<each Value: Sendable, Output: Sendable>(
    _ name: String, from nodes: repeat Node<each Value>, after dependencies: [any GraphDependency] = [],
    operation: @escaping @concurrent @Sendable (repeat each Value) async throws -> Output
  ) -> Node<Output> {
    // `operation` is written as `@concurrent` because the compiler (Swift 6.3) crashes on closures of parameter packs
    // otherwise, in modules that have NonisolatedNonsendingByDefault.
    let (traits, output) = (NodeTraits(name: name), addSlot(for: Output.self))
    let sources = (repeat addInput(each nodes, of: traits))
    addStep(traits, after: dependencies) { arena in
      arena.put(try await operation(repeat (each sources).take(arena)), into: output)
    }
    return Node(builder: identity, reading: output)
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
  @inlinable
  public func add<Value, P: Procedure>(
    _ procedure: P, from nodes: [Node<Value>], after dependencies: [any GraphDependency] = []
  ) -> Node<P.Output> where P.Input == [Value] {
    let (traits, operation) = procedure.procedureTask.node
    let output = addSlot(for: P.Output.self)
    let sources = nodes.map { addInput($0, of: traits) }
    addStep(traits, after: dependencies) { arena in
      arena.put(try await operation(sources.map { $0.take(arena) }), into: output)
    }
    return Node(builder: identity, reading: output)
  }

  // MARK: Building

  func addInput<Value>(of type: Value.Type) -> Node<Value> {
    Node(builder: identity, reading: addSlot(for: Value.self))
  }

  /// A place for the value of the node that is to be added next.
  @inlinable
  func addSlot<Value>(for type: Value.Type) -> ValueSlot<Value> {
    var destroy: ValueLayout.Destroyer?
    if !_isPOD(Value.self) {
      destroy = { pointer in pointer.assumingMemoryBound(to: Value.self).deinitialize(count: 1) }
    }
    let (index, offset) = addSlot(
      size: MemoryLayout<Value>.size, alignment: MemoryLayout<Value>.alignment, destroy: destroy)
    return ValueSlot(index: index, offset: offset)
  }

  @usableFromInline
  func addSlot(size: Int, alignment: Int, destroy: ValueLayout.Destroyer?) -> (Int32, Int32) {
    draft.layout.addSlot(size: size, alignment: alignment, destroy: destroy)
  }

  /// Says what the node that is to be added next takes, and returns where that is.
  @inlinable
  func addInput<Value>(_ node: Node<Value>, of traits: NodeTraits) -> Node<Value>.Source {
    addInput(node.reference, of: traits)
    return node.source
  }

  @usableFromInline
  func addInput(_ node: NodeReference, of traits: NodeTraits) {
    requireOwn(node, for: traits.name)
    draft.addInput(node)
  }

  /// Adds a node, once its slot and its inputs have been.
  @usableFromInline
  func addStep(
    _ traits: NodeTraits, after dependencies: [any GraphDependency],
    body: @escaping @Sendable (ValueArena) async throws -> Void
  ) {
    addStep(traits, after: dependencies, knowing: memory.store(AnyFunction(execute: body))) { pointer, arena in
      try await pointer.assumingMemoryBound(to: AnyFunction.self).pointee.execute(arena)
    }
  }

  /// The same for a body that is told where what it has to know lies in `memory`.
  @usableFromInline
  func addStep(
    _ traits: NodeTraits, after dependencies: [any GraphDependency], knowing pointer: UnsafeRawPointer,
    body: @escaping NodeBody.Function
  ) {
    require(!isBuilt, "GraphBuilder of \"\(graphName)\": \"\(traits.name)\" was added after the graph had been made")
    for dependency in dependencies {
      let node = dependency.reference
      requireOwn(node, for: traits.name)
      draft.addDependency(node)
    }
    draft.addNode(traits, NodeBody(pointer: pointer, function: body))
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
    require(!draft.bodies.isEmpty, "ProcedureGraph \"\(graphName)\" has no nodes: add at least one")
    isBuilt = true
    if let output { requireOwn(output, for: "the result") }
    return draft.plan(output: output, memory: memory)
  }
}
