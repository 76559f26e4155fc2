/// Internal. The one place that creates unstructured tasks, and the children that execute bodies.
///
/// `package` for `ProcedureKitRemote`.
package enum Spawner {
  /// Starts the task that owns a group of a queue's workers.
  ///
  /// The task is unstructured, because added procedures outlive the caller of `add`, and detached, so that it carries nothing of that caller.
  /// Nobody cancels the task: it ends when the queue closes the inbox, after the queue's last reference and last procedure have gone.
  static func startGroup(from inbox: WorkerGroup, executor: (any TaskExecutor)?) {
    Task.detached(executorPreference: executor) { await runGroup(from: inbox) }
  }

  /// Runs the workers that the inbox orders as children of one task group. Returns when the inbox has been closed and all workers have ended.
  /// Cancelling the caller cancels the workers.
  static func runGroup(from inbox: WorkerGroup) async {
    await withDiscardingTaskGroup { group in
      while let orders = await inbox.next() {
        for order in orders {
          switch order {
          case .add(let work): group.addTask { await work() }
          case .cancelAll: group.cancelAll()
          }
        }
      }
    }
  }

  /// Executes `operation` in a child of the current task, and returns when the child has ended. Cancelling the caller cancels the child.
  ///
  /// A child that starts at once begins on the caller's stack, if the runtime can do that: an operation that does not suspend costs half as
  /// much then. Not where many may be on the stack already.
  static func runChild(startsAtOnce: Bool, _ operation: @escaping @Sendable () async -> Void) async {
    await withDiscardingTaskGroup { group in
      if startsAtOnce, #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
        group.addImmediateTask { await operation() }
      } else {
        group.addTask { await operation() }
      }
    }
  }

  /// Starts the task that sleeps for the timers of a queue, or the task that sends the answer of a remote worker, which awaits the task.
  ///
  /// The task is detached: a due timer has nothing to do with the task that set the timer, and a cancelled worker still answers. `Timers` cancels the sleeper.
  package static func startDetached(
    executor: (any TaskExecutor)? = nil, _ body: @escaping @Sendable () async -> Void
  ) -> Task<Void, Never> {
    Task.detached(executorPreference: executor) { await body() }
  }

  /// Starts the task that evaluates the conditions of a part of an added run, with the task-local values and the priority of the current task.
  ///
  /// The task is unstructured, because the part ends without the conditions that ignore their cancellation (K1). The part cancels the task.
  static func startBeside(
    executor: (any TaskExecutor)?, _ body: @escaping @Sendable () async -> Void
  ) -> Task<Void, Never> {
    Task(executorPreference: executor) { await body() }
  }
}
