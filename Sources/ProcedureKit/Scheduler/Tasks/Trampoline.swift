import Synchronization

/// Calls what follows from an event in a loop, where each call may cause the next: a chain of a million dependents is no deep recursion.
final class Trampoline: Sendable {
  private struct State {
    var pending: [@Sendable () -> Void] = []
    var isOver = false
  }

  @TaskLocal private static var current: Trampoline?
  private let owner = TaskIdentity.current
  private let state = Mutex(State())

  /// Calls the function: at once, or, within such a call, after the calls that came before.
  static func call(_ function: @escaping @Sendable () -> Void) {
    if let current, current.append(function) { return }
    let trampoline = Trampoline()
    $current.withValue(trampoline) {
      function()
      while let next = trampoline.next() { next() }
    }
  }

  /// Whether the function will be called by the time that the outermost `call` of this task returns. Not if this is another task, which was created
  /// within the loop and inherits the task-local value: it does not wait for the loop.
  private func append(_ function: @escaping @Sendable () -> Void) -> Bool {
    guard TaskIdentity.current == owner else { return false }
    return state.withLock { state in
      if !state.isOver { state.pending.append(function) }
      return !state.isOver
    }
  }

  private func next() -> (@Sendable () -> Void)? {
    let batch = state.withLock { state in
      let batch = state.pending
      state.pending = []
      state.isOver = batch.isEmpty
      return batch
    }
    guard !batch.isEmpty else { return nil }
    return { for function in batch { function() } }
  }
}

/// A task, to be compared with another one.
///
/// Invariant of `@unchecked Sendable`: nothing but the identity of the task and its atomic flag is used, and the flag only while the task executes
/// what has stored the identity.
struct TaskIdentity: Equatable, @unchecked Sendable {
  private let task: UnsafeCurrentTask

  var isCancelled: Bool { task.isCancelled }

  /// The task that executes the caller; `nil` outside of any task.
  static var current: TaskIdentity? { withUnsafeCurrentTask { $0.map(TaskIdentity.init(task:)) } }
}
