/// A job that an exploration could not order, since the job did not go through the exploration's executor.
public struct UncontrolledJob: Hashable, Sendable, CustomStringConvertible {
  /// The way in which a job escaped.
  public enum Reason: Hashable, Sendable {
    /// A foreign thread made a task of the exploration ready.
    ///
    /// Possible causes are dispatch work, a callback of the system, and an actor with an executor of its own; also waits
    /// for real time within actors in tasks without `env.executor`. Waits for real time, work on the main actor and
    /// `Task { … }` are further causes, unless `ScheduleExplorer.controlsRealTime`, `controlsMainActor` and
    /// `controlsGlobalTasks` are `true`.
    case enqueuedFromOutside
  }

  /// The way in which the job escaped.
  public var reason: Reason

  /// The running strand (see `ExplorationFailure.order`); `nil` if there was none.
  public var strand: Int?

  /// The number of steps before the escape.
  public var step: Int

  /// The escape in words, with a remedy.
  public var description: String {
    switch reason {
    case .enqueuedFromOutside:
      "another thread made a task ready at step \(step), after dispatch work, a callback or work on another executor: "
        + "use `env.clock` and `env.executor`"
    }
  }
}
