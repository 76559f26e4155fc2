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
