/// A problem of one schedule.
public enum ExplorationProblem: Sendable, CustomStringConvertible {
  /// An expectation of `ExplorationEnvironment.check` did not hold.
  case check(FailedCheck)
  /// The body threw.
  case thrown(any Error)
  /// The schedule stood still before the body had finished.
  case deadlock(Deadlock)
  /// The schedule was stopped at the step limit.
  case endless(steps: Int)
  /// Work escaped from the exploration's control, so that a replay may behave differently.
  case uncontrolled(UncontrolledJob)

  /// The problem in words.
  public var description: String {
    switch self {
    case .check(let check): "expectation failed: \(check)"
    case .thrown(let check as FailedCheck): "requirement failed: \(check)"
    case .thrown(let error): "the body threw: \(error)"
    case .deadlock(let deadlock): deadlock.description
    case .endless(let steps): "still not finished after \(steps.counting("step"))"
    case .uncontrolled(let job): "uncontrolled: \(job)"
    }
  }

  /// The kind of problem. Shrinking accepts only schedules with a problem of equal kind.
  var kind: String {
    switch self {
    case .check(let check): "check \(check.fileID):\(check.line)"
    case .thrown(let check as FailedCheck): "thrown \(check.fileID):\(check.line)"
    case .thrown(let error): "thrown \(type(of: error))"
    case .deadlock: "deadlock"
    case .endless: "endless"
    case .uncontrolled(let job): "uncontrolled \(job.reason)"
    }
  }
}
