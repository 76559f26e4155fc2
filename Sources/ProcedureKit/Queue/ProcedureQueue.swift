/// A queue that runs a limited number of procedures at a time, in order of priority and admission.
///
/// ```swift
/// let queue = ProcedureQueue("images", maxConcurrentProcedures: 4)
/// let image = try await queue.run(LoadImage(), input: "kitten.ppm")   // in this task
/// let handle = queue.add(UploadImage(), input: image)                 // outlives this task
/// ```
///
/// ``run(_:input:)`` executes in the caller's task, so it inherits the caller's cancellation, priority and task-local values.
/// ``add(_:input:after:)-(_,_,[ProcedureDependency])`` is for work that outlives the caller, and returns a ``ProcedureHandle``.
///
/// Every procedure can be observed from start to finish. No work is lost when the last reference to a queue is released: added procedures
/// still finish, and a suspended queue is resumed.
public actor ProcedureQueue {
  /// A shared queue without limits, for code that does not create its own queue.
  public static let shared = ProcedureQueue("shared")

  @usableFromInline package nonisolated let core: QueueCore

  /// Creates a queue.
  ///
  /// - Parameters:
  ///   - name: The name of the queue in errors, snapshots and logs.
  ///   - maxConcurrentProcedures: The maximum number of bodies that can execute at a time. Passing a value below 1 traps.
  ///   - isSuspended: Whether the queue is created suspended. A suspended queue starts only procedures that executing bodies call, until it
  ///     is resumed.
  public init(_ name: String = "ProcedureQueue", maxConcurrentProcedures: Int = .max, isSuspended: Bool = false) {
    self.init(Configuration(name, maxConcurrentProcedures: maxConcurrentProcedures, isSuspended: isSuspended))
  }

  /// Creates a queue from a configuration.
  ///
  /// - Parameter configuration: The settings, which the queue reads once.
  public init(_ configuration: Configuration) {
    self.init(core: configuration.makeCore())
  }

  init(core: QueueCore) {
    self.core = core
    core.send { state, _ in state.queue = self }
    QueueFeed.queueWasMade(core)
  }

  deinit { core.release() }

  /// The name of the queue in errors, snapshots and logs.
  public nonisolated var name: String { core.name }

  /// The maximum number of bodies that can execute at a time.
  public nonisolated var maxConcurrentProcedures: Int { core.width }

  /// Whether the queue is suspended. A suspended queue starts only procedures that executing bodies call, until it is resumed.
  public nonisolated var isSuspended: Bool { core.isSuspended }

  // MARK: Running

  /// Runs a procedure in the caller's task and returns the procedure's value.
  ///
  /// The procedure waits for its conditions and for a slot like any other procedure on the queue. The body never executes on the caller's
  /// actor. If the call is made within a body on the same queue, the procedure can use that body's slot.
  ///
  /// The call returns when all of its tasks have ended, including the tasks of conditions that ignore cancellation. Cancelling the caller
  /// cancels the procedure. If the queue cancels the procedure (``cancelAll(_:)``) while the body is executing, the caller's task is not
  /// cancelled, because the queue does not own the task. The body can check ``ProcedureContext/isCancelled``, and the call throws when the
  /// body returns. Children that the body produced and the workers of a graph have their own tasks, which are cancelled. A nested `run`
  /// that has not started is also cancelled. The body of a nested `run` that has started can check ``ProcedureContext/isCancelled``, as can
  /// the body of a node that executes in the caller's task.
  ///
  /// - Parameters:
  ///   - procedure: The procedure to run.
  ///   - input: The input of the procedure.
  /// - Returns: The procedure's value.
  /// - Throws: The error that the body threw, or a ``ProcedureError`` from the library. If the procedure is cancelled, the error is the
  ///   reason for the cancellation, or `CancellationError` if there is no reason.
  /// - Complexity: O(1), or up to O(log n) if priorities differ. A task is created only for conditions, a timeout or a deadline, and,
  ///   before Swift 6.4 (on Apple platforms, also before OS version 27), for end hooks and cleanups.
  @inlinable
  public nonisolated(nonsending) final func run<P: Procedure>(_ procedure: P, input: P.Input) async throws -> P.Output {
    try await run(procedure.procedureTask, given: input)
  }

  /// Runs a procedure without an input; see ``run(_:input:)``. Cancelling the caller cancels the procedure.
  @inlinable
  public nonisolated(nonsending) final func run<P: Procedure>(_ procedure: P) async throws -> P.Output
  where P.Input == Void {
    try await run(procedure.procedureTask, given: ())
  }

  /// Runs a procedure task in the caller's task.
  ///
  /// If a run needs only resources and a slot, and they are free, the run starts in this function. The types are known here, so no metadata
  /// is looked up and no value is boxed. `Run.drive` drives all other runs.
  ///
  /// The function leaves the actor of the caller before it calls the body (Q6). Otherwise, the compiler could keep the body on that actor
  /// if the body calls only functions that stay on their caller's actor.
  @inlinable @concurrent
  nonisolated final func run<Input: Sendable, Output: Sendable>(
    _ task: ProcedureTask<Input, Output>, given input: Input
  ) async throws -> Output {
    let task = task.configure == nil ? task : task.resolved(for: input)
    let (run, starts) = core.startStructured(task.layer)
    guard starts else { return try await core.runStructured(run, task, input) }
    let value: Output
    do {
      value = try await withTaskCancellationHandler {
        try await ProcedureContext.bound.withValue(.init(run)) { try await task.operation(input) }
      } onCancel: {
        run.cancelLikeParent()
      }
    } catch {
      return try await core.finish(run, .failure(error))
    }
    return core.finishInline(run) ? value : try await core.finish(run, .success(value))
  }

  // MARK: Adding

  /// Adds a procedure, which then runs independently of the caller. Procedures are admitted in the order of the calls.
  ///
  /// - Parameters:
  ///   - procedure: The procedure to run.
  ///   - input: The input of the procedure.
  ///   - dependencies: Procedures that must finish successfully before the procedure starts.
  /// - Returns: A handle to the run. The run fails immediately with ``ProcedureError/Kind/queueShutDown`` if the queue is shut down, unless
  ///   a body on the queue adds it. On a full queue, ``QueueOverflow`` decides whether the run fails immediately with
  ///   ``ProcedureError/Kind/queueFull`` or replaces a waiting procedure.
  /// - Complexity: O(1), or O(d) with d dependencies. The priorities of direct and indirect dependencies are raised to at least the
  ///   priority of the procedure. If a dependency is executing, finding its nested runs requires a search through all runs on its queue.
  @discardableResult
  @inlinable
  public nonisolated final func add<P: Procedure>(
    _ procedure: P, input: P.Input, after dependencies: [any ProcedureDependency] = []
  ) -> ProcedureHandle<P.Output> {
    submit(procedure.procedureTask, input, after: dependencies)
  }

  /// Adds a procedure without an input; see ``add(_:input:after:)-(_,_,[ProcedureDependency])``.
  @discardableResult
  @inlinable
  public nonisolated final func add<P: Procedure>(
    _ procedure: P, after dependencies: [any ProcedureDependency] = []
  ) -> ProcedureHandle<P.Output> where P.Input == Void {
    submit(procedure.procedureTask, (), after: dependencies)
  }

  /// Adds a procedure that takes the value of another procedure as its input; see ``add(_:from:_:after:)-(_,_,_,[ProcedureDependency])``.
  @discardableResult
  public nonisolated func add<P: Procedure>(
    _ procedure: P, from handle: ProcedureHandle<P.Input>, after dependencies: [any ProcedureDependency] = []
  ) -> ProcedureHandle<P.Output> {
    submit(procedure.procedureTask, after: dependencies + [handle]) { handle.successfulValue }
  }

  /// Adds a procedure that takes the values of other procedures as its input.
  ///
  /// The procedure starts when all of the other procedures have finished. They can be on any queue.
  ///
  /// If a dependency fails, the procedure is not executed, and fails with ``ProcedureError/Kind/dependencyFailed``. If a dependency is
  /// cancelled or ignored, the procedure is also cancelled or ignored. To run the procedure after any outcome, depend on
  /// ``ProcedureHandle/catchingErrors()``.
  ///
  /// - Parameters:
  ///   - procedure: The procedure to run. Its input is the value, or the tuple of the values.
  ///   - first: The procedure that provides the first value.
  ///   - rest: The procedures that provide the other values.
  ///   - dependencies: Additional procedures that must finish successfully before the procedure starts.
  /// - Returns: A handle to the run.
  /// - Complexity: O(d) for d dependencies; see ``add(_:input:after:)-(_,_,[ProcedureDependency])``.
  @discardableResult
  @_disfavoredOverload  // Otherwise, the compiler (Swift 6.3) crashes instead of rejecting a call with one handle.
  public nonisolated func add<First: Sendable, each Rest: Sendable, P: Procedure>(
    _ procedure: P, from first: ProcedureHandle<First>, _ rest: repeat ProcedureHandle<each Rest>,
    after dependencies: [any ProcedureDependency] = []
  ) -> ProcedureHandle<P.Output> where P.Input == (First, repeat each Rest) {
    // The first handle is a separate parameter because, given only a pack, the compiler (Swift 6.3) crashes instead of reporting that no
    // function matches a call.
    submit(procedure.procedureTask, from: first, repeat each rest, after: dependencies)
  }

  /// Adds a procedure whose input is an array of the values of other procedures, in the order of `handles`.
  ///
  /// See ``add(_:from:_:after:)-(_,_,_,[ProcedureDependency])``. To run the procedure after any outcome, depend on the results:
  /// `from: handles.map { $0.catchingErrors() }`.
  @discardableResult
  public nonisolated func add<Value: Sendable, P: Procedure>(
    _ procedure: P, from handles: [ProcedureHandle<Value>], after dependencies: [any ProcedureDependency] = []
  ) -> ProcedureHandle<P.Output> where P.Input == [Value] {
    submit(procedure.procedureTask, after: dependencies + handles) { handles.map(\.successfulValue) }
  }

  /// Waits until both the queue and the procedure's key have room, and then adds the procedure.
  ///
  /// Callers are admitted in FIFO order; a caller whose key is full does not hold up others. A body releases its slot while it waits. On a
  /// queue without a limit, the function behaves like ``add(_:input:after:)-(_,_,[ProcedureDependency])``. Cancelling the caller before
  /// there is room ends the wait, and the procedure is not added. Cancelling the caller later has no effect.
  ///
  /// - Parameters:
  ///   - procedure: The procedure to run.
  ///   - input: The input of the procedure.
  ///   - dependencies: Procedures that must finish successfully before the procedure starts.
  /// - Returns: A handle to the run.
  /// - Throws: If the caller is cancelled before there is room, the reason for the cancellation, or `CancellationError` if there is no
  ///   reason. If the caller is a body that the waiting procedures depend on, ``ProcedureError/Kind/exclusionDeadlock``.
  /// - Complexity: O(1), or O(d) with d dependencies; see ``add(_:input:after:)-(_,_,[ProcedureDependency])``.
  @discardableResult @inlinable @concurrent
  public nonisolated final func enqueue<P: Procedure>(
    _ procedure: P, input: P.Input, after dependencies: [any ProcedureDependency] = []
  ) async throws -> ProcedureHandle<P.Output> {
    try await enqueue(procedure.procedureTask, given: input, after: dependencies)
  }

  /// Waits for room in the queue, and then adds a procedure without an input.
  ///
  /// See ``enqueue(_:input:after:)-(_,_,[ProcedureDependency])``. Cancelling the caller before there is room ends the wait.
  @discardableResult @inlinable @concurrent
  public nonisolated final func enqueue<P: Procedure>(
    _ procedure: P, after dependencies: [any ProcedureDependency] = []
  ) async throws -> ProcedureHandle<P.Output> where P.Input == Void {
    try await enqueue(procedure.procedureTask, given: (), after: dependencies)
  }

  /// Adds a task immediately, in one critical section, if the queue has room; otherwise, waits for room first.
  @inlinable @concurrent
  nonisolated final func enqueue<Input: Sendable, Output: Sendable>(
    _ task: ProcedureTask<Input, Output>, given input: Input, after dependencies: [any ProcedureDependency]
  ) async throws -> ProcedureHandle<Output> {
    let task = task.configure == nil ? task : task.resolved(for: input)
    let body = task.body(with: input)
    if let run = core.addAtOnce(task.layer, task.closures, after: dependencies, body: body) {
      return ProcedureHandle(run)
    }
    try await core.reserveRoom(for: task.layer)
    return ProcedureHandle(
      core.add(task.layer, task.closures, after: dependencies, hasRoom: core.limitsWaiting, body: body))
  }

  /// Adds a task that takes the values of other procedures as its input.
  ///
  /// Unlike `add`, this function takes all handles as a single pack, because the compiler (Swift 6.3) miscompiles a tuple that consists of
  /// one value and a pack of values.
  nonisolated func submit<each Value: Sendable, Output>(
    _ task: ProcedureTask<(repeat each Value), Output>, from handles: repeat ProcedureHandle<each Value>,
    after dependencies: [any ProcedureDependency], hasRoom: Bool = false
  ) -> ProcedureHandle<Output> {
    var all = dependencies
    for handle in repeat each handles { all.append(handle) }
    return submit(task, after: all, hasRoom: hasRoom) { (repeat (each handles).successfulValue) }
  }

  nonisolated func submit<Input, Output>(
    _ task: ProcedureTask<Input, Output>, after dependencies: [any ProcedureDependency], hasRoom: Bool = false,
    gathering input: @escaping @Sendable () -> Input
  ) -> ProcedureHandle<Output> {
    ProcedureHandle(
      core.add(task.layer, task.closures, after: dependencies, hasRoom: hasRoom) { run, stage in
        try await task.body(with: input())(run, stage)
      })
  }

  @inlinable
  nonisolated final func submit<Input, Output>(
    _ task: ProcedureTask<Input, Output>, _ input: Input, after dependencies: [any ProcedureDependency]
  ) -> ProcedureHandle<Output> where Input: Sendable {
    task.configure == nil
      ? submit(resolved: task, input, after: dependencies)
      : submit(resolved: task.resolved(for: input), input, after: dependencies)
  }

  @inlinable
  nonisolated final func submit<Input: Sendable, Output>(
    resolved task: ProcedureTask<Input, Output>, _ input: Input, after dependencies: [any ProcedureDependency]
  ) -> ProcedureHandle<Output> {
    ProcedureHandle(core.add(task.layer, task.closures, after: dependencies, body: task.body(with: input)))
  }

  // MARK: The queue as a whole

  /// Suspends the queue: no further conditions are evaluated, and no further procedures start, except those that executing bodies run.
  /// Executing bodies continue.
  ///
  /// This function, ``resume()``, ``setMaxConcurrentProcedures(_:)`` and the functions that cancel are synchronous. A call has taken effect
  /// when it returns, so calls from one thread take effect in the order in which they are made.
  public nonisolated func suspend() { core.suspend() }

  /// Resumes the queue after ``suspend()``.
  public nonisolated func resume() { core.resume() }

  /// Changes the maximum number of bodies that can execute at a time. The change applies only to bodies that start later; executing bodies
  /// are not interrupted.
  ///
  /// - Parameter width: The new maximum. A value below 1 traps.
  public nonisolated func setMaxConcurrentProcedures(_ width: Int) {
    requirePositive(width, "ProcedureQueue \"\(name)\": maxConcurrentProcedures")
    core.changeWidth(to: width)
  }

  /// Cancels all procedures that are currently on the queue; procedures that are added later are not affected.
  ///
  /// Procedures that are run or produced within a shield are not cancelled; see ``ProcedureContext/shielded(atMost:_:)``.
  ///
  /// - Parameter reason: The reason for the cancellation; `nil` to use `CancellationError`.
  /// - Complexity: O(n log n) for n procedures on the queue.
  public nonisolated func cancelAll(_ reason: (any Error)? = nil) { core.cancelAll(reason) }

  /// Waits until all procedures on the queue have finished. Returns immediately if the queue is idle.
  ///
  /// On a suspended queue, the wait can last until the queue is resumed. Cancelling the caller does not shorten the wait. A body can wait
  /// for its own queue to become idle. It then waits neither for itself nor for other bodies that are waiting for the same queue.
  @concurrent public nonisolated func waitUntilIdle() async {
    await core.waitUntilIdle()
  }

  /// The future events of every procedure on the queue, including the nodes of graphs. The newest 65,536 events are buffered.
  ///
  /// Each access creates a new subscription. See ``events(bufferingNewest:)``.
  public nonisolated var events: AsyncStream<ProcedureEvent> { events(bufferingNewest: 65_536) }

  /// Subscribes to the future events of every procedure on the queue.
  ///
  /// The stream ends after the queue is shut down or released. A slow subscriber does not delay any run. When more than `limit` events are
  /// waiting to be read, the oldest are dropped. One ``ProcedureEvent/Kind-swift.struct/gap`` event takes their place and reports how many
  /// were dropped. The subscriber takes all pending events in one batch, so up to `2 * limit` events can be in memory. A body releases its
  /// slot while it waits for an event. Cancelling the task that iterates over the stream ends the stream, and releasing the stream ends the
  /// subscription. The stream is meant for a single consumer: if two tasks iterate over it, each event is delivered to only one of them.
  ///
  /// - Parameter limit: The maximum number of buffered events; `Int.max` to buffer all events. Passing a value below 1 traps.
  /// - Returns: A stream of the events that occur from now on.
  public nonisolated func events(bufferingNewest limit: Int) -> AsyncStream<ProcedureEvent> {
    requirePositive(limit, "ProcedureQueue \"\(name)\": bufferingNewest")
    return core.events(bufferingNewest: limit)
  }
}

extension ProcedureContext {
  /// The queue on which this run executes; `nil` if the run has no queue, or if the last reference to the queue was released.
  public var queue: ProcedureQueue? {
    run.ancestors.lazy.compactMap { run in run.core.read { $0.queue as? ProcedureQueue } }.first { _ in true }
  }
}
