/// Specializations of the general function node for one, two and three inputs, with the same behaviour. Without a
/// parameter pack, the compiler knows all types in the caller's code, and a run looks no types up.
extension GraphBuilder {
  /// Adds a function of the value of one node.
  ///
  /// - Parameters:
  ///   - name: The name of the node in errors, events and diagrams.
  ///   - a: The node with the argument.
  ///   - dependencies: Further nodes that have to finish successfully first.
  ///   - operation: The function, which never executes on the caller's actor.
  /// - Returns: A node with the value of the function.
  @discardableResult
  @inlinable
  public func add<A: Sendable, Output: Sendable>(
    _ name: String, from a: Node<A>, after dependencies: [any GraphDependency] = [],
    operation: @escaping @concurrent @Sendable (A) async throws -> Output
  ) -> Node<Output> {
    let (traits, output) = (NodeTraits(name: name), addSlot(for: Output.self))
    let a = addInput(a, of: traits)
    let function = memory.store(FunctionOfOne(operation, a, into: output))
    addStep(traits, after: dependencies, knowing: function) { pointer, arena in
      let function = pointer.assumingMemoryBound(to: FunctionOfOne<A, Output>.self)
      let value = try await function.pointee.operation(
        function.pointee.a.take(arena))
      arena.put(value, into: function.pointee.output)
    }
    return Node(builder: identity, reading: output)
  }

  /// Adds a function of the values of two nodes.
  ///
  /// - Parameters:
  ///   - name: The name of the node in errors, events and diagrams.
  ///   - a: The node with the first argument.
  ///   - b: The node with the second argument.
  ///   - dependencies: Further nodes that have to finish successfully first.
  ///   - operation: The function, which never executes on the caller's actor.
  /// - Returns: A node with the value of the function.
  @discardableResult
  @inlinable
  public func add<A: Sendable, B: Sendable, Output: Sendable>(
    _ name: String, from a: Node<A>, _ b: Node<B>, after dependencies: [any GraphDependency] = [],
    operation: @escaping @concurrent @Sendable (A, B) async throws -> Output
  ) -> Node<Output> {
    let (traits, output) = (NodeTraits(name: name), addSlot(for: Output.self))
    let (a, b) = (addInput(a, of: traits), addInput(b, of: traits))
    let function = memory.store(FunctionOfTwo(operation, a, b, into: output))
    addStep(traits, after: dependencies, knowing: function) { pointer, arena in
      let function = pointer.assumingMemoryBound(to: FunctionOfTwo<A, B, Output>.self)
      let value = try await function.pointee.operation(
        function.pointee.a.take(arena), function.pointee.b.take(arena))
      arena.put(value, into: function.pointee.output)
    }
    return Node(builder: identity, reading: output)
  }

  /// Adds a function of the values of three nodes.
  ///
  /// - Parameters:
  ///   - name: The name of the node in errors, events and diagrams.
  ///   - a: The node with the first argument.
  ///   - b: The node with the second argument.
  ///   - c: The node with the third argument.
  ///   - dependencies: Further nodes that have to finish successfully first.
  ///   - operation: The function, which never executes on the caller's actor.
  /// - Returns: A node with the value of the function.
  @discardableResult
  @inlinable
  public func add<A: Sendable, B: Sendable, C: Sendable, Output: Sendable>(
    _ name: String, from a: Node<A>, _ b: Node<B>, _ c: Node<C>, after dependencies: [any GraphDependency] = [],
    operation: @escaping @concurrent @Sendable (A, B, C) async throws -> Output
  ) -> Node<Output> {
    let (traits, output) = (NodeTraits(name: name), addSlot(for: Output.self))
    let (a, b, c) = (addInput(a, of: traits), addInput(b, of: traits), addInput(c, of: traits))
    let function = memory.store(FunctionOfThree(operation, a, b, c, into: output))
    addStep(traits, after: dependencies, knowing: function) { pointer, arena in
      let function = pointer.assumingMemoryBound(to: FunctionOfThree<A, B, C, Output>.self)
      let value = try await function.pointee.operation(
        function.pointee.a.take(arena), function.pointee.b.take(arena), function.pointee.c.take(arena))
      arena.put(value, into: function.pointee.output)
    }
    return Node(builder: identity, reading: output)
  }
}
