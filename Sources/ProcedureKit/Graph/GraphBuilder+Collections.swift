extension GraphBuilder {
  /// Adds a node that executes a procedure for each element of an array. The length of the array is only known when the
  /// graph runs.
  ///
  /// - Parameters:
  ///   - elements: The node with the array.
  ///   - procedure: The procedure for each element. Elements execute concurrently, within `limit` and the width of the
  ///     queue.
  ///   - limit: The largest number of concurrent elements. A value below 1 traps.
  ///   - policy: The response to the failure of an element.
  ///   - elementName: Returns the name of an element in errors, events and diagrams. `nil` uses the name of the procedure with the index of the
  ///     element: `resize[3]`.
  /// - Returns: A node with the values, in the order of the elements.
  public func map<Element, P: Procedure>(
    _ elements: Node<[Element]>, with procedure: P, limit: Int = .max,
    onFailure policy: ElementFailurePolicy = .failFast, elementName: (@Sendable (Element) -> String)? = nil
  ) -> Node<[P.Output]> where P.Input == Element {
    let work = ElementWork(procedure.procedureTask, limit: limit, policy: policy, elementName: elementName)
    return add(work.task.named("map \(work.task.name)"), from: elements)
  }

  /// Adds a node like ``map(_:with:limit:onFailure:elementName:)`` that omits every `nil`.
  public func compactMap<Element, Output, P: Procedure>(
    _ elements: Node<[Element]>, with procedure: P, limit: Int = .max,
    onFailure policy: ElementFailurePolicy = .failFast, elementName: (@Sendable (Element) -> String)? = nil
  ) -> Node<[Output]> where P.Input == Element, P.Output == Output? {
    let work = ElementWork(procedure.procedureTask, limit: limit, policy: policy, elementName: elementName)
    return add(work.task.named("compactMap \(work.task.name)").map { $0.compactMap(\.self) }, from: elements)
  }

  /// Adds a node like ``map(_:with:limit:onFailure:elementName:)`` that keeps the elements for which a procedure returns `true`, in their
  /// order.
  public func filter<Element, P: Procedure>(
    _ elements: Node<[Element]>, with predicate: P, limit: Int = .max,
    onFailure policy: ElementFailurePolicy = .failFast, elementName: (@Sendable (Element) -> String)? = nil
  ) -> Node<[Element]> where P.Input == Element, P.Output == Bool {
    let work = ElementWork(keeping: predicate.procedureTask, limit: limit, policy: policy, elementName: elementName)
    return add(work.task.named("filter \(work.task.name)").map { $0.compactMap(\.self) }, from: elements)
  }

  /// Adds a node that combines the elements of an array, one after another in their order.
  ///
  /// - Parameters:
  ///   - elements: The node with the array.
  ///   - initial: The first partial result.
  ///   - name: The name of the node in errors, events and diagrams.
  ///   - combine: Returns the next partial result, given the previous one and an element.
  /// - Returns: A node with the last partial result; `initial` for an empty array.
  public func reduce<Element, Partial: Sendable>(
    _ elements: Node<[Element]>, _ initial: Partial, named name: String = "reduce",
    _ combine: @escaping @concurrent @Sendable (Partial, Element) async throws -> Partial
  ) -> Node<Partial> {
    let task = ProcedureTask(name) { (elements: [Element]) in
      var partial = initial
      for element in elements {
        try ProcedureContext.checkCancellation()
        partial = try await combine(partial, element)
      }
      return partial
    }
    return add(task, from: elements)
  }

  // MARK: Constants and arrays of nodes

  /// Adds a procedure whose input is the same value in every run of the graph; see ``add(_:from:after:)-(_,Node<P.Input>,[GraphDependency])``.
  @discardableResult
  @inlinable
  public func add<P: Procedure>(
    _ procedure: P, input: P.Input, after dependencies: [any GraphDependency] = []
  ) -> Node<P.Output> {
    let (traits, operation) = procedure.procedureTask.node
    let output = addSlot(for: P.Output.self)
    addStep(traits, after: dependencies) { values in
      values.put(try await operation(input), into: output)
    }
    return Node(builder: identity, reading: output)
  }

  /// Adds a function of the values of an array of nodes, in their order; the array can be empty. See
  /// ``add(_:from:after:operation:)-(_,Node<Value>,[GraphDependency],_)``.
  @discardableResult
  public func add<Value, Output: Sendable>(
    _ name: String, from nodes: [Node<Value>], after dependencies: [any GraphDependency] = [],
    operation: @escaping @concurrent @Sendable ([Value]) async throws -> Output
  ) -> Node<Output> {
    add(ProcedureTask(name, operation: operation), from: nodes, after: dependencies)
  }
}
