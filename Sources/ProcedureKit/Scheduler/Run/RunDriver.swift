/// A namespace for the functions that drive runs by performing the steps that `QueueMachine` returns.
///
/// The task that calls `run` drives its run to the end. A worker stops driving a run when the run has to wait, and then takes the next run.
///
/// The type is `package` because `ProcedureKitDurable` uses it.
package enum RunDriver {
  /// Runs a task without a queue. A task that is run within a body belongs to the body and uses its slot. Any other task runs without
  /// limits (L5).
  ///
  /// If `opensShield` is `true`, cancelling the body does not cancel the task, even if the body has already been cancelled.
  static func run<Input, Output>(
    _ task: ProcedureTask<Input, Output>, _ input: Input, opensShield: Bool = false
  ) async throws -> Output {
    let task = task.resolved(for: input)
    let body = task.body(with: input)
    if let parent = ProcedureContext.current?.run.nearestUnfinished {
      return try await runToEnd(
        Run(
          parent.core, task.layer, .call, parent: parent, attempt: Int(parent.attempt), slotOf: parent.slotOwner,
          opensShield: opensShield, closures: task.closures, body: body))
    }
    return try await runToEnd(Run(.unqueued, task.layer, .structured, parent: nil, closures: task.closures, body: body))
  }

  /// Runs a task as part of the current body. Cancelling the body does not cancel the task, even if the body has already been cancelled.
  static func runShielded<Input, Output: Sendable>(
    _ task: ProcedureTask<Input, Output>, _ input: Input, executor: (any TaskExecutor)?
  ) async throws -> Output {
    try await Spawner.runShielded(executor: executor) { try await run(task, input, opensShield: true) }
  }

  /// Runs a task as a layer or an attempt of the current run.
  ///
  /// If the current run has already finished, `task` runs as a call. This can happen if the calling task outlives the run's body.
  static func runLayer<Input, Output>(
    _ task: ProcedureTask<Input, Output>, _ input: Input, attempt: Int? = nil
  ) async throws -> Output {
    guard let parent = ProcedureContext.current?.run, !parent.isFinished else { return try await run(task, input) }
    let task = task.resolved(for: input)
    return try await runToEnd(
      Run(
        parent.core, task.layer, .layer, parent: parent, attempt: attempt ?? Int(parent.attempt),
        slotOf: parent.slotOwner, closures: task.closures, body: task.body(with: input)))
  }

  /// Runs a task as the current node of an executing graph.
  package static func runNode<Input, Output>(_ task: ProcedureTask<Input, Output>, _ input: Input) async throws
    -> Output
  {
    guard case .node(let frame)? = ProcedureContext.current?.frame else { return try await runLayer(task, input) }
    let task = task.resolved(for: input)
    return try await runToEnd(frame.makeRun(task.layer, task.closures, task.body(with: input)))
  }

  /// Admits a run, drives it to its end in the caller's task, and returns its value.
  @inline(__always)
  private static func runToEnd<Output: Sendable>(_ run: Run) async throws -> Output {
    try await run.driveToEnd(from: run.admit())
  }
}
