extension ProcedureQueue {
  /// Adds a procedure if the queue accepts it immediately, and otherwise throws an error that states the reason.
  ///
  /// ```swift
  /// do {
  ///   return try await queue.tryAdd(Convert(), input: request).value
  /// } catch let error as ProcedureError where error.kind == .queueFull {
  ///   throw TooManyRequests()
  /// }
  /// ```
  ///
  /// The function never replaces another procedure, regardless of the queue's ``QueueOverflow``, and never overtakes a caller that is
  /// waiting for room. On a queue without a limit, the function behaves like ``add(_:input:after:)-(_,_,[ProcedureDependency])`` until the
  /// queue is shut down. To wait for room, use ``enqueue(_:input:after:)-(_,_,[ProcedureDependency])``.
  ///
  /// A refusal is counted in ``QueueTotals/refusedCount``, but publishes no events.
  ///
  /// - Parameters:
  ///   - procedure: The procedure to run.
  ///   - input: The input of the procedure.
  ///   - dependencies: Procedures that must finish successfully before the procedure starts.
  /// - Returns: A handle to the run.
  /// - Throws: ``ProcedureError/Kind/queueFull`` if the number of waiting procedures has reached the limit for the queue or for the key. In
  ///   the second case, the error names the key. ``ProcedureError/Kind/queueShutDown`` after a shutdown.
  /// - Complexity: O(1), or O(d) with d dependencies; see ``add(_:input:after:)-(_,_,[ProcedureDependency])``.
  @discardableResult
  public nonisolated func tryAdd<P: Procedure>(
    _ procedure: P, input: P.Input, after dependencies: [any ProcedureDependency] = []
  ) throws(ProcedureError) -> ProcedureHandle<P.Output> {
    let task = procedure.procedureTask.resolved(for: input)
    return ProcedureHandle(
      try core.tryAdd(task.layer, task.closures, after: dependencies, body: task.body(with: input)))
  }

  /// Adds a procedure without an input if the queue accepts it immediately; see ``tryAdd(_:input:after:)-(_,_,[ProcedureDependency])``.
  ///
  /// - Throws: The same errors as ``tryAdd(_:input:after:)-(_,_,[ProcedureDependency])``.
  @discardableResult
  public nonisolated func tryAdd<P: Procedure>(
    _ procedure: P, after dependencies: [any ProcedureDependency] = []
  ) throws(ProcedureError) -> ProcedureHandle<P.Output> where P.Input == Void {
    try tryAdd(procedure, input: (), after: dependencies)
  }

  /// Waits for room in the queue, and then adds a procedure that takes the value of another procedure as its input.
  ///
  /// See ``enqueue(_:from:_:after:)-(_,_,_,[ProcedureDependency])``. Cancelling the caller before there is room ends the wait.
  @discardableResult @concurrent
  public nonisolated func enqueue<P: Procedure>(
    _ procedure: P, from handle: ProcedureHandle<P.Input>, after dependencies: [any ProcedureDependency] = []
  ) async throws -> ProcedureHandle<P.Output> {
    let task = procedure.procedureTask
    try await core.reserveRoom(for: task.layer)
    return submit(task, after: dependencies + [handle], hasRoom: core.limitsWaiting) { handle.successfulValue }
  }

  /// Waits for room in the queue, and then adds a procedure that takes the values of other procedures as its input.
  ///
  /// The function waits for room as ``enqueue(_:input:after:)-(_,_,[ProcedureDependency])`` does; the run waits for the other procedures.
  /// Cancelling the caller before there is room ends the wait, and the procedure is not added.
  ///
  /// - Parameters:
  ///   - procedure: The procedure to run. Its input is the value, or the tuple of the values.
  ///   - first: The procedure that provides the first value.
  ///   - rest: The procedures that provide the other values.
  ///   - dependencies: Additional procedures that must finish successfully before the procedure starts.
  /// - Returns: A handle to the run.
  /// - Throws: The same errors as ``enqueue(_:input:after:)-(_,_,[ProcedureDependency])``.
  /// - Complexity: O(d) for d dependencies; see ``add(_:input:after:)-(_,_,[ProcedureDependency])``.
  @discardableResult @concurrent
  @_disfavoredOverload  // For the same reason as in `add`.
  public nonisolated func enqueue<First: Sendable, each Rest: Sendable, P: Procedure>(
    _ procedure: P, from first: ProcedureHandle<First>, _ rest: repeat ProcedureHandle<each Rest>,
    after dependencies: [any ProcedureDependency] = []
  ) async throws -> ProcedureHandle<P.Output> where P.Input == (First, repeat each Rest) {
    let task = procedure.procedureTask
    try await core.reserveRoom(for: task.layer)
    return submit(task, from: first, repeat each rest, after: dependencies, hasRoom: core.limitsWaiting)
  }

