/// A problem of one schedule.
public enum ExplorationProblem: Sendable, CustomStringConvertible {
  /// An expectation of `ExplorationEnvironment.check` did not hold.
  case check(FailedCheck)
  /// The body threw.
  case thrown(any Error)
  /// The schedule stood still before the body had finished.
  case deadlock(Deadlock)
  /// The schedule took explored locks in a circle, which is a deadlock in another order.
  case lockOrder(LockCycle)
  /// The schedule was stopped at the step limit: its tasks go round and round, or it is very long.
  case endless(Livelock)
  /// A step did not end within `ScheduleExplorer.stepTimeout`: it waits for a lock or a semaphore, or loops forever.
  case hanging(strand: Int, step: Int)
  /// Equal choices ran differently: the body is not deterministic.
  case nondeterminism(step: Int)
  /// Work escaped from the exploration's control, so that a replay may behave differently.
  case uncontrolled(UncontrolledJob)

  /// The problem in words.
  public var description: String {
    switch self {
    case .check(let check): "expectation failed: \(check)"
    case .thrown(let check as FailedCheck): "requirement failed: \(check)"
    case .thrown(let error): "the body threw: \(error)"
    case .deadlock(let deadlock): deadlock.description
    case .lockOrder(let circle): "possible deadlock, since locks are taken in a circle: \(circle)"
    case .endless(let livelock): livelock.description
    case .hanging(let strand, let step):
      "step \(step) of strand \(strand) does not end: it waits for a lock or a semaphore, or loops forever"
    case .nondeterminism(let step):
      "equal choices ran differently by step \(step): look for random numbers, the time of day, the order of a Set or "
        + "Dictionary, state that outlives a schedule, and work on other threads"
    case .uncontrolled(let job): "uncontrolled: \(job)"
    }
  }

  /// The livelock; `nil` for another problem.
  var livelock: Livelock? { if case .endless(let livelock) = self { livelock } else { nil } }

  /// The kind of problem. Shrinking accepts only schedules with a problem of equal kind.
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
