/// Specializations of the general function node for one, two and three inputs, with the same behaviour. Without a
/// parameter pack, the compiler knows all types in the caller's code, and a run looks no types up.
extension GraphBuilder {
  /// Adds a function of the value of one node; see ``add(_:from:after:operation:)-(_,Node<Value>,[GraphDependency],_)``.
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

  /// Adds a function of the values of two nodes; see ``add(_:from:after:operation:)-(_,Node<Value>,[GraphDependency],_)``.
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

  /// Adds a function of the values of three nodes; see ``add(_:from:after:operation:)-(_,Node<Value>,[GraphDependency],_)``.
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
