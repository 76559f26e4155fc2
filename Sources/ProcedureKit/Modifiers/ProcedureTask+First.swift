extension ProcedureTask {
  /// Creates a procedure that starts several procedures with the same input and returns the values of the first ones to succeed.
  ///
  /// The procedures are children of the created procedure's run: each has its own ID, events and modifiers, and waits in line for its own
  /// slot, like a child that a body produces (``ProcedureContext/produce(_:input:)``). The result is certain when `count` procedures have
  /// succeeded, or when too many have failed for `count` to succeed. The other procedures are then cancelled and awaited. A procedure that
  /// is ignored, or cancelled by other code, counts as failed.
  ///
  /// If too few procedures succeed, the run fails with ``ProcedureError/Kind/childrenFailed``, whose ``ProcedureError/Details/failures``
  /// contain all errors. Cancelling the run cancels all procedures, and the run awaits them.
  ///
  /// If one of the procedures is itself waiting for the run, neither could ever end, so one of the waits in the cycle is refused. If the
  /// run's own wait is refused, the procedures are cancelled, and the run fails with ``ProcedureError/Kind/exclusionDeadlock``.
  ///
  /// - Parameters:
  ///   - count: The number of values. Passing a number below 1, or above the number of procedures, traps.
  ///   - procedures: The procedures, in the order in which they are started.
  /// - Returns: A procedure that returns the values in the order in which they arrive.
  public static func first<P: Procedure>(_ count: Int, of procedures: [P]) -> ProcedureTask
  where P.Input == Input, Output == [P.Output] {
    require(
      1...max(1, procedures.count) ~= count && !procedures.isEmpty,
      "first(_:of:): the count must be between 1 and the number of procedures (\(procedures.count)), got \(count)")
    let tasks = procedures.map(\.procedureTask)
    return ProcedureTask("first of \(tasks[0].name)") { input in
      let context = ProcedureContext.requireCurrent(for: "first of \(tasks[0].name)")
      return try await context.first(count, of: tasks, input)
    }
  }

  /// Creates a procedure that starts several procedures with the same input and returns the first value; see ``first(_:of:)``.
  public static func first<P: Procedure>(of procedures: [P]) -> ProcedureTask
  where P.Input == Input, Output == P.Output {
    let several = ProcedureTask<Input, [Output]>.first(1, of: procedures)
    return several.map { $0[0] }
  }
}

/// The state of a race: whether the result is certain, and which procedures had ended by then, in order.
private struct Race: Sendable {
  let count: Int
  private(set) var unfinishedCount: Int
  private(set) var finished: [Int] = []
  private var successCount = 0

  init(_ count: Int, of total: Int) { (self.count, unfinishedCount) = (count, total) }

  var isWon: Bool { successCount == count }
  var isCertain: Bool { isWon || unfinishedCount + successCount < count }

  /// Records that a procedure ended. Returns whether this made the result certain.
  mutating func ended(_ index: Int, isSuccess: Bool) -> Bool {
    let wasCertain = isCertain
    unfinishedCount -= 1
    if wasCertain { return false }
    finished.append(index)
    successCount += isSuccess ? 1 : 0
    return isCertain
  }
}

extension ProcedureContext {
  /// Starts tasks as children of the executing body, and returns the values of the first ones to succeed. A task that fails does not stop
  /// the body.
  fileprivate func first<Input, Output>(
    _ count: Int, of tasks: [ProcedureTask<Input, Output>], _ input: Input
  ) async throws -> [Output] {
    let (race, end) = (Locked(Race(count, of: tasks.count)), OneShotSignal())
    let started = Locked<[ProcedureHandle<Output>]>([])
    for (index, task) in tasks.enumerated() {
      let handle = add(task, input, isElement: true)
      started.withLock { $0.append(handle) }
      // Each procedure is observed before the next one is added, so that procedures are counted in the order in which they finish.
      handle.run.whenFinished { outcome in
        let isSuccess = if case .finished = outcome { true } else { false }
        let (isCertain, isLast) = race.withLock { ($0.ended(index, isSuccess: isSuccess), $0.unfinishedCount == 0) }
        if isCertain { for other in started.withLock({ $0 }) { other.cancel() } }
        if isLast { end.signal() }
      }
      // The result may have become certain before this procedure was added to the list.
      if race.withLock({ $0.isCertain }) { handle.cancel() }
    }
    let handles = started.withLock { $0 }
    let refusal = await run.withSlotReleased { () -> ProcedureError? in
      for handle in handles {
        guard case .refused(let error) = await handle.run.waitForEnd(endsOnCancellation: false) else { continue }
        // A procedure is waiting for this run. Waiting for the other procedures would prolong that wait, so the run ends immediately (R4).
        for other in handles { other.cancel() }
        return error
      }
      // A procedure can finish before its observer, which was added above, has been called.
      await end.waitUntilResolved()
      return nil
    }
    if let refusal { throw refusal }
    let (finished, isWon) = race.withLock { ($0.finished, $0.isWon) }
    var (values, failures): ([Output], [ProcedureFailure]) = ([], [])
    for handle in finished.map({ handles[$0] }) {
      switch await handle.result {
      case .success(let value): values.append(value)
      case .failure(let error): failures.append(ProcedureFailure(procedure: handle.identity, error: error))
      }
    }
    if isWon { return values }
    if isCancelled { throw run.cancellationError }
    throw ProcedureError.childrenFailed(procedure: identity, failures: failures)
  }
}

