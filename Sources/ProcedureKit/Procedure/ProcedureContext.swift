/// A body's view of the procedure that it belongs to.
///
/// `current` is bound while a body, a hook or a condition executes. Child tasks inherit the context. A task that outlives the body keeps
/// the context but no longer belongs to the procedure.
public struct ProcedureContext: Sendable {
  @usableFromInline static let bound = TaskLocal(wrappedValue: Bound(nil))

  /// The value of the task-local variable.
  ///
  /// The optional context is wrapped in a structure because the compiler generates the code that copies a structure, whereas copying the
  /// optional itself would require a lookup at run time.
  @usableFromInline
  struct Bound: Sendable {
    let context: ProcedureContext?

    init(_ context: ProcedureContext?) { self.context = context }

    @usableFromInline init(_ run: Run) { context = ProcedureContext(run) }
  }

  /// The context of the procedure that is executing in the current task, or `nil` outside of any procedure.
  public static var current: ProcedureContext? { bound.get().context }

  /// Calls a function without the procedure's context, so tasks that the function creates do not belong to the procedure.
  ///
  /// By default, `Task { … }` inherits the context. `ProcedureContext.detached { Task { … } }` creates a task that does not belong to the
  /// procedure. Other task-local values are kept.
  ///
  /// - Throws: The error that `operation` throws.
  @discardableResult
  public static func detached<R>(_ operation: () throws -> R) rethrows -> R {
    try bound.withValue(Bound(nil), operation: operation)
  }

  enum Frame: Sendable {
    case run(Run)
    /// A graph node that has only a body. Its run is created on demand.
    case node(NodeFrame)
  }

  let frame: Frame

  init(_ run: Run) {
    frame = .run(run)
  }

  init(_ node: NodeFrame) {
    frame = .node(node)
  }

  package var run: Run {
    switch frame {
    case .run(let run): run
    case .node(let node): node.run
    }
  }

  /// The identity of the procedure. Layers, attempts and copies have the identity of the procedure that they belong to.
  public var identity: ProcedureIdentity {
    switch frame {
    case .run(let run): run.identity
    case .node(let node): node.identity
    }
  }

  /// The ID of the procedure.
  public var id: ProcedureID { identity.id }

  /// The name of the procedure.
  public var name: String { identity.name }

  /// The number of the attempt that is executing, starting at 1.
  public var attempt: Int {
    switch frame {
    case .run(let run): Int(run.attempt)
    case .node: 1
    }
  }

  /// Whether the procedure or its task was cancelled, or the procedure is being stopped because a child that it produced failed.
  ///
  /// A cancelled body can call procedures to clean up. In these procedures, this property ignores the earlier cancellation, even if
  /// `Task.isCancelled` is `true`.
  public var isCancelled: Bool {
    switch frame {
    case .run(let run): run.isCancelled
    case .node(let node): node.isCancelled
    }
  }

  /// Whether the procedure that is executing in the current task was cancelled; outside of any procedure, whether the task was cancelled.
  package static var isCurrentCancelled: Bool { current?.isCancelled ?? Task.isCancelled }

  /// Throws `CancellationError` if the procedure in the current task was cancelled or, outside of any procedure, if the task was cancelled.
  package static func checkCancellation() throws {
    if isCurrentCancelled { throw CancellationError() }
  }

  /// The reason given for the cancellation, if any.
  public var cancellationReason: (any Error)? { run.inheritedReason }

  /// The error with which a cancelled wait in the current task ends: the reason for the cancellation, or `CancellationError` if there is
  /// none.
  static var cancellationError: any Error { current?.run.cancellationError ?? CancellationError() }

  /// Cancels the procedure.
  ///
  /// - Parameter reason: The error that `run`, or the `value` of the procedure's handle, throws; `nil` to use `CancellationError`.
  public func cancel(_ reason: (any Error)? = nil) {
    run.reported.cancel(reason)
  }

