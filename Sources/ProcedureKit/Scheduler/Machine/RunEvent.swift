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
/// An event is late if the run is no longer in the phase that the event ends, for example because it was cancelled, refused, or held. A
/// late event does not advance the run, and the machine returns `stale`. In every other phase, the event is impossible and indicates an
/// error in the driver, so the machine traps.
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

  /// Returns whether the event is late in the given phase, that is, whether it can arrive there although it no longer advances the run.
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
