import Synchronization

/// Internal. The one place that creates tasks; nothing else in the library does.
enum Spawner {
  /// Starts the task that owns a queue's workers.
  ///
  /// It is unstructured, because what `add` was given outlives whoever added it, and detached, so that it carries nothing
  /// of the task that happened to add first. Nobody cancels it: it ends when its desk is closed, which the queue does
  /// when its last reference has gone and its last procedure has finished.
  static func startCrew(at desk: CrewDesk, executor: (any TaskExecutor)?) {
    Task.detached(executorPreference: executor) {
      await runCrew(at: desk)
    }
  }

  /// Runs the workers that the desk asks for as children of one task group. Returns when the desk has been closed and all
  /// of them have ended. Cancelling the caller cancels the workers.
  static func runCrew(at desk: CrewDesk) async {
    await withDiscardingTaskGroup { group in
      while let orders = await desk.next() {
        for order in orders {
          switch order {
          case .add(let priority, let work): group.addTask(priority: priority) { await work() }
          case .cancelAll: group.cancelAll()
          }
        }
      }
    }
  }

  /// Executes `operation` in a child of the current task. Returns when it has ended. Cancelling the caller cancels the child.
  ///
  /// - Parameters:
  ///   - startsAtOnce: Whether the child starts on the caller's stack, if the runtime can do that: what does not suspend costs
  ///     half as much then. To be denied where there may be many on the stack already.
  ///   - operation: What the child does.
  static func runChild(startsAtOnce: Bool, _ operation: @escaping @Sendable () async -> Void) async {
    await withDiscardingTaskGroup { group in
      if startsAtOnce, #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
        group.addImmediateTask { await operation() }
      } else {
        group.addTask { await operation() }
      }
    }
  }

  /// Starts the task that sleeps for the timers of a queue.
  ///
  /// It is detached: what is due has nothing to do with the task that happened to set the nearest timer. Whoever starts it
  /// cancels it when nobody waits for it any more.
  static func startSleeper(
    executor: (any TaskExecutor)?, _ body: @escaping @Sendable () async -> Void
  ) -> Task<Void, Never> {
    Task.detached(executorPreference: executor) { await body() }
  }

  /// Calls `operation` for each number below `count`, all at once, until one result is conclusive or none is left.
  ///
  /// Returns after all calls have returned; those that are left when a conclusive result comes are cancelled. Cancelling
  /// the caller cancels them all.
  ///
  /// - Returns: The results by number, `nil` where a call was cut short by a conclusive one; and the conclusive one.
  static func runAll<Result: Sendable>(
    _ count: Int, operation: @escaping @Sendable (Int) async -> Result, until isConclusive: (Result) -> Bool
  ) async -> (results: [Result?], conclusive: Result?) {
    await withTaskGroup(of: (Int, Result).self) { group in
      for index in 0..<count {
        group.addTask { (index, await operation(index)) }
      }
      var results = [Result?](repeating: nil, count: count)
      var conclusive: Result?
      for await (index, result) in group where conclusive == nil {
        results[index] = result
        if isConclusive(result) {
          conclusive = result
          group.cancelAll()
        }
      }
      return (results, conclusive)
    }
  }
}
