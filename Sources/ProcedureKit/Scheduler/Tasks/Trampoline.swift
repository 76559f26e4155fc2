import Synchronization

/// A loop that runs follow-up work iteratively, so that a chain of a million dependents does not overflow the stack.
final class Trampoline: Sendable {
  private struct State {
    var pending: [@Sendable () -> Void] = []
    var hasEnded = false
  }

  @TaskLocal private static var current: Trampoline?
  private let owner = TaskIdentity.current
  private let state = Mutex(State())

  /// Calls a function. Within another `call` in the same task, the function is called later, after the functions that were passed before
  /// it. Otherwise, it is called immediately.
  static func call(_ function: @escaping @Sendable () -> Void) {
    if let current, current.append(function) { return }
    let trampoline = Trampoline()
    $current.withValue(trampoline) {
      function()
      while let batch = trampoline.nextBatch() { for next in batch { next() } }
    }
  }

  /// Appends a function to the loop of the outermost `call` in this task. Returns `false` if the loop has ended, or runs in another task.
  ///
  /// A task that is created within the loop inherits the task-local value `current`, but must not use the loop.
  private func append(_ function: @escaping @Sendable () -> Void) -> Bool {
    guard TaskIdentity.current == owner else { return false }
    return state.withLock { state in
      if !state.hasEnded { state.pending.append(function) }
      return !state.hasEnded
    }
  }

  private func nextBatch() -> [@Sendable () -> Void]? {
    let batch = state.withLock { state in
      let batch = state.pending.takeAll()
      state.hasEnded = batch.isEmpty
      return batch
    }
    return batch.isEmpty ? nil : batch
  }
}

/// The identity of a task, for comparing and cancelling tasks.
///
/// The `@unchecked Sendable` conformance relies on an invariant: only the identity of the task and its atomic cancellation flag are used.
/// The flag is read only while the task executes the code that stored the identity, and is set only while the task cannot end
/// (`CancellableTask`).
struct TaskIdentity: Equatable, @unchecked Sendable {
  private let task: UnsafeCurrentTask

  var isCancelled: Bool { task.isCancelled }

  func cancel() { task.cancel() }

  /// The task that executes the caller; `nil` outside of any task.
  static var current: TaskIdentity? { withUnsafeCurrentTask { $0.map(TaskIdentity.init(task:)) } }
}
