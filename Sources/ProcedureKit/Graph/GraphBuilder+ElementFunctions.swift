/// Work on the elements of an array, as functions. For procedures, see `GraphBuilder+Collections.swift`.
extension GraphBuilder {
  /// Adds a node that calls a function for each element of an array; see ``map(_:with:limit:onFailure:elementName:)``.
  ///
  /// ```swift
  /// let sizes = g.map(photos, named: "sizes") { photo in photo.size }
  /// ```
  ///
  /// The function never executes on the caller's actor. In errors, events and diagrams, an element has the name of the node
  /// with its index: `sizes[3]`.
  public func map<Element, Output: Sendable>(
    _ elements: Node<[Element]>, named name: String = "map", limit: Int = .max,
    onFailure policy: ElementFailurePolicy = .failFast, elementName: (@Sendable (Element) -> String)? = nil,
    operation: @escaping @concurrent @Sendable (Element) async throws -> Output
  ) -> Node<[Output]> {
    add(
      ElementWork(ProcedureTask(name, operation: operation), limit: limit, policy: policy, elementName: elementName)
        .task, from: elements)
  }

  /// Adds a node like ``map(_:named:limit:onFailure:elementName:operation:)`` that omits every `nil`.
  public func compactMap<Element, Output: Sendable>(
    _ elements: Node<[Element]>, named name: String = "compactMap", limit: Int = .max,
    onFailure policy: ElementFailurePolicy = .failFast, elementName: (@Sendable (Element) -> String)? = nil,
    operation: @escaping @concurrent @Sendable (Element) async throws -> Output?
  ) -> Node<[Output]> {
    let work = ElementWork(
      ProcedureTask(name, operation: operation), limit: limit, policy: policy, elementName: elementName)
    return add(work.task.map { $0.compactMap(\.self) }, from: elements)
  }

  /// Adds a node like ``map(_:named:limit:onFailure:elementName:operation:)`` that keeps the elements for which a function returns
  /// `true`, in their order.
  public func filter<Element>(
    _ elements: Node<[Element]>, named name: String = "filter", limit: Int = .max,
    onFailure policy: ElementFailurePolicy = .failFast, elementName: (@Sendable (Element) -> String)? = nil,
    isKept: @escaping @concurrent @Sendable (Element) async throws -> Bool
  ) -> Node<[Element]> {
    let work = ElementWork(
      keeping: ProcedureTask(name, operation: isKept), limit: limit, policy: policy, elementName: elementName)
    return add(work.task.map { $0.compactMap(\.self) }, from: elements)
  }
}
