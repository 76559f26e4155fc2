/// A piece of work that an exploration could not order, because it did not come to the exploration's executor.
public struct UncontrolledJob: Hashable, Sendable, CustomStringConvertible {
  /// How the work got out of control.
  public enum Reason: Hashable, Sendable {
    /// A task was handed to the global executor, as `Task { … }` does.
    case globalExecutor
    /// A thread that does not belong to the exploration made one of its tasks ready: after a wait for real time
    /// (`Task.sleep`), after work on the main actor or the global executor, or from a callback of the system.
    case enqueuedFromOutside
  }

  /// How the work got out of control.
  public var reason: Reason

  /// The strand (see `ExplorationFailure.order`) that was running, if any.
  public var strand: Int?

  /// The number of steps that the schedule had taken.
  public var step: Int

  /// What happened, in words.
  public var description: String {
    switch reason {
    case .globalExecutor:
      "strand \(strand.map(String.init) ?? "?") handed a job to the global executor at step \(step): "
        + "give the task or the queue `env.executor`"
    case .enqueuedFromOutside:
      "another thread made a task ready at step \(step), after a wait for real time or work on another executor: "
        + "use `env.clock` and `env.executor`"
    }
  }
}
