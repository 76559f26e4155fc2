/// An event that the driver sends to advance a run.
///
/// | event | phases in which it advances a run | phases in which it is late |
/// |---|---|---|
/// | `dependenciesSucceeded` | `pending` | every later phase |
/// | `conditionsSatisfied` | `evaluating` | every other phase except `pending` |
/// | `pauseEnded` | `pausing` | every other phase except `pending` and `evaluating` |
/// | `claimGranted`, `claimRefused` | `claiming` | every other phase except `pending` and `evaluating` |
/// | `bodyStarted` | `starting` | none |
/// | `bodyPaused` | `executing` | none |
/// | `bodyEnded` | `starting`, `executing` | `finishing`, `finished` |
/// | `finished` | `finishing` | none |
///
/// An event is late if the run has already advanced, because it was cancelled, refused, or held. The machine ignores a late event and
/// returns `stale`. In every other phase, the event is impossible and indicates an error in the driver, so the machine traps.
enum RunEvent: Sendable, CaseIterable {
  case dependenciesSucceeded, conditionsSatisfied, pauseEnded, claimGranted, claimRefused
  case bodyStarted, bodyPaused, bodyEnded, finished

  /// Returns whether the event advances a run in this phase; `false` if the event is late. Traps if the event is impossible.
  @inline(__always)
  func advances(_ phase: RunPhase) -> Bool {
    let isTransition =
      switch self {
      case .dependenciesSucceeded: phase == .pending
      case .conditionsSatisfied: phase == .evaluating
      case .pauseEnded: phase == .pausing
      case .claimGranted, .claimRefused: phase == .claiming
      case .bodyStarted: phase == .starting
      case .bodyPaused: phase == .executing
      case .bodyEnded: phase == .starting || phase == .executing
      case .finished: phase == .finishing
      }
    precondition(isTransition || isLate(in: phase), "QueueMachine: \(self) is impossible in phase \(phase)")
    return isTransition
  }

  /// Returns whether the event can arrive in the given phase, even if it no longer has an effect there.
  func isLate(in phase: RunPhase) -> Bool {
    switch self {
    case .dependenciesSucceeded: phase != .pending
    case .conditionsSatisfied: phase != .pending && phase != .evaluating
    case .pauseEnded: phase != .pending && phase != .evaluating && phase != .pausing
    case .claimGranted, .claimRefused: phase != .pending && phase != .evaluating && phase != .claiming
    case .bodyEnded: phase == .finishing || phase == .finished
    case .bodyStarted, .bodyPaused, .finished: false
    }
  }
}
