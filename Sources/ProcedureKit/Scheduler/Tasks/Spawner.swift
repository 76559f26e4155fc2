/// A namespace for the functions that create the module's unstructured tasks, and the child tasks that execute bodies.
///
/// The type is `package` because `ProcedureKitDurable` and `ProcedureKitRemote` use it.
package enum Spawner {
  /// Starts the task that owns a group of a queue's workers.
  ///
  /// The task is unstructured, because added procedures outlive the caller of `add`. It is detached so that it inherits neither the
  /// priority nor the task-local values of that caller. It is never cancelled. It ends after the queue closes the group. Groups that are
  /// still open are closed when the queue's core is deallocated, after the queue's last procedure has ended.
  static func startGroup(_ workers: WorkerGroup, executor: (any TaskExecutor)?) {
    Task.detached(executorPreference: executor) { await runGroup(workers) }
  }

  /// Executes the commands that are sent to `workers`, and runs the workers as children of one task group. Returns when the group is closed
  /// and all of its workers have ended.
  ///
  /// Cancelling the caller cancels the workers.
  static func runGroup(_ workers: WorkerGroup) async {
    await withDiscardingTaskGroup { group in
      while let commands = await workers.nextCommands() {
        for command in commands {
          switch command {
          case .add(let work): group.addTask { await work() }
          case .cancelAll: group.cancelAll()
          }
        }
      }
    }
  }

  /// Executes `operation` in a child of the current task and returns when the child ends. Cancelling the caller cancels the child.
  ///
  /// If `startsAtOnce` is `true` and the runtime supports it, the child starts on the caller's stack, which halves the cost of an operation
  /// that does not suspend. Callers must not use this option in deep recursion, because the stack could overflow.
  static func runChild(startsAtOnce: Bool, _ operation: @escaping @Sendable () async -> Void) async {
    await withDiscardingTaskGroup { group in
      if startsAtOnce, #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
        group.addImmediateTask { await operation() }
      } else {
        group.addTask { await operation() }
      }
    }
  }

  /// Executes an operation that is not affected by cancellation of the current task, whether before or during the call (SE-0504).
  ///
  /// Before Swift 6.4, and on Apple platforms before version 27, an unstructured task executes the operation, with the task-local values
  /// and the priority of the current task. The task is awaited, so it does not outlive the call. The operation is shielded because nothing
  /// cancels this task. To end the operation early, cancel the work that it runs.
  ///
  /// The unstructured task executes on `executor`. If `executor` is `nil`, it executes on the preferred executor of the current task, like
  /// a child task.
  package static func runShielded<R: Sendable>(
    executor: (any TaskExecutor)?, _ operation: @escaping @Sendable () async throws -> R
  ) async throws -> R {
    #if compiler(>=6.4)
      if #available(macOS 27, iOS 27, tvOS 27, watchOS 27, visionOS 27, *) {
        return try await withTaskCancellationShield { try await operation() }
      }
    #endif
    return try await Task(executorPreference: executor ?? preferredExecutor) { try await operation() }.value
  }

  /// The preferred executor of the current task, which an unstructured task does not inherit.
  private static var preferredExecutor: (any TaskExecutor)? {
    guard #available(macOS 26.4, iOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *) else { return nil }
    return withUnsafeCurrentTask { $0?.unownedTaskExecutor?.asTaskExecutor() }
  }

  /// Starts a detached task. `Timers` uses this function for the task that sleeps until the next timer is due. A remote worker uses it for
  /// the task that sends the answer, and awaits that task.
  ///
  /// The tasks are detached, because a timer is independent of the task that set it, and a cancelled worker must still answer. `Timers`
  /// cancels the tasks that it starts.
  package static func startDetached(
    executor: (any TaskExecutor)? = nil, _ body: @escaping @Sendable () async -> Void
  ) -> Task<Void, Never> {
    Task.detached(executorPreference: executor) { await body() }
  }

  /// Starts a task that evaluates the conditions of one layer of an added run. The task inherits the task-local values and the priority of
  /// the current task.
  ///
  /// The task is unstructured, because the layer does not wait for conditions that ignore their cancellation (K1). The caller cancels the
  /// task if the layer is cancelled.
  static func startEvaluation(
    executor: (any TaskExecutor)?, _ body: @escaping @Sendable () async -> Void
  ) -> Task<Void, Never> {
    Task(executorPreference: executor) { await body() }
  }
}