  /// Executes an operation, and calls `onCancel` when the task or the procedure is cancelled. If either has already been cancelled,
  /// `onCancel` is called immediately.
  ///
  /// A body that executes in its caller's task can be cancelled even though the task is not; see ``isCancelled``. Outside of any procedure,
  /// this function is equivalent to `withTaskCancellationHandler`.
  ///
  /// - Parameters:
  ///   - operation: The operation, which is awaited even after `onCancel` is called.
  ///   - onCancel: The function to call on cancellation. It is called in the task that requests the cancellation, and must return quickly.
  ///     It is called twice if both the task and the procedure are cancelled.
  /// - Returns: The result of `operation`.
  /// - Throws: The error that `operation` throws.
  public nonisolated(nonsending) static func withCancellationHandler<R>(
    operation: nonisolated(nonsending) () async throws -> R, onCancel: @escaping @Sendable () -> Void
  ) async rethrows -> R {
    guard let run = current?.run.nearestUnfinished else {
      return try await withTaskCancellationHandler(operation: operation, onCancel: onCancel)
    }
    return try await run.withTaskAndRunCancellationHandler(operation: operation, onCancel: onCancel)
  }

  // MARK: Waiting

  /// Records that the current body is waiting, releases the body's slot, and executes the operation, which waits for `signal`.
  static func waiting(for wait: RunWait, at signal: OneShotSignal, _ operation: () async -> Void) async {
    guard let run = current?.run.nearestUnfinished else { return await operation() }
    wait.queue?.send { state, _ in state.awaitingBodies += 1 }
    await run.withSlotReleased(for: wait, at: signal) {
      run.searchForDeadlock()
      await operation()
      wait.queue?.send { state, _ in state.awaitingBodies -= 1 }
    }
  }

  /// Waits until a signal is sent, or until the current body or the task is cancelled. Returns `false` if the wait was cancelled. The
  /// caller must have released the slot of the body.
  static func wait(at signal: OneShotSignal) async -> Bool {
    guard let run = current?.run.nearestUnfinished else { return await signal.wait() }
    return await run.wait(at: signal)
  }

  /// Waits for a run's next event or progress value. If the wait is refused because it is part of a deadlock, a run fails: the waiting run
  /// or, if a body awaits its own events, the run of that body (R4).
  ///
  /// - Parameters:
  ///   - awaited: The run whose events or progress are read.
  ///   - hasWaited: Whether the subscription has waited for an event, and its latest wait ended before `awaited` finished.
  ///   - mayReadItself: Whether another task of the body can cause the event. If so, the body is permitted to wait for the event.
  ///   - wait: A function that waits for the event.
  /// - Returns: The event; `nil` after the last one.
  @concurrent static func waitingForEvent<Event: Sendable>(
    of awaited: Run, _ hasWaited: Locked<Bool>, mayReadItself: Bool = false,
    _ wait: @escaping @concurrent @Sendable () async -> Event?
  ) async -> Event? {
    guard let run = current?.run.nearestUnfinished else { return await wait() }
    if awaited.isFinished {
      // The remaining events of the run can be read without waiting.
      let isFirst = hasWaited.withLock { hasWaited in
        defer { hasWaited = false }
        return hasWaited
      }
      if isFirst { run.didAwait(awaited.identity) }
      return await wait()
    }
    let (work, event) = (CancellableTask(), ResultBox<Event?>())
    let isOwn = run.ancestors.contains { $0 === awaited }
    if !isOwn { awaited.setAwaited() }
    // A body can read its own events while other tasks of the body continue.
    await run.withSlotReleased(for: isOwn ? .events(of: awaited.name) : .eventsOfRun(awaited), at: work) {
      if !isOwn {
        run.searchForDeadlock()
      } else if !mayReadItself {
        awaited.failIfAwaitingOwnEvents(run)
      }
      // The body may execute in its caller's task, which cancelling the run does not cancel (C3).
      await run.withRunCancellationHandler {
        await work.execute(startsAtOnce: true) { event.store(.success(await wait())) }
      } onCancel: {
        work.cancel()
      }
    }
    let hasEnded = awaited.isFinished
    hasWaited.withLock { $0 = !hasEnded }
    if hasEnded { run.didAwait(awaited.identity) }
    return (try? event.result?.get()) ?? nil
  }

