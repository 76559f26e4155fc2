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
    let task = predicate.procedureTask
    let verdict = ProcedureTask<Element, Element?>(name: task.name, priority: task.priority) { element in
      try await task.execute(element) ? element : nil
    }
    let work = ElementWork(verdict, limit: limit, policy: policy)
    return add(work.task.named("filter \(task.name)").map { $0.compactMap(\.self) }, from: elements)
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
}