  /// Waits for room in the queue, and then adds a procedure that takes an array of the values of other procedures as its input.
  ///
  /// See ``enqueue(_:from:_:after:)-(_,_,_,[ProcedureDependency])``. Cancelling the caller before there is room ends the wait.
  @discardableResult @concurrent
  public nonisolated func enqueue<Value: Sendable, P: Procedure>(
    _ procedure: P, from handles: [ProcedureHandle<Value>], after dependencies: [any ProcedureDependency] = []
  ) async throws -> ProcedureHandle<P.Output> where P.Input == [Value] {
    let task = procedure.procedureTask
    try await core.reserveRoom(for: task.layer)
    return submit(task, after: dependencies + handles, hasRoom: core.limitsWaiting) {
      handles.map(\.successfulValue)
    }
  }
}

/// Variants of `add`, `enqueue` and `tryAdd` that take one dependency instead of an array: `after: a` is short for `after: [a]`.
extension ProcedureQueue {
  /// Adds a procedure that starts after another one finishes; see ``add(_:input:after:)-(_,_,[ProcedureDependency])``.
  @discardableResult
  @inlinable
  public nonisolated final func add<P: Procedure>(
    _ procedure: P, input: P.Input, after dependency: any ProcedureDependency
  ) -> ProcedureHandle<P.Output> {
    add(procedure, input: input, after: [dependency])
  }

  /// Adds a procedure without an input that starts after another one finishes; see ``add(_:input:after:)-(_,_,[ProcedureDependency])``.
  @discardableResult
  @inlinable
  public nonisolated final func add<P: Procedure>(
    _ procedure: P, after dependency: any ProcedureDependency
  ) -> ProcedureHandle<P.Output> where P.Input == Void {
    add(procedure, after: [dependency])
  }

  /// Adds a procedure that takes the value of another procedure as its input, and has one additional dependency.
  ///
  /// See ``add(_:from:_:after:)-(_,_,_,[ProcedureDependency])``.
  @discardableResult
  public nonisolated func add<P: Procedure>(
    _ procedure: P, from handle: ProcedureHandle<P.Input>, after dependency: any ProcedureDependency
  ) -> ProcedureHandle<P.Output> {
    add(procedure, from: handle, after: [dependency])
  }

  /// Adds a procedure that takes the values of other procedures as its input, and has one additional dependency.
  ///
  /// See ``add(_:from:_:after:)-(_,_,_,[ProcedureDependency])``.
  @discardableResult
  @_disfavoredOverload  // For the same reason as in the variant for several dependencies.
  public nonisolated func add<First: Sendable, each Rest: Sendable, P: Procedure>(
    _ procedure: P, from first: ProcedureHandle<First>, _ rest: repeat ProcedureHandle<each Rest>,
    after dependency: any ProcedureDependency
  ) -> ProcedureHandle<P.Output> where P.Input == (First, repeat each Rest) {
    add(procedure, from: first, repeat each rest, after: [dependency])
  }

  /// Adds a procedure that takes an array of the values of other procedures as its input, and has one additional dependency.
  ///
  /// See ``add(_:from:after:)-(_,[ProcedureHandle<Value>],[ProcedureDependency])``.
  @discardableResult
  public nonisolated func add<Value: Sendable, P: Procedure>(
    _ procedure: P, from handles: [ProcedureHandle<Value>], after dependency: any ProcedureDependency
  ) -> ProcedureHandle<P.Output> where P.Input == [Value] {
    add(procedure, from: handles, after: [dependency])
  }

