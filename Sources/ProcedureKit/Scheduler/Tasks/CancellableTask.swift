import Synchronization

/// Internal. One piece of work that can be cancelled without the task that waits for it, because a child of that task executes the work.
///
/// Invariant: the child's task is used only while it is alive: whoever cancels pins it under the lock, at a moment at which
/// it executes the work, calls `cancel()` outside of the lock, because that runs handlers of the user's, and unpins; a child
/// that is pinned does not end.
///
/// `package` for `ProcedureKitRemote`.
package final class CancellableTask: Sendable {
  private struct Child: @unchecked Sendable {
    let task: UnsafeCurrentTask
  }

  private struct State {
    /// As long as it executes the work.
    var child: Child?
    var isCancelled = false
    var pins = 0
    /// The child, once it has nothing to do any more but to be unpinned.
    var waiter: Waiter?
  }

  private let state = Mutex(State())

  package init() {}

  /// Executes the operation in the current task, which `cancel` cancels until the operation has ended.
  @concurrent package func executeHere(_ operation: @concurrent () async -> Void) async {
    start()
    await operation()
    await end()
  }

  /// Executes the work, once, in a child. Cancelling the caller cancels the work, as ``cancel()`` does.
  package func execute(startsAtOnce: Bool, _ operation: @escaping @Sendable () async -> Void) async {
    await Spawner.runChild(startsAtOnce: startsAtOnce) { [self] in
      start()
      await operation()
      await end()
    }
  }

  /// Cancels the work, also if it starts only later. It may still come to something.
  package func cancel() {
    let child = state.withLock { state -> Child? in
      state.isCancelled = true
      if state.child != nil { state.pins += 1 }
      return state.child
    }
    guard let child else { return }
    child.task.cancel()
    let waiter = state.withLock { state in
      state.pins -= 1
      return state.pins == 0 ? state.waiter.take() : nil
    }
    waiter?.resume()
  }

  /// Whether the current task executes the work.
  var isCurrent: Bool {
    let current = withUnsafeCurrentTask { $0 }
    return state.withLock { $0.child != nil && $0.child?.task == current }
  }

  private func start() {
    guard let task = withUnsafeCurrentTask(body: { $0 }) else {
      preconditionFailure("CancellableTask: there is no current task")
    }
    let child = Child(task: task)
    let isCancelled = state.withLock { state in
      state.child = child
      return state.isCancelled
    }
    if isCancelled { task.cancel() }
  }

  private func end() async {
    let isPinned = state.withLock { state in
      state.child = nil
      return state.pins > 0
    }
    guard isPinned else { return }
    await Waiter.suspend { waiter in
      state.withLock { state in
        if state.pins > 0 { state.waiter = waiter }
        return state.pins > 0
      }
    }
  }
}
