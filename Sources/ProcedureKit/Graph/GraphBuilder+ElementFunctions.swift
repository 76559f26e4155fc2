/// Work on the elements of an array, as functions; see `GraphBuilder+Collections.swift` for procedures.
extension GraphBuilder {
  /// Adds a function that is called for each element of an array whose length is known only when the graph runs.
  ///
  /// ```swift
  /// let sizes = g.map(photos, named: "sizes") { photo in photo.size }
  /// ```
  ///
  /// - Parameters:
  ///   - elements: The node that produces the array.
  ///   - name: What errors, events and diagrams call the node; with the index of an element, `sizes[3]`, its work.
  ///   - limit: How many at once; at least 1, or this traps.
  ///   - policy: What becomes of the whole when one fails.
  ///   - operation: The work on one element. Never executes on the caller's actor.
  /// - Returns: The results, in the order of the elements.
  public func map<Element, Output: Sendable>(
    _ elements: Node<[Element]>, named name: String = "map", limit: Int = .max,
    onFailure policy: ElementFailurePolicy = .failFast,
    operation: @escaping @concurrent @Sendable (Element) async throws -> Output
  ) -> Node<[Output]> {
    add(ElementWork(ProcedureTask(name, operation: operation), limit: limit, policy: policy).task, from: elements)
  }

  /// Adds a function like that of ``map(_:named:limit:onFailure:operation:)``, and leaves out every `nil`.
  ///
  /// - Parameters:
  ///   - elements: The node that produces the array.
  ///   - name: What errors, events and diagrams call the node, and with its index the work on an element.
  ///   - limit: How many at once; at least 1, or this traps.
  ///   - policy: What becomes of the whole when one fails.
  ///   - operation: The work on one element. Never executes on the caller's actor.
  /// - Returns: The results that are not `nil`, in the order of the elements.
  public func compactMap<Element, Output: Sendable>(
    _ elements: Node<[Element]>, named name: String = "compactMap", limit: Int = .max,
    onFailure policy: ElementFailurePolicy = .failFast,
    operation: @escaping @concurrent @Sendable (Element) async throws -> Output?
  ) -> Node<[Output]> {
    let work = ElementWork(ProcedureTask(name, operation: operation), limit: limit, policy: policy)
    return add(work.task.map { $0.compactMap(\.self) }, from: elements)
  }

  /// Adds a node that keeps the elements for which a function returns `true`.
  ///
  /// - Parameters:
  ///   - elements: The node that produces the array.
  ///   - name: What errors, events and diagrams call the node, and with its index the work on an element.
  ///   - limit: How many at once; at least 1, or this traps.
  ///   - policy: What becomes of the whole when one fails.
  ///   - isKept: Says whether an element is kept. Never executes on the caller's actor.
  /// - Returns: The elements that are kept, in their order.
  public func filter<Element>(
    _ elements: Node<[Element]>, named name: String = "filter", limit: Int = .max,
    onFailure policy: ElementFailurePolicy = .failFast,
    isKept: @escaping @concurrent @Sendable (Element) async throws -> Bool
  ) -> Node<[Element]> {
    let work = ElementWork(keeping: ProcedureTask(name, operation: isKept), limit: limit, policy: policy)
    return add(work.task.map { $0.compactMap(\.self) }, from: elements)
  }
}
