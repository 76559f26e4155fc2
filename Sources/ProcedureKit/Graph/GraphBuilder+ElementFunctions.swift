/// Work on the elements of an array, as functions. For procedures, see `GraphBuilder+Collections.swift`.
extension GraphBuilder {
  /// Adds a node that calls a function for each element of an array. The length of the array is only known when the
  /// graph runs.
  ///
  /// ```swift
  /// let sizes = g.map(photos, named: "sizes") { photo in photo.size }
  /// ```
  ///
  /// - Parameters:
  ///   - elements: The node with the array.
  ///   - name: The name of the node in errors, events and diagrams. An element has the name with its index: `sizes[3]`.
  ///   - limit: The largest number of concurrent elements. A value below 1 traps.
  ///   - policy: The response to the failure of an element.
  ///   - operation: The function for one element, which never executes on the caller's actor.
  /// - Returns: A node with the values, in the order of the elements.
  public func map<Element, Output: Sendable>(
    _ elements: Node<[Element]>, named name: String = "map", limit: Int = .max,
    onFailure policy: ElementFailurePolicy = .failFast,
    operation: @escaping @concurrent @Sendable (Element) async throws -> Output
  ) -> Node<[Output]> {
    add(ElementWork(ProcedureTask(name, operation: operation), limit: limit, policy: policy).task, from: elements)
  }

  /// Adds a node like ``map(_:named:limit:onFailure:operation:)`` that omits every `nil`.
  ///
  /// - Parameters:
  ///   - elements: The node with the array.
  ///   - name: The name of the node in errors, events and diagrams. An element has the name with its index.
  ///   - limit: The largest number of concurrent elements. A value below 1 traps.
  ///   - policy: The response to the failure of an element.
  ///   - operation: The function for one element, which never executes on the caller's actor.
  /// - Returns: A node with the values that are not `nil`, in the order of the elements.
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
  ///   - elements: The node with the array.
  ///   - name: The name of the node in errors, events and diagrams. An element has the name with its index.
  ///   - limit: The largest number of concurrent elements. A value below 1 traps.
  ///   - policy: The response to the failure of an element.
  ///   - isKept: Returns whether to keep an element, and never executes on the caller's actor.
  /// - Returns: A node with the remaining elements, in their order.
  public func filter<Element>(
    _ elements: Node<[Element]>, named name: String = "filter", limit: Int = .max,
    onFailure policy: ElementFailurePolicy = .failFast,
    isKept: @escaping @concurrent @Sendable (Element) async throws -> Bool
  ) -> Node<[Element]> {
    let work = ElementWork(keeping: ProcedureTask(name, operation: isKept), limit: limit, policy: policy)
    return add(work.task.map { $0.compactMap(\.self) }, from: elements)
  }
}
