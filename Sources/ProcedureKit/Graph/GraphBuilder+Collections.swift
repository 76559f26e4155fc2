extension GraphBuilder {
  /// Adds a node that executes a procedure for each element of an array whose length is known only when the graph runs.
  ///
  /// - Parameters:
  ///   - elements: The node whose value is the array.
  ///   - procedure: The procedure for each element. Elements execute concurrently, limited by `maxConcurrentElements` and the width of the
  ///     queue.
  ///   - limit: The maximum number of concurrent elements. Passing a value below 1 traps.
  ///   - policy: The policy that applies if an element fails.
  ///   - elementName: A function that returns the name of an element in errors, events and diagrams; `nil` to use the name of the procedure
  ///     followed by the index of the element, as in `resize[3]`.
  /// - Returns: A node with the values, in the order of the elements.
  @inlinable
  public func map<Element, P: Procedure>(
    _ elements: Node<[Element]>, with procedure: P, maxConcurrentElements limit: Int = .max,
    onFailure policy: FailurePolicy = .failFast, elementName: (@Sendable (Element) -> String)? = nil
  ) -> Node<[P.Output]> where P.Input == Element {
    let work = ElementWork(procedure.procedureTask, limit: limit, policy: policy, elementName: elementName)
    return add(work.task.named("map \(work.task.name)"), from: elements)
  }

  /// Adds a node that works like ``map(_:with:maxConcurrentElements:onFailure:elementName:)``, but omits every `nil` result.
  public func compactMap<Element, Output, P: Procedure>(
    _ elements: Node<[Element]>, with procedure: P, maxConcurrentElements limit: Int = .max,
    onFailure policy: FailurePolicy = .failFast, elementName: (@Sendable (Element) -> String)? = nil
  ) -> Node<[Output]> where P.Input == Element, P.Output == Output? {
    let work = ElementWork(procedure.procedureTask, limit: limit, policy: policy, elementName: elementName)
    return add(work.task.named("compactMap \(work.task.name)").map { $0.compactMap(\.self) }, from: elements)
  }

  /// Adds a node that keeps the elements for which a procedure returns `true`, in their original order; see
  /// ``map(_:with:maxConcurrentElements:onFailure:elementName:)``.
  public func filter<Element, P: Procedure>(
    _ elements: Node<[Element]>, with predicate: P, maxConcurrentElements limit: Int = .max,
    onFailure policy: FailurePolicy = .failFast, elementName: (@Sendable (Element) -> String)? = nil
  ) -> Node<[Element]> where P.Input == Element, P.Output == Bool {
    let work = ElementWork(keeping: predicate.procedureTask, limit: limit, policy: policy, elementName: elementName)
    return add(work.task.named("filter \(work.task.name)").map { $0.compactMap(\.self) }, from: elements)
  }

  /// Adds a node that combines the elements of an array, one at a time and in order.
  ///
  /// - Parameters:
  ///   - name: The name of the node in errors, events and diagrams.
  ///   - elements: The node whose value is the array.
  ///   - initial: The first partial result.
  ///   - combine: A function that returns the next partial result, given the previous one and an element.
  /// - Returns: A node with the last partial result, which is `initial` if the array is empty.
  public func reduce<Element, Partial: Sendable>(
    _ name: String, _ elements: Node<[Element]>, _ initial: Partial,
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

  /// Adds a node with the name `reduce` that combines the elements of an array; see ``reduce(_:_:_:_:)``.
  public func reduce<Element, Partial: Sendable>(
    _ elements: Node<[Element]>, _ initial: Partial,
    _ combine: @escaping @concurrent @Sendable (Partial, Element) async throws -> Partial
  ) -> Node<Partial> {
    reduce("reduce", elements, initial, combine)
  }

  /// Adds a node for each element of an array. All of these nodes execute the same task.
  ///
  /// The function is inlinable so that the compiler can specialize it in the client's module, where the types are known. Otherwise, the
  /// runtime would look up the types for each element.
  @inlinable
  func add<Element, Output>(
    _ task: ProcedureTask<Element, Output>, forEach elements: [Element], elementName: (@Sendable (Element) -> String)?
  ) -> [Node<Output>] {
    let (traits, operation) = task.node
    var nodes: [Node<Output>] = []
    nodes.reserveCapacity(elements.count)
    for index in elements.indices {
      let element = elements[index]
      let output = addSlot(for: Output.self)
      addStep(traits.ofElement(index, named: elementName?(element)), after: []) { values in
        values.put(try await operation(element), into: output)
      }
      nodes.append(Node(builder: identity, reading: output))
    }
    return nodes
  }

  // MARK: Constants and arrays of nodes

  /// Adds a procedure whose input is the same value in every run of the graph; see
  /// ``add(_:from:after:)-(_,Node<P.Input>,[GraphDependency])``.
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

  /// Adds a node that calls a function with the values of the nodes in an array, in the order of the array. The array can be empty.
  ///
  /// See ``add(_:from:after:operation:)-(_,Node<Value>,[GraphDependency],_)``.
  @discardableResult
  public func add<Value, Output: Sendable>(
    _ name: String, from nodes: [Node<Value>], after dependencies: [any GraphDependency] = [],
    operation: @escaping @concurrent @Sendable ([Value]) async throws -> Output
  ) -> Node<Output> {
    add(ProcedureTask(name, operation: operation), from: nodes, after: dependencies)
  }
}

/// Nodes that call a function for each element of an array, instead of executing a procedure.
extension GraphBuilder {
  /// Adds a node that calls a function for each element of an array; see ``map(_:with:maxConcurrentElements:onFailure:elementName:)``.
  ///
  /// ```swift
  /// let sizes = g.map("sizes", photos) { photo in photo.size }
  /// ```
  ///
  /// The function never executes on the caller's actor. In errors, events and diagrams, the name of an element is the name of the node
  /// followed by the element's index, as in `sizes[3]`.
  @inlinable
  public func map<Element, Output: Sendable>(
    _ name: String, _ elements: Node<[Element]>, maxConcurrentElements limit: Int = .max,
    onFailure policy: FailurePolicy = .failFast, elementName: (@Sendable (Element) -> String)? = nil,
    operation: @escaping @concurrent @Sendable (Element) async throws -> Output
  ) -> Node<[Output]> {
    add(
      ElementWork(ProcedureTask(name, operation: operation), limit: limit, policy: policy, elementName: elementName)
        .task, from: elements)
  }

  /// Adds a node that works like ``map(_:_:maxConcurrentElements:onFailure:elementName:operation:)``, but omits every `nil` result.
  public func compactMap<Element, Output: Sendable>(
    _ name: String, _ elements: Node<[Element]>, maxConcurrentElements limit: Int = .max,
    onFailure policy: FailurePolicy = .failFast, elementName: (@Sendable (Element) -> String)? = nil,
    operation: @escaping @concurrent @Sendable (Element) async throws -> Output?
  ) -> Node<[Output]> {
    let work = ElementWork(
      ProcedureTask(name, operation: operation), limit: limit, policy: policy, elementName: elementName)
    return add(work.task.map { $0.compactMap(\.self) }, from: elements)
  }

  /// Adds a node that keeps the elements for which a function returns `true`, in their original order; see
  /// ``map(_:_:maxConcurrentElements:onFailure:elementName:operation:)``.
  public func filter<Element>(
    _ name: String, _ elements: Node<[Element]>, maxConcurrentElements limit: Int = .max,
    onFailure policy: FailurePolicy = .failFast, elementName: (@Sendable (Element) -> String)? = nil,
    isKept: @escaping @concurrent @Sendable (Element) async throws -> Bool
  ) -> Node<[Element]> {
    let work = ElementWork(
      keeping: ProcedureTask(name, operation: isKept), limit: limit, policy: policy, elementName: elementName)
    return add(work.task.map { $0.compactMap(\.self) }, from: elements)
  }
}

/// Variants without a name: `g.map(photos) { … }` is short for `g.map("map", photos) { … }`.
extension GraphBuilder {
  /// Adds a node that calls a function for each element of an array; see
  /// ``map(_:_:maxConcurrentElements:onFailure:elementName:operation:)``.
  @inlinable
  public func map<Element, Output: Sendable>(
    _ elements: Node<[Element]>, maxConcurrentElements limit: Int = .max, onFailure policy: FailurePolicy = .failFast,
    elementName: (@Sendable (Element) -> String)? = nil,
    operation: @escaping @concurrent @Sendable (Element) async throws -> Output
  ) -> Node<[Output]> {
    map(
      "map", elements, maxConcurrentElements: limit, onFailure: policy, elementName: elementName, operation: operation)
  }

  /// Adds a node that calls a function for each element of an array, and omits every `nil` result; see
  /// ``map(_:_:maxConcurrentElements:onFailure:elementName:operation:)``.
  public func compactMap<Element, Output: Sendable>(
    _ elements: Node<[Element]>, maxConcurrentElements limit: Int = .max, onFailure policy: FailurePolicy = .failFast,
    elementName: (@Sendable (Element) -> String)? = nil,
    operation: @escaping @concurrent @Sendable (Element) async throws -> Output?
  ) -> Node<[Output]> {
    compactMap(
      "compactMap", elements, maxConcurrentElements: limit, onFailure: policy, elementName: elementName,
      operation: operation)
  }

  /// Adds a node that keeps the elements for which a function returns `true`; see
  /// ``map(_:_:maxConcurrentElements:onFailure:elementName:operation:)``.
  public func filter<Element>(
    _ elements: Node<[Element]>, maxConcurrentElements limit: Int = .max, onFailure policy: FailurePolicy = .failFast,
    elementName: (@Sendable (Element) -> String)? = nil,
    isKept: @escaping @concurrent @Sendable (Element) async throws -> Bool
  ) -> Node<[Element]> {
    filter(
      "filter", elements, maxConcurrentElements: limit, onFailure: policy, elementName: elementName, isKept: isKept)
  }
}

/// The work for each element of an array. The work executes as a graph, which is created once the array is known.
@usableFromInline
struct ElementWork<Element: Sendable, Output: Sendable>: Sendable {
  @usableFromInline let element: ProcedureTask<Element, Output>
  @usableFromInline let limit: Int
  @usableFromInline let policy: FailurePolicy
  /// A function that returns the name of an element; `nil` to name the elements after their indices.
  @usableFromInline let elementName: (@Sendable (Element) -> String)?

  @inlinable
  init(
    _ element: ProcedureTask<Element, Output>, limit: Int, policy: FailurePolicy,
    elementName: (@Sendable (Element) -> String)?
  ) {
    requirePositive(limit, "\"\(element.name)\": maxConcurrentElements")
    (self.element, self.limit, self.policy, self.elementName) = (element, limit, policy, elementName)
  }

  /// A task that executes the procedure for every element of an array.
  @inlinable var task: ProcedureTask<[Element], [Output]> {
    ProcedureTask(element.name) { elements in
      guard !elements.isEmpty else { return [] }
      return try await graph(of: elements).procedureTask.executeAsLayer(()).compactMap { $0 }
    }
  }

  @inlinable
  func graph(of elements: [Element]) -> ProcedureGraph<Void, [Output?]> {
    // All nodes share this task, in which the modifiers of the element form a layer within the body.
    let work = element.withoutModifiers { try await output(of: $0) }
    return ProcedureGraph<Void, [Output?]>(element.name, elementsOf: element.name, combining: { $0 }) { builder in
      builder.add(work, forEach: elements, elementName: elementName)
    }
    .maxConcurrentNodes(limit)
    .onFailure(policy)
  }

  /// Returns the value for an element. The result is `nil` if a condition of the element is not satisfied. Such an element is omitted.
  @inlinable
  func output(of value: Element) async throws -> Output? {
    do {
      return try await element.executeWithinBody(value)
    } catch let error as ProcedureError where error.kind == .ignored {
      return nil
    }
  }
}

extension ElementWork {
  /// Creates work that returns each element for which a predicate returns `true`, and `nil` for all other elements.
  init(
    keeping predicate: ProcedureTask<Element, Bool>, limit: Int, policy: FailurePolicy,
    elementName: (@Sendable (Element) -> String)?
  ) where Output == Element? {
    let evaluation = ProcedureTask<Element, Element?>(predicate.name, priority: predicate.priority) { element in
      try await predicate.executeWithinBody(element) ? element : nil
    }
    self.init(evaluation, limit: limit, policy: policy, elementName: elementName)
  }
}
