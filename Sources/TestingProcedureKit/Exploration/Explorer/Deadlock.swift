/// A schedule that cannot continue: its body has not finished, but no job is ready and no task is sleeping.
///
/// A schedule is also reported as deadlocked if tasks wait for each other's explored locks, or if it waits longer than
/// `ScheduleExplorer.patience` for work outside the exploration's control.
public struct Deadlock: Hashable, Sendable, CustomStringConvertible {
  /// What happened to the blocked tasks after the deadlock was detected.
  @frozen
  public enum Aftermath: Hashable, Sendable {
    /// The body ended when its task was cancelled.
    case endedByCancelling
    /// The body ignored the cancellation, or tasks were waiting for each other's explored locks. The tasks of the schedule were abandoned,
    /// and their memory is leaked.
    case abandoned
  }

  /// The number of tasks in the schedule, including tasks that have ended.
  public var tasks: Int

  /// The virtual time at which the deadlock occurred.
  public var instant: VirtualClock.Instant

  /// Descriptions of what the queues and procedures are waiting for.
  ///
  /// The descriptions come from the busy queues created with `ExplorationEnvironment.makeQueue`, the unfinished procedures passed to
  /// `ExplorationEnvironment.watch`, and the closures passed to `ExplorationEnvironment.explainDeadlock`.
  public var waits: [String]

  /// The tasks that have not ended. The array is empty if the schedule was not run again to produce a report.
  public var stuck: [StuckTask] = []

  /// What happened to the blocked tasks after the deadlock was detected.
  public var aftermath: Aftermath

  /// The tasks that are waiting for each other's explored locks; `nil` for any other deadlock.
  public var locks: LockCycle?

  /// A description of the deadlock, and of the tasks or waits involved.
  public var description: String {
    if let locks {
      let members = locks.members.map { "\n    \($0)" }.joined()
      return locks.members.count == 1
        ? "deadlock at \(instant): a task requests a lock that it already holds:\(members)"
        : "deadlock at \(instant): tasks are waiting for each other's locks:\(members)"
    }
    var text = "deadlock at \(instant): no job is ready, no task is sleeping, and the body has not finished"
    text +=
      "; a deadlock is also reported if a task waits longer than `patience` for a real-time clock or for work outside the schedule"
    text += " (\(tasks.counting("task")) in the schedule)"
    switch aftermath {
    case .endedByCancelling: text += "; cancelling the body resolved the deadlock"
    case .abandoned:
      text += "; cancelling the body did not resolve the deadlock, and the tasks of the schedule were abandoned"
    }
    return
      ([text] + stuck.map { "    stuck: \($0)" } + waits.map { "    waits: \($0.replacing("\n", with: "\n    "))" })
      .joined(separator: "\n")
  }
}

/// A task that cannot end because of the deadlock.
public struct StuckTask: Hashable, Sendable, CustomStringConvertible {
  /// The number of the task; see `ExplorationFailure.order` for how tasks are numbered.
  public var task: Int

  /// The task's number, followed by its `Task.name` if the name is known.
  public var title: String

  /// The number and the name of the task that started this one; `nil` for the body, and for a task that was started outside the
  /// exploration.
  public var starter: String?

  /// The number of the step in which the task was started, counting from `1`; `0` for the body, and for a task that was started outside the
  /// exploration.
  public var firstStep: Int

  /// The number of the task's last step, counting from `1`. The task has been waiting since that step. The number is `0` if the task never
  /// ran.
  public var lastStep: Int

  /// The last event of the task, such as a note, a check, a sleep, or the start of another task; `nil` if there was no event.
  public var lastEvent: String?

  /// The task, its origin, its last step and its last event, on one line.
  public var description: String {
    var text = "task \(title)"
    if let starter { text += ", started by \(starter) at step \(firstStep)," }
    text += lastStep > 0 ? " has been waiting since step \(lastStep)" : " has never run"
    return text + (lastEvent.map { "; last event: \($0)" } ?? "")
  }
}

/// A schedule that does not end. Its tasks keep running, but the body does not finish within the step limit.
///
/// To find the reason, the explorer lets the tasks take turns for a number of steps after the limit is reached.
public struct Livelock: Hashable, Sendable, CustomStringConvertible {
  /// The step limit that the schedule reached.
  public var steps: Int

  /// The numbers and names of the tasks that kept running after the step limit was reached.
  public var tasks: [String]

  /// The repeating order in which the tasks take turns; `nil` if the order does not repeat.
  public var cycle: [Int]?

  /// The number of additional steps that the body needed to finish while the tasks took turns; `nil` if the body did not finish.
  ///
  /// If the body finished, the schedule was merely long, or a task was starved, for example by another task that yields in a loop.
  public var furtherSteps: Int?

  /// A description of the livelock.
  public var description: String {
    var text = "still not finished after \(steps.counting("step"))"
    if let furtherSteps {
      return text + "; the body finished after \(furtherSteps.counting("more step")) in which the tasks took turns"
    }
    let shown = tasks.prefix(8).joined(separator: ", ") + (tasks.count > 8 ? ", …" : "")
    if let cycle {
      let order = cycle.prefix(16).map(String.init).joined(separator: " ") + (cycle.count > 16 ? " …" : "")
      text += "; tasks that run in a loop: \(shown) (repeating order: \(order))"
    } else if !tasks.isEmpty {
      text += "; tasks that are still running: \(shown)"
    }
    return text
  }

  /// Returns the shortest sequence that repeats throughout the second half of `order`; `nil` if there is none.
  static func cycle(of order: [Int]) -> [Int]? {
    let half = order.count / 2
    guard order.count >= 16 else { return nil }
    let length = (1...(half / 4)).first { length in
      (half..<order.count).allSatisfy { order[$0] == order[$0 - length] }
    }
    return length.map { Array(order.suffix($0)) }
  }
}
