/// A problem that occurred in one schedule.
@nonexhaustive
public enum ExplorationProblem: Sendable, CustomStringConvertible {
  /// An expectation was not met, for example one that was passed to `ExplorationEnvironment.check`.
  case check(FailedCheck)
  /// The body threw an error.
  case thrown(any Error)
  /// The schedule deadlocked before the body finished.
  case deadlock(Deadlock)
  /// The tasks acquired explored locks in a cycle. If the tasks run in a different order, they can deadlock.
  case lockOrder(LockCycle)
  /// The schedule was stopped at the step limit. Its tasks run in a loop, or the schedule is very long.
  case endless(Livelock)
  /// A step did not end within `ScheduleExplorer.stepTimeout`, because it was waiting for a lock or a semaphore, or was in an infinite
  /// loop.
  case hanging(task: Int, step: Int)
  /// The same choices led to different runs, so the body is not deterministic.
  case nondeterminism(step: Int)
  /// Work escaped the exploration's control, so a replay may run differently.
  case uncontrolled(UncontrolledJob)

  /// A description of the problem.
  public var description: String {
    switch self {
    case .check(let check): "expectation failed: \(check)"
    case .thrown(let check as FailedCheck): "requirement failed: \(check)"
    case .thrown(let error): "the body threw: \(error)"
    case .deadlock(let deadlock): deadlock.description
    case .lockOrder(let cycle): "possible deadlock: locks are acquired in a cycle: \(cycle)"
    case .endless(let livelock): livelock.description
    case .hanging(let task, let step):
      "step \(step) of the schedule did not end: task \(task) is waiting for a lock or a semaphore, or is looping"
    case .nondeterminism(let step):
      "the same choices led to different runs at or before step \(step). Possible causes: random numbers, the time of day, the order "
        + "of a Set or Dictionary, state that outlives a schedule, and work on other threads"
    case .uncontrolled(let job): "uncontrolled: \(job)"
    }
  }

  /// What happens in a schedule with this problem, worded as the end of the sentence "There is an order of your tasks in which …".
  var summary: String {
    switch self {
    case .check: "this expectation fails"
    case .thrown(is FailedCheck): "this requirement fails"
    case .thrown: "the body throws this error"
    case .deadlock(let deadlock) where deadlock.locks?.members.count == 1:
      "a task waits forever for a lock that it already holds"
    case .deadlock(let deadlock) where deadlock.locks != nil: "tasks wait forever for each other's locks"
    case .deadlock: "no task can continue"
    case .lockOrder: "locks are acquired in a cycle"
    case .endless(let livelock):
      livelock.furtherSteps == nil ? "the tasks never end" : "the tasks exceed the step limit"
    case .hanging: "a step never ends"
    case .nondeterminism: "the same choices lead to different runs"
    case .uncontrolled: "work escapes the exploration's control"
    }
  }

  /// The livelock; `nil` for any other problem.
  var livelock: Livelock? { if case .endless(let livelock) = self { livelock } else { nil } }

  /// The kind of the problem. A simpler schedule is accepted only if it has a problem of the same kind.
  var kind: String {
    switch self {
    case .check(let check): "check \(check.fileID):\(check.line)"
    case .thrown(let check as FailedCheck): "thrown \(check.fileID):\(check.line)"
    case .thrown(let error): "thrown \(type(of: error))"
    case .deadlock: "deadlock"
    case .lockOrder: "lock order"
    case .endless: "endless"
    case .hanging: "hanging"
    case .nondeterminism: "nondeterminism"
    case .uncontrolled(let job): "uncontrolled \(job.reason)"
    }
  }
}

/// A job that escaped the exploration's control, or the use of an object that the schedule does not control.
public struct UncontrolledJob: Hashable, Sendable, CustomStringConvertible {
  /// How a job escaped the exploration's control.
  @nonexhaustive
  public enum Reason: Hashable, Sendable {
    /// A thread outside the exploration made one of the exploration's tasks ready.
    ///
    /// Possible causes are work on a dispatch queue, a callback from the system, an actor with its own executor, and `Task.immediate`
    /// outside any actor. Without `executorPreference: env.executor`, an immediate task first runs on the default executor of the process.
    /// Other causes are real-time waits if `ScheduleExplorer.controlsRealTime` is `false`, work on the main actor if `controlsMainActor` is
    /// `false`, and `Task { … }` if `controlsGlobalTasks` is `false`.
    case enqueuedFromOutside
    /// The schedule used a clock or an executor that was created in another schedule or outside the exploration.
    ///
    /// Work that uses such an object depends on other schedules, and this schedule does not control that work.
    case outlivesSchedule
  }

  /// How the job escaped the exploration's control.
  public var reason: Reason

  /// The number of the task that was running when the job escaped (see `ExplorationFailure.order`); `nil` if the job came from another
  /// thread, or if no task was running.
  public var task: Int?

  /// The number of steps before the job escaped.
  public var step: Int

  /// A description of what happened and how to prevent it.
  public var description: String {
    switch reason {
    case .enqueuedFromOutside:
      "another thread made a task ready at step \(step). Possible causes: work on a dispatch queue, a callback, work on another executor, or "
        + "a `Task.immediate` outside any actor. Use `env.clock`, and pass `executorPreference: env.executor` "
        + "when you create a task."
    case .outlivesSchedule:
      "step \(step) used a clock, a queue or a task that was created in another schedule or outside the exploration. "
        + "Create the clock, the queue or the task in the body."
    }
  }
}

/// The error that is thrown when a replay runs the tasks in a different order from the failing schedule.
///
/// The replay string may belong to another body, to another kind of build (debug or release), or to an earlier version of the code.
/// Otherwise, the body is not deterministic. For example, it may depend on random numbers from a source other than
/// `ExplorationEnvironment.random`, the time of day, the order of a `Set` or `Dictionary`, state that outlives a schedule, or work on other
/// threads.
public struct ReplayDiverged: Error, Sendable, CustomStringConvertible {
  /// The step, counting from `1`, at which the orders begin to differ, or a step shortly after it.
  public var step: Int

  /// The number of steps in the failing schedule.
  public var expectedSteps: Int

  /// The actual order of tasks; see `ExplorationFailure.order`.
  public var order: [Int]

  /// The problems of the replay. An empty array means that the body passed.
  public var problems: [ExplorationProblem]

  /// A description of the divergence and its possible causes.
  public var description: String {
    "the replay diverged at or before step \(step) of \(expectedSteps) (now \(order.count.counting("step"))). "
      + "Possible causes: the replay string belongs to different code or another build, or the body is not deterministic"
      + problems.map { "\n  \($0)" }.joined()
  }
}
