/// What is wrong with one schedule.
public enum ExplorationProblem: Sendable, CustomStringConvertible {
  /// `ExplorationEnvironment.check` found that an expectation does not hold.
  case check(FailedCheck)
  /// The body threw.
  case thrown(any Error)
  /// Nothing could go on, although the body had not finished.
  case deadlock(Deadlock)
  /// The schedule was stopped after this many steps: it is endless, or the limit too low.
  case endless(steps: Int)
  /// Work got out of the exploration's control, so that the schedule may run differently another time.
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

  /// Problems of one kind count as the same when a failing schedule is made simpler.
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
