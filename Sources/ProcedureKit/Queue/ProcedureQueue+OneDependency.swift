/// The functions that add a procedure, with one dependency instead of an array: `after: a` is `after: [a]`.
extension ProcedureQueue {
  /// Adds a procedure that starts after another one; see ``add(_:input:after:)-(_,_,[ProcedureDependency])``.
  @discardableResult
  @inlinable
  public nonisolated final func add<P: Procedure>(
    _ procedure: P, input: P.Input, after dependency: any ProcedureDependency
  ) -> ProcedureHandle<P.Output> {
    add(procedure, input: input, after: [dependency])
  }

  /// Adds a procedure without an input that starts after another one; see ``add(_:input:after:)-(_,_,[ProcedureDependency])``.
  @discardableResult
  @inlinable
  public nonisolated final func add<P: Procedure>(
    _ procedure: P, after dependency: any ProcedureDependency
  ) -> ProcedureHandle<P.Output> where P.Input == Void {
    add(procedure, after: [dependency])
  }

  /// Adds a procedure with the values of other procedures as the input, and with one further dependency; see
  /// ``add(_:from:_:after:)-(_,_,_,[ProcedureDependency])``.
  @discardableResult
  public nonisolated func add<First: Sendable, each Rest: Sendable, P: Procedure>(
    _ procedure: P, from first: ProcedureHandle<First>, _ rest: repeat ProcedureHandle<each Rest>,
    after dependency: any ProcedureDependency
  ) -> ProcedureHandle<P.Output> where P.Input == (First, repeat each Rest) {
    add(procedure, from: first, repeat each rest, after: [dependency])
  }

  /// Adds a procedure with an array of the values of other procedures as the input, and with one further dependency; see
  /// ``add(_:from:after:)-(_,_,[ProcedureDependency])``.
  @discardableResult
  public nonisolated func add<Value: Sendable, P: Procedure>(
    _ procedure: P, from handles: [ProcedureHandle<Value>], after dependency: any ProcedureDependency
  ) -> ProcedureHandle<P.Output> where P.Input == [Value] {
    add(procedure, from: handles, after: [dependency])
  }

  /// Adds a procedure that starts after another one, as soon as there is room; see
  /// ``enqueue(_:input:after:)-(_,_,[ProcedureDependency])``. Cancelling the caller before there is room ends the wait.
  @discardableResult @concurrent
  public nonisolated func enqueue<P: Procedure>(
    _ procedure: P, input: P.Input, after dependency: any ProcedureDependency
  ) async throws -> ProcedureHandle<P.Output> {
    try await enqueue(procedure, input: input, after: [dependency])
  }

  /// Adds a procedure without an input that starts after another one, as soon as there is room; see
  /// ``enqueue(_:input:after:)-(_,_,[ProcedureDependency])``. Cancelling the caller before there is room ends the wait.
  @discardableResult @concurrent
  public nonisolated func enqueue<P: Procedure>(
    _ procedure: P, after dependency: any ProcedureDependency
  ) async throws -> ProcedureHandle<P.Output> where P.Input == Void {
    try await enqueue(procedure, after: [dependency])
  }

  /// Adds a procedure with the values of other procedures as the input, and with one further dependency, as soon as there is room;
  /// see ``enqueue(_:from:_:after:)-(_,_,_,[ProcedureDependency])``. Cancelling the caller before there is room ends the wait.
  @discardableResult @concurrent
  public nonisolated func enqueue<First: Sendable, each Rest: Sendable, P: Procedure>(
    _ procedure: P, from first: ProcedureHandle<First>, _ rest: repeat ProcedureHandle<each Rest>,
    after dependency: any ProcedureDependency
  ) async throws -> ProcedureHandle<P.Output> where P.Input == (First, repeat each Rest) {
    try await enqueue(procedure, from: first, repeat each rest, after: [dependency])
  }

  /// Adds a procedure with an array of the values of other procedures as the input, and with one further dependency, as soon as
  /// there is room; see ``enqueue(_:from:after:)-(_,_,[ProcedureDependency])``. Cancelling the caller before there is room ends the
  /// wait.
  @discardableResult @concurrent
  public nonisolated func enqueue<Value: Sendable, P: Procedure>(
    _ procedure: P, from handles: [ProcedureHandle<Value>], after dependency: any ProcedureDependency
  ) async throws -> ProcedureHandle<P.Output> where P.Input == [Value] {
    try await enqueue(procedure, from: handles, after: [dependency])
  }

  /// Adds a procedure that starts after another one, if the queue takes it at once; see
  /// ``tryAdd(_:input:after:)-(_,_,[ProcedureDependency])``.
  ///
  /// - Throws: ``ProcedureError/Kind/queueFull`` or ``ProcedureError/Kind/queueShutDown``.
  @discardableResult
  public nonisolated func tryAdd<P: Procedure>(
    _ procedure: P, input: P.Input, after dependency: any ProcedureDependency
  ) throws(ProcedureError) -> ProcedureHandle<P.Output> {
    try tryAdd(procedure, input: input, after: [dependency])
  }

  /// Adds a procedure without an input that starts after another one, if the queue takes it at once; see
  /// ``tryAdd(_:input:after:)-(_,_,[ProcedureDependency])``.
  ///
  /// - Throws: ``ProcedureError/Kind/queueFull`` or ``ProcedureError/Kind/queueShutDown``.
  @discardableResult
  public nonisolated func tryAdd<P: Procedure>(
    _ procedure: P, after dependency: any ProcedureDependency
  ) throws(ProcedureError) -> ProcedureHandle<P.Output> where P.Input == Void {
    try tryAdd(procedure, after: [dependency])
  }
}
