/// An object that adds nodes to a ``ProcedureGraph`` while the graph is being built.
///
/// Every `add` function returns a ``Node``, which represents a future value. A builder is valid until the closure that received it returns.
/// Calling `add` later traps, as does passing a node from another builder.
public final class GraphBuilder {
  /// The identity that the builder uses to recognize its own nodes.
  @usableFromInline let identity = ProcedureID.reserve()
  let graphName: String
  // Invariant: no function of the draft calls the builder or the user's code, so accesses to the draft never overlap. A builder cannot be
  // sent to another task while it is in use. Checking this at run time would account for a fifth of the time that it takes to build a
  // graph.
  @exclusivity(unchecked) private var draft = GraphDraft()
  private var isBuilt = false

  @usableFromInline
  init(graphName: String) {
    self.graphName = graphName
  }

  // MARK: Adding

  /// Adds a procedure whose input is the value of one node.
  ///
  /// - Parameters:
  ///   - procedure: The procedure to execute.
  ///   - node: The node whose value is the input.
  ///   - dependencies: Further nodes that must finish successfully first.
  /// - Returns: A node with the value of the procedure.
  @discardableResult
  @inlinable
  public func add<P: Procedure>(
    _ procedure: P, from node: Node<P.Input>, after dependencies: [any GraphDependency] = []
  ) -> Node<P.Output> {
    let (traits, operation) = procedure.procedureTask.node
    let (source, output) = (node.source, addSlot(for: P.Output.self, of: traits.name, node.reference))
    addStep(traits, after: dependencies) { values in
      values.put(try await operation(source.take(values)), into: output)
    }
    return Node(builder: identity, reading: output)
  }

  /// Adds a procedure whose input is a tuple of values from several nodes.
  ///
  /// See ``add(_:from:after:)-(_,Node<P.Input>,[GraphDependency])``.
  @discardableResult
  @inlinable
  @_disfavoredOverload  // The compiler (Swift 6.3) would crash instead of rejecting a call with one node.
  public func add<First: Sendable, each Rest: Sendable, P: Procedure>(
    _ procedure: P, from first: Node<First>, _ rest: repeat Node<each Rest>,
    after dependencies: [any GraphDependency] = []
  ) -> Node<P.Output> where P.Input == (First, repeat each Rest) {
    // The first node is a separate parameter because the compiler (Swift 6.3) would otherwise crash, instead of reporting an error, if no
    // function matches a call.
    addTask(procedure.procedureTask, from: first, repeat each rest, after: dependencies)
  }

  /// Adds a task whose input is a tuple of values from several nodes.
  ///
  /// Unlike `add`, this function has no separate parameter for the first node, because the compiler (Swift 6.3) miscompiles a tuple that
  /// consists of one value and a pack of values.
  @inlinable
  func addTask<each Value: Sendable, Output: Sendable>(
    _ task: ProcedureTask<(repeat each Value), Output>, from nodes: repeat Node<each Value>,
    after dependencies: [any GraphDependency]
  ) -> Node<Output> {
    let (traits, operation) = task.node
    let output = addSlot(for: Output.self)
    let sources = (repeat addInput(each nodes, of: traits))
    addStep(traits, after: dependencies) { values in
      values.put(try await operation((repeat (each sources).take(values))), into: output)
    }
    return Node(builder: identity, reading: output)
  }

  /// Adds a procedure that has no input. See ``add(_:from:after:)-(_,Node<P.Input>,[GraphDependency])``.
  @discardableResult
  @inlinable
  public func add<P: Procedure>(
    _ procedure: P, after dependencies: [any GraphDependency] = []
  ) -> Node<P.Output> where P.Input == Void {
    add(procedure, input: (), after: dependencies)
  }

