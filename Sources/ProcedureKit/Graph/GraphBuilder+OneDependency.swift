/// Variants of the `add` functions that take one dependency instead of an array: `after: a` is short for `after: [a]`.
extension GraphBuilder {
  /// Adds a procedure that takes its input from one node and has one further dependency.
  ///
  /// See ``add(_:from:after:)-(_,Node<P.Input>,[GraphDependency])``.
  @discardableResult
  @inlinable
  public func add<P: Procedure>(
    _ procedure: P, from node: Node<P.Input>, after dependency: any GraphDependency
  ) -> Node<P.Output> {
    add(procedure, from: node, after: [dependency])
  }

  /// Adds a procedure that takes a tuple of values from any number of nodes and has one further dependency.
  ///
  /// See ``add(_:from:after:)-(_,Node<P.Input>,[GraphDependency])``.
  @discardableResult
  @inlinable
  @_disfavoredOverload  // The compiler (Swift 6.3) would crash instead of rejecting a call with one node.
  public func add<First: Sendable, each Rest: Sendable, P: Procedure>(
    _ procedure: P, from first: Node<First>, _ rest: repeat Node<each Rest>, after dependency: any GraphDependency
  ) -> Node<P.Output> where P.Input == (First, repeat each Rest) {
    addTask(procedure.procedureTask, from: first, repeat each rest, after: [dependency])
  }

  /// Adds a procedure that takes an array of values from several nodes and has one further dependency.
  ///
  /// See ``add(_:from:after:)-(_,Node<P.Input>,[GraphDependency])``.
  @discardableResult
  @inlinable
  public func add<Value, P: Procedure>(
    _ procedure: P, from nodes: [Node<Value>], after dependency: any GraphDependency
  ) -> Node<P.Output> where P.Input == [Value] {
    add(procedure, from: nodes, after: [dependency])
  }

  /// Adds a procedure that has no input and starts after one node finishes.
  ///
  /// See ``add(_:from:after:)-(_,Node<P.Input>,[GraphDependency])``.
  @discardableResult
  @inlinable
  public func add<P: Procedure>(
    _ procedure: P, after dependency: any GraphDependency
  ) -> Node<P.Output> where P.Input == Void {
    add(procedure, after: [dependency])
  }

  /// Adds a procedure that has a constant input and starts after one node finishes.
  ///
  /// See ``add(_:input:after:)-(_,_,[GraphDependency])``.
  @discardableResult
  @inlinable
  public func add<P: Procedure>(
    _ procedure: P, input: P.Input, after dependency: any GraphDependency
  ) -> Node<P.Output> {
    add(procedure, input: input, after: [dependency])
  }

  /// Adds a node that calls a function with the values of any number of nodes and has one further dependency.
  ///
  /// See ``add(_:from:after:operation:)-(_,Node<Value>,[GraphDependency],_)``.
  @discardableResult
  @inlinable
  public func add<each Value: Sendable, Output: Sendable>(
    _ name: String, from nodes: repeat Node<each Value>, after dependency: any GraphDependency,
    operation: @escaping @concurrent @Sendable (repeat each Value) async throws -> Output
  ) -> Node<Output> {
    add(name, from: repeat each nodes, after: [dependency], operation: operation)
  }

  /// Adds a node that calls a function with the values of the nodes in an array and has one further dependency.
  ///
  /// See ``add(_:from:after:operation:)-(_,[Node<Value>],[GraphDependency],_)``.
  @discardableResult
  public func add<Value, Output: Sendable>(
    _ name: String, from nodes: [Node<Value>], after dependency: any GraphDependency,
    operation: @escaping @concurrent @Sendable ([Value]) async throws -> Output
  ) -> Node<Output> {
    add(name, from: nodes, after: [dependency], operation: operation)
  }
}