  /// Waits for room in the queue, and then adds a procedure that starts after another one finishes.
  ///
  /// See ``enqueue(_:input:after:)-(_,_,[ProcedureDependency])``. Cancelling the caller before there is room ends the wait.
  @discardableResult @concurrent
  public nonisolated func enqueue<P: Procedure>(
    _ procedure: P, input: P.Input, after dependency: any ProcedureDependency
  ) async throws -> ProcedureHandle<P.Output> {
    try await enqueue(procedure, input: input, after: [dependency])
  }

  /// Waits for room in the queue, and then adds a procedure without an input that starts after another one finishes.
  ///
  /// See ``enqueue(_:input:after:)-(_,_,[ProcedureDependency])``. Cancelling the caller before there is room ends the wait.
  @discardableResult @concurrent
  public nonisolated func enqueue<P: Procedure>(
    _ procedure: P, after dependency: any ProcedureDependency
  ) async throws -> ProcedureHandle<P.Output> where P.Input == Void {
    try await enqueue(procedure, after: [dependency])
  }

  /// Waits for room in the queue, and then adds a procedure that takes the value of another one as its input. The procedure has one
  /// additional dependency.
  ///
  /// See ``enqueue(_:from:_:after:)-(_,_,_,[ProcedureDependency])``. Cancelling the caller before there is room ends the wait.
  @discardableResult @concurrent
  public nonisolated func enqueue<P: Procedure>(
    _ procedure: P, from handle: ProcedureHandle<P.Input>, after dependency: any ProcedureDependency
  ) async throws -> ProcedureHandle<P.Output> {
    try await enqueue(procedure, from: handle, after: [dependency])
  }

  /// Waits for room in the queue, and then adds a procedure that takes the values of others as its input. The procedure has one additional
  /// dependency.
  ///
  /// See ``enqueue(_:from:_:after:)-(_,_,_,[ProcedureDependency])``. Cancelling the caller before there is room ends the wait.
  @discardableResult @concurrent
  @_disfavoredOverload  // For the same reason as in `add`.
  public nonisolated func enqueue<First: Sendable, each Rest: Sendable, P: Procedure>(
    _ procedure: P, from first: ProcedureHandle<First>, _ rest: repeat ProcedureHandle<each Rest>,
    after dependency: any ProcedureDependency
  ) async throws -> ProcedureHandle<P.Output> where P.Input == (First, repeat each Rest) {
    try await enqueue(procedure, from: first, repeat each rest, after: [dependency])
  }

  /// Waits for room in the queue, and then adds a procedure that takes an array of values as its input. The procedure has one additional
  /// dependency.
  ///
  /// See ``enqueue(_:from:after:)-(_,[ProcedureHandle<Value>],[ProcedureDependency])``. Cancelling the caller before there is room ends the
  /// wait.
  @discardableResult @concurrent
  public nonisolated func enqueue<Value: Sendable, P: Procedure>(
    _ procedure: P, from handles: [ProcedureHandle<Value>], after dependency: any ProcedureDependency
  ) async throws -> ProcedureHandle<P.Output> where P.Input == [Value] {
    try await enqueue(procedure, from: handles, after: [dependency])
  }

  /// Adds a procedure that starts after another one finishes, if the queue accepts the procedure immediately.
  ///
  /// See ``tryAdd(_:input:after:)-(_,_,[ProcedureDependency])``.
  ///
  /// - Throws: The same errors as ``tryAdd(_:input:after:)-(_,_,[ProcedureDependency])``.
  @discardableResult
  public nonisolated func tryAdd<P: Procedure>(
    _ procedure: P, input: P.Input, after dependency: any ProcedureDependency
  ) throws(ProcedureError) -> ProcedureHandle<P.Output> {
    try tryAdd(procedure, input: input, after: [dependency])
  }

  /// Adds a procedure without an input that starts after another one finishes, if the queue accepts the procedure immediately.
  ///
  /// See ``tryAdd(_:input:after:)-(_,_,[ProcedureDependency])``.
  ///
  /// - Throws: The same errors as ``tryAdd(_:input:after:)-(_,_,[ProcedureDependency])``.
  @discardableResult
  public nonisolated func tryAdd<P: Procedure>(
    _ procedure: P, after dependency: any ProcedureDependency
  ) throws(ProcedureError) -> ProcedureHandle<P.Output> where P.Input == Void {
    try tryAdd(procedure, after: [dependency])
  }
}
