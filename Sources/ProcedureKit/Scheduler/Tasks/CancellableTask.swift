import Synchronization

/// Work that executes in a child task, so that it can be cancelled without cancelling the task that awaits it.
///
/// Invariant: the child's task is used only while it is alive. If the child is executing the work, `cancel` pins the child under the lock,
/// cancels it after releasing the lock, and then unpins it. The lock is released first because cancellation calls the user's handlers. A
/// child cannot end while it is pinned.
///
/// The class is `package` because `ProcedureKitRemote` uses it.
package final class CancellableTask: Sendable {
  private struct State {
    /// The child, while it executes the work.
    var child: TaskIdentity?
    var isCancelled = false
    var pins = 0
    /// The child, while it waits to be unpinned after its work has ended.
    var waiter: Waiter?
  }

  private let state = Mutex(State())

  package init() {}

  /// Executes the operation in the current task. Until the operation ends, `cancel` cancels this task.
  @concurrent package func executeHere(_ operation: @concurrent () async -> Void) async {
    start()
    await operation()
    await end()
  }

  /// Executes the work once, in a child. Cancelling the caller cancels the work, as ``cancel()`` does.
  package func execute(startsAtOnce: Bool, _ operation: @escaping @Sendable () async -> Void) async {
    await Spawner.runChild(startsAtOnce: startsAtOnce) { [self] in
      start()
      await operation()
      await end()
    }
  }

  /// Cancels the work, even if it has not started. The work may still complete normally.
  package func cancel() {
    let child = state.withLock { state -> TaskIdentity? in
      state.isCancelled = true
      if state.child != nil { state.pins += 1 }
      return state.child
    }
    guard let child else { return }
    child.cancel()
    let waiter = state.withLock { state in
      state.pins -= 1
      return state.pins == 0 ? state.waiter.take() : nil
    }
    waiter?.resume()
  }

  /// Whether the current task is executing the work.
  var isCurrent: Bool {
    let current = TaskIdentity.current
    return state.withLock { $0.child != nil && $0.child == current }
  }

  /// Registers the current task as the one that executes the work, and cancels it if the work has already been cancelled.
  private func start() {
    guard let child = TaskIdentity.current else { preconditionFailure("CancellableTask: there is no current task") }
    let isCancelled = state.withLock { state in
      state.child = child
      return state.isCancelled
    }
    if isCancelled { child.cancel() }
  }

  /// Unregisters the current task, and waits until no call to `cancel` is using it.
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