extension ProcedureQueue {
  /// Runs several procedures with the same input and returns the values of the first ones to succeed.
  ///
  /// ```swift
  /// let page = try await queue.first(of: mirrors, input: path)
  /// ```
  ///
  /// The procedures are children of a run that the caller's task executes. When the result is certain, the other procedures are cancelled
  /// and awaited; see ``ProcedureTask/first(_:of:)``. Cancelling the caller cancels all procedures.
  ///
  /// - Throws: ``ProcedureError/Kind/childrenFailed`` if too few procedures succeed; `CancellationError`, or the reason for the
  ///   cancellation, if the run is cancelled; ``ProcedureError/Kind/queueShutDown`` if the queue is shut down;
  ///   ``ProcedureError/Kind/exclusionDeadlock`` if a procedure is waiting for the run that started it.
  public nonisolated(nonsending) final func first<P: Procedure>(
    _ count: Int, of procedures: [P], input: P.Input
  ) async throws -> [P.Output] {
    try await run(ProcedureTask.first(count, of: procedures), input: input)
  }

  /// Runs several procedures with the same input, and returns the first value; see ``first(_:of:input:)``.
  ///
  /// - Throws: The same errors as ``first(_:of:input:)``.
  public nonisolated(nonsending) final func first<P: Procedure>(
    of procedures: [P], input: P.Input
  ) async throws -> P.Output {
    try await run(ProcedureTask.first(of: procedures), input: input)
  }

  /// Runs several procedures that have no input, and returns the values of the first ones to succeed; see ``first(_:of:input:)``.
  ///
  /// - Throws: The same errors as ``first(_:of:input:)``.
  public nonisolated(nonsending) final func first<P: Procedure>(
    _ count: Int, of procedures: [P]
  ) async throws -> [P.Output] where P.Input == Void {
    try await first(count, of: procedures, input: ())
  }

  /// Runs several procedures that have no input, and returns the first value; see ``first(_:of:input:)``.
  ///
  /// - Throws: The same errors as ``first(_:of:input:)``.
  public nonisolated(nonsending) final func first<P: Procedure>(of procedures: [P]) async throws -> P.Output
  where P.Input == Void {
    try await first(of: procedures, input: ())
  }
}

extension GraphBuilder {
  /// Adds a node that starts several procedures with the value of `node` as their input and returns the values of the first ones to
  /// succeed.
  ///
  /// The other procedures are cancelled and awaited; see ``ProcedureTask/first(_:of:)``.
  public func first<P: Procedure>(_ count: Int, of procedures: [P], from node: Node<P.Input>) -> Node<[P.Output]> {
    add(ProcedureTask.first(count, of: procedures), from: node)
  }

  /// Adds a node that starts several procedures with the value of `node` as their input and returns the first value; see
  /// ``first(_:of:from:)``.
  public func first<P: Procedure>(of procedures: [P], from node: Node<P.Input>) -> Node<P.Output> {
    add(ProcedureTask.first(of: procedures), from: node)
  }

  /// Adds a node that starts several procedures without an input and returns the values of the first ones to succeed; see
  /// ``first(_:of:from:)``.
  public func first<P: Procedure>(_ count: Int, of procedures: [P]) -> Node<[P.Output]> where P.Input == Void {
    add(ProcedureTask.first(count, of: procedures))
  }

  /// Adds a node that starts several procedures without an input and returns the first value; see ``first(_:of:from:)``.
  public func first<P: Procedure>(of procedures: [P]) -> Node<P.Output> where P.Input == Void {
    add(ProcedureTask.first(of: procedures))
  }
}
