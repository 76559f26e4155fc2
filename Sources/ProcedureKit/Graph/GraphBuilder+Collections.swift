extension GraphBuilder {
  /// Adds a node that executes a procedure for each element of an array whose length is known only when the graph runs.
  ///
  /// - Parameters:
  ///   - elements: The node that produces the array.
  ///   - procedure: What to execute for each element; all at once, within the limits of this call, the graph's queue and
  ///     nothing else.
  ///   - limit: How many at once; at least 1, or this traps.
  ///   - policy: What becomes of the whole when one fails.
  /// - Returns: The results, in the order of the elements.
  public func map<Element, P: Procedure>(
    _ elements: Node<[Element]>, with procedure: P, limit: Int = .max,
    onFailure policy: ElementFailurePolicy = .failFast
  ) -> Node<[P.Output]> where P.Input == Element {
    let work = ElementWork(procedure.procedureTask, limit: limit, policy: policy)
    return add(work.task.named("map \(work.task.name)"), from: elements)
  }

  /// Adds a node like ``map(_:with:limit:onFailure:)`` that leaves out every `nil`.
  ///
  /// - Parameters:
  ///   - elements: The node that produces the array.
  ///   - procedure: What to execute for each element.
  ///   - limit: How many at once; at least 1, or this traps.
  ///   - policy: What becomes of the whole when one fails.
  /// - Returns: The results that are not `nil`, in the order of the elements.
  public func compactMap<Element, Output, P: Procedure>(
    _ elements: Node<[Element]>, with procedure: P, limit: Int = .max,
    onFailure policy: ElementFailurePolicy = .failFast
  ) -> Node<[Output]> where P.Input == Element, P.Output == Output? {
    let work = ElementWork(procedure.procedureTask, limit: limit, policy: policy)
    return add(work.task.named("compactMap \(work.task.name)").map { $0.compactMap(\.self) }, from: elements)
  }

  /// Adds a node that keeps the elements for which a procedure returns `true`.
  ///
  /// - Parameters:
  ///   - elements: The node that produces the array.
  ///   - predicate: What to execute for each element.
  ///   - limit: How many at once; at least 1, or this traps.
  ///   - policy: What becomes of the whole when one fails.
  /// - Returns: The elements that are kept, in their order.
  public func filter<Element, P: Procedure>(
    _ elements: Node<[Element]>, with predicate: P, limit: Int = .max,
    onFailure policy: ElementFailurePolicy = .failFast
  ) -> Node<[Element]> where P.Input == Element, P.Output == Bool {
    let work = ElementWork(keeping: predicate.procedureTask, limit: limit, policy: policy)
    return add(work.task.named("filter \(work.task.name)").map { $0.compactMap(\.self) }, from: elements)
  }

  /// Adds a node that combines the elements of an array, one after the other in their order.
  ///
  /// - Parameters:
  ///   - elements: The node that produces the array.
  ///   - initial: What to begin with.
  ///   - name: What errors, events and diagrams call the node.
  ///   - combine: Given what there is so far and the next element.
  /// - Returns: What `combine` returned last, or `initial` for an empty array.
  public func reduce<Element, Partial: Sendable>(
    _ elements: Node<[Element]>, _ initial: Partial, named name: String = "reduce",
    _ combine: @escaping @concurrent @Sendable (Partial, Element) async throws -> Partial
  ) -> Node<Partial> {
    let task = ProcedureTask(name) { (elements: [Element]) in
      var partial = initial
      for element in elements {
        try Task.checkCancellation()
        partial = try await combine(partial, element)
      }
      return partial
    }
    return add(task, from: elements)
  }

  // MARK: What is known beforehand, and arrays of nodes

  /// Adds a procedure that is given a value that is known when the graph is built.
  ///
  /// - Parameters:
  ///   - procedure: What to execute.
  ///   - input: What it is given in every run of the graph.
  ///   - dependencies: What has to finish successfully before.
  /// - Returns: The value that it will produce.
  @discardableResult
  public func add<P: Procedure>(
    _ procedure: P, input: P.Input, after dependencies: [any GraphDependency] = []
  ) -> Node<P.Output> {
    let task = procedure.procedureTask
    return add(
      ProcedureTask<Void, P.Output>(task.name, priority: task.priority) { _ in
        try await task.executeAsLevel(input)
      },
      after: dependencies)
  }

  /// Adds a function of the values of many nodes of one type, in their order.
  ///
  /// - Parameters:
  ///   - name: What errors, events and diagrams call it.
  ///   - nodes: Where the values come from; it may be none.
  ///   - dependencies: What else has to finish successfully before.
  ///   - operation: The work. Never executes on the caller's actor.
  /// - Returns: The value that it will produce.
  @discardableResult
  public func add<Value, Output: Sendable>(
    _ name: String, from nodes: [Node<Value>], after dependencies: [any GraphDependency] = [],
    operation: @escaping @concurrent @Sendable ([Value]) async throws -> Output
  ) -> Node<Output> {
    add(ProcedureTask(name, operation: operation), from: nodes, after: dependencies)
  }
}