  /// Releases the current body's slot while an operation waits for other work (Q3).
  ///
  /// The library's own waits release the slot automatically. Use this function for any other wait that only another procedure on the queue
  /// can end. The body continues when it has a slot again. Outside of any procedure, the function only executes the operation. Cancellation
  /// does not end the wait unless the operation responds to it.
  ///
  /// - Parameters:
  ///   - name: The name of the awaited work, for snapshots.
  ///   - operation: The operation. It executes without a slot, so it must only wait, not compute.
  /// - Returns: The result of `operation`.
  @concurrent public static func withSlotReleased<R: Sendable>(
    waitingFor name: String, _ operation: @concurrent @Sendable () async -> R
  ) async -> R {
    guard let run = current?.run.nearestUnfinished else { return await operation() }
    return await run.withSlotReleased(for: .events(of: name), at: OneShotSignal(), operation: operation)
  }

  /// Returns the context of the executing body. Traps outside of any procedure.
  package static func requireCurrent(for name: @autoclosure () -> String) -> ProcedureContext {
    guard let context = current else {
      preconditionFailure("ProcedureTask \"\(name())\": part of a body was executed outside of any procedure")
    }
    return context
  }
}

extension ProcedureContext {
  /// Adds a procedure as a child of the executing procedure. The parent does not finish before the child.
  ///
  /// The child is added to the parent's queue, behind the procedures that are already waiting there at the same priority. Its priority is
  /// at least that of the parent. If the parent has no queue, the child is added to ``ProcedureQueue/shared``. Cancelling the parent
  /// cancels the child.
  ///
  /// If the child fails, the parent's failure policy (``Procedure/onFailure(_:)``) determines what happens. By default, the body and all
  /// other children are cancelled, and the parent fails with the child's error. A child that is ignored, or that is cancelled separately,
  /// does not affect the parent. If the body executes in its caller's task, or in a graph's task, the parent does not own that task and
  /// cannot cancel it. Such a body must check ``isCancelled`` to detect that a child failed.
  ///
  /// A body that is waiting for its children holds no slot, nor does a parent whose body has ended. The children can claim the resources of
  /// the parent; see ``Procedure/exclusive(_:_:)``.
  ///
  /// - Parameters:
  ///   - procedure: The procedure to run.
  ///   - input: The input of the procedure.
  /// - Returns: A handle to the child. If the parent has already ended, the child fails with ``ProcedureError/Kind/producerFinished``.
  /// - Complexity: O(1).
  @discardableResult
  public func produce<P: Procedure>(_ procedure: P, input: P.Input) -> ProcedureHandle<P.Output> {
    add(procedure.procedureTask, input)
  }

  /// Adds a child of the executing procedure to the queue of its children.
  func add<Input, Output>(
    _ task: ProcedureTask<Input, Output>, _ input: Input, isElement: Bool = false
  ) -> ProcedureHandle<Output> {
    let task = task.resolved(for: input)
    let element = ResultElement(task.layer, task.closures, task.body(with: input))
    return ProcedureHandle(add(element, to: run.queueOfChildren, isElement: isElement))
  }

  /// Adds a child of the executing procedure to a queue. If the child is an element of a sequence, its failure is reported only to the
  /// reader of the sequence, not to the parent.
  func add(_ element: ResultElement, to core: QueueCore, isElement: Bool) -> Run {
    let parent = run
    let child = Run(core, element.layer, .added, parent: parent, closures: element.closures, body: element.body)
    parent.start(child, as: isElement ? .element : .child)
    if isCancelled { child.cancel(parent.inheritedReason) }
    return child
  }

  /// Adds a procedure without an input as a child; see ``produce(_:input:)``.
  @discardableResult
  public func produce<P: Procedure>(_ procedure: P) -> ProcedureHandle<P.Output> where P.Input == Void {
    produce(procedure, input: ())
  }

  /// The log of the procedure's queue, or ``ProcedureLog/shared`` if the queue has no log or there is no queue.
  ///
  /// Each message has the metadata `procedure.id`, `procedure.name` and `attempt`. A message from a procedure on a queue also has
  /// `queue.name`. A message from a child or a node also has `parent`, the ID of the parent or the graph.
  public var log: ProcedureLog {
    switch frame {
    case .run(let run): run.log
    case .node(let node):
      node.worker.core.log.from { [node] in
        node.worker.core.logFacts(of: node.identity, attempt: 1, parent: node.worker.reported.id)
      }
    }
  }
}