  /// Adds a node that calls a function with the values of any number of nodes.
  ///
  /// - Parameters:
  ///   - name: The name of the node in errors, events and diagrams.
  ///   - nodes: The nodes whose values are the arguments.
  ///   - dependencies: Further nodes that must finish successfully first.
  ///   - operation: The function, which never executes on the caller's actor.
  /// - Returns: A node with the value of the function.
  @discardableResult
  @inlinable
  public func add<each Value: Sendable, Output: Sendable>(
    _ name: String, from nodes: repeat Node<each Value>, after dependencies: [any GraphDependency] = [],
    operation: @escaping @concurrent @Sendable (repeat each Value) async throws -> Output
  ) -> Node<Output> {
    // Without the explicit `@concurrent` on `operation`, the compiler (Swift 6.3) crashes on closures over parameter packs in modules that
    // enable NonisolatedNonsendingByDefault.
    let (traits, output) = (NodeTraits(name: name), addSlot(for: Output.self))
    let sources = (repeat addInput(each nodes, of: traits))
    addStep(traits, after: dependencies) { values in
      values.put(try await operation(repeat (each sources).take(values)), into: output)
    }
    return Node(builder: identity, reading: output)
  }

  /// Adds a node that gathers the values of several nodes into an array, in the order of `nodes`.
  ///
  /// - Parameters:
  ///   - name: The name of the node in errors, events and diagrams.
  ///   - nodes: The nodes whose values are gathered.
  /// - Returns: A node whose value is the array of these values.
  public func add<Value: Sendable>(_ name: String = "gather", from nodes: [Node<Value>]) -> Node<[Value]> {
    add(ProcedureTask(name) { (values: [Value]) in values }, from: nodes)
  }

  /// Adds a procedure whose input is an array of the values of `nodes`, in order. The array can be empty.
  ///
  /// See ``add(_:from:after:)-(_,Node<P.Input>,[GraphDependency])``.
  @discardableResult
  @inlinable
  public func add<Value, P: Procedure>(
    _ procedure: P, from nodes: [Node<Value>], after dependencies: [any GraphDependency] = []
  ) -> Node<P.Output> where P.Input == [Value] {
    let (traits, operation) = procedure.procedureTask.node
    let output = addSlot(for: P.Output.self)
    let sources = nodes.map { addInput($0, of: traits) }
    addStep(traits, after: dependencies) { values in
      values.put(try await operation(sources.map { $0.take(values) }), into: output)
    }
    return Node(builder: identity, reading: output)
  }

  // MARK: Building

  @inlinable
  func addInput<Value>(of type: Value.Type) -> Node<Value> {
    Node(builder: identity, reading: addSlot(for: Value.self))
  }

  /// Reserves a slot for the next node's value and adds up to three inputs to the node.
  @inlinable
  func addSlot<Value>(
    for type: Value.Type, of name: String = "", _ a: NodeReference? = nil, _ b: NodeReference? = nil,
    _ c: NodeReference? = nil
  ) -> ValueSlot<Value> {
    let slot = addSlot(ValueKind(of: Value.self), of: name, a, b, c)
    return ValueSlot(index: slot.index, offset: slot.offset)
  }

  @usableFromInline
  func addSlot(
    _ kind: ValueKind, of name: String, _ a: NodeReference?, _ b: NodeReference?, _ c: NodeReference?
  ) -> (index: Int32, offset: Int32) {
    if let a { addInput(a, of: name) }
    if let b { addInput(b, of: name) }
    if let c { addInput(c, of: name) }
    return draft.addSlot(kind)
  }

  /// Adds an input to the next node and returns the source of the input's value.
  @inlinable
  func addInput<Value>(_ node: Node<Value>, of traits: NodeTraits) -> Node<Value>.Source {
    addInput(node.reference, of: traits.name)
    return node.source
  }

  @usableFromInline
  func addInput(_ node: NodeReference, of name: String) {
    requireOwn(node, for: name)
    draft.addInput(node)
  }

  /// Adds a node whose slot and inputs have already been added.
  @usableFromInline
  func addStep(
    _ traits: NodeTraits, after dependencies: [any GraphDependency],
    body: @escaping @Sendable (GraphValues) async throws -> Void
  ) {
    require(!isBuilt, "GraphBuilder of \"\(graphName)\": \"\(traits.name)\" was added after the graph was built")
    for dependency in dependencies {
      let node = dependency.reference
      requireOwn(node, for: traits.name)
      draft.addDependency(node)
    }
    draft.addNode(traits, NodeBody(execute: body))
  }

