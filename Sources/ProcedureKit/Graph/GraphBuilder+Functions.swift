/// The general function of a pack of nodes, written out for one, two and three: where there is no pack, the compiler knows
/// all types when the graph is built by its caller's code, and looks nothing up when it runs. They do the same.
extension GraphBuilder {
  /// Adds a function of the value of one node.
  ///
  /// - Parameters:
  ///   - name: What errors, events and diagrams call it.
  ///   - a: Where its argument comes from.
  ///   - dependencies: What else has to finish successfully before.
  ///   - operation: The work. Never executes on the caller's actor.
  /// - Returns: The value that it will produce.
  @discardableResult
  @inlinable
  public func add<A: Sendable, Output: Sendable>(
    _ name: String, from a: Node<A>, after dependencies: [any GraphDependency] = [],
    operation: @escaping @concurrent @Sendable (A) async throws -> Output
  ) -> Node<Output> {
    let (traits, output) = (NodeTraits(name: name), addSlot(for: Output.self))
    let a = addInput(a, of: traits)
    addStep(traits, after: dependencies) { arena in
      arena.put(try await operation(a.take(arena)), into: output)
    }
    return Node(builder: identity, reading: output)
  }

  /// Adds a function of the values of two nodes.
  ///
  /// - Parameters:
  ///   - name: What errors, events and diagrams call it.
  ///   - a: Where its first argument comes from.
  ///   - b: Where its second argument comes from.
  ///   - dependencies: What else has to finish successfully before.
  ///   - operation: The work. Never executes on the caller's actor.
  /// - Returns: The value that it will produce.
  @discardableResult
  @inlinable
  public func add<A: Sendable, B: Sendable, Output: Sendable>(
    _ name: String, from a: Node<A>, _ b: Node<B>, after dependencies: [any GraphDependency] = [],
    operation: @escaping @concurrent @Sendable (A, B) async throws -> Output
  ) -> Node<Output> {
    let (traits, output) = (NodeTraits(name: name), addSlot(for: Output.self))
    let (a, b) = (addInput(a, of: traits), addInput(b, of: traits))
    addStep(traits, after: dependencies) { arena in
      arena.put(try await operation(a.take(arena), b.take(arena)), into: output)
    }
    return Node(builder: identity, reading: output)
  }

  /// Adds a function of the values of three nodes.
  ///
  /// - Parameters:
  ///   - name: What errors, events and diagrams call it.
  ///   - a: Where its first argument comes from.
  ///   - b: Where its second argument comes from.
  ///   - c: Where its third argument comes from.
  ///   - dependencies: What else has to finish successfully before.
  ///   - operation: The work. Never executes on the caller's actor.
  /// - Returns: The value that it will produce.
  @discardableResult
  @inlinable
  public func add<A: Sendable, B: Sendable, C: Sendable, Output: Sendable>(
    _ name: String, from a: Node<A>, _ b: Node<B>, _ c: Node<C>, after dependencies: [any GraphDependency] = [],
    operation: @escaping @concurrent @Sendable (A, B, C) async throws -> Output
  ) -> Node<Output> {
    let (traits, output) = (NodeTraits(name: name), addSlot(for: Output.self))
    let (a, b, c) = (addInput(a, of: traits), addInput(b, of: traits), addInput(c, of: traits))
    addStep(traits, after: dependencies) { arena in
      arena.put(try await operation(a.take(arena), b.take(arena), c.take(arena)), into: output)
    }
    return Node(builder: identity, reading: output)
  }
}