  /// Adds the procedure that computes the values of all keys of one type.
  func addKeys<Key>(_ procedure: KeyProcedure<Key>) {
    require(!isBuilt, "GraphBuilder of \"\(graphName)\": values were declared after the graph was built")
    require(
      !draft.keyed.contains { $0 is KeyProcedure<Key> },
      "GraphBuilder of \"\(graphName)\": the values for \"\(Key.self)\" were declared twice")
    draft.keyed.append(procedure)
  }

  private func requireOwn(_ node: NodeReference, for name: String) {
    require(
      node.builder == identity,
      "GraphBuilder of \"\(graphName)\": \"\(name)\" was given a node from another graph; "
        + "pass the value of that node as this graph's input, or add the other graph as a procedure")
  }

  /// Finishes building the graph.
  ///
  /// - Parameters:
  ///   - outputs: The nodes whose values form the value of the graph; empty for a graph without a value.
  ///   - collection: The name of the `map` node whose elements are the nodes of this graph, if any.
  /// - Returns: The plan that every run of the graph uses.
  func finish(outputs: [NodeReference], elementsOf collection: String?) -> GraphPlan {
    isBuilt = true
    for output in outputs { requireOwn(output, for: "the result") }
    return draft.plan(outputs: outputs, elementsOf: collection)
  }
}

/// Specializations of the general `add` function for one, two and three inputs, with the same behaviour. Because these functions have no
/// parameter packs, the compiler knows all types in the caller's code, and the runtime does not have to look up any types.
extension GraphBuilder {
  /// Adds a node that calls a function with the value of one node.
  ///
  /// See ``add(_:from:after:operation:)-(_,Node<Value>,[GraphDependency],_)``.
  @discardableResult
  @inlinable
  public func add<A: Sendable, Output: Sendable>(
    _ name: String, from a: Node<A>, after dependencies: [any GraphDependency] = [],
    operation: @escaping @concurrent @Sendable (A) async throws -> Output
  ) -> Node<Output> {
    let output = addSlot(for: Output.self, of: name, a.reference)
    let a = a.source
    addStep(NodeTraits(name: name), after: dependencies) { values in
      values.put(try await operation(a.take(values)), into: output)
    }
    return Node(builder: identity, reading: output)
  }

  /// Adds a node that calls a function with the values of two nodes.
  ///
  /// See ``add(_:from:after:operation:)-(_,Node<Value>,[GraphDependency],_)``.
  @discardableResult
  @inlinable
  public func add<A: Sendable, B: Sendable, Output: Sendable>(
    _ name: String, from a: Node<A>, _ b: Node<B>, after dependencies: [any GraphDependency] = [],
    operation: @escaping @concurrent @Sendable (A, B) async throws -> Output
  ) -> Node<Output> {
    let output = addSlot(for: Output.self, of: name, a.reference, b.reference)
    let (a, b) = (a.source, b.source)
    addStep(NodeTraits(name: name), after: dependencies) { values in
      values.put(try await operation(a.take(values), b.take(values)), into: output)
    }
    return Node(builder: identity, reading: output)
  }

  /// Adds a node that calls a function with the values of three nodes.
  ///
  /// See ``add(_:from:after:operation:)-(_,Node<Value>,[GraphDependency],_)``.
  @discardableResult
  @inlinable
  public func add<A: Sendable, B: Sendable, C: Sendable, Output: Sendable>(
    _ name: String, from a: Node<A>, _ b: Node<B>, _ c: Node<C>, after dependencies: [any GraphDependency] = [],
    operation: @escaping @concurrent @Sendable (A, B, C) async throws -> Output
  ) -> Node<Output> {
    let output = addSlot(for: Output.self, of: name, a.reference, b.reference, c.reference)
    let (a, b, c) = (a.source, b.source, c.source)
    addStep(NodeTraits(name: name), after: dependencies) { values in
      values.put(try await operation(a.take(values), b.take(values), c.take(values)), into: output)
    }
    return Node(builder: identity, reading: output)
  }
}
