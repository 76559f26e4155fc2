/// Where a run stands between its admission and its end.
///
/// Each case names what may follow. `QueueMachine` is the only place that changes a phase.
enum RunPhase: UInt8, Sendable, CaseIterable {
  /// The run waits for its dependencies. Then `held`, `evaluating`, `pausing`, `claiming`, `ready`, `starting`; or `finishing`.
  case pending
  /// The run would be evaluated or claim next, and its queue is suspended. Then `evaluating`, `pausing`, `claiming`, `ready`, `starting`; or
  /// `finishing`.
  case held
  /// The conditions of the run are being evaluated. Then `held`, `pausing`, `claiming`, `ready`, `starting`; or `finishing`.
  case evaluating
  /// The run waits for a timer. Then `held`, `claiming`, `ready`, `starting`; or `finishing`.
  case pausing
  /// The run waits for its resources. Then `ready`, `starting`; or `finishing`.
  case claiming
  /// The run stands in the ready queue. Then `starting`; or `finishing`.
  case ready
  /// The run has its slot and its claim; its hooks are being called. Then `executing`, `pausing`; or `finishing`.
  case starting
  /// The body executes. Then `pausing` or `finishing`.
  case executing
  /// The body has ended: children are awaited, then the hooks of the end. Then `finished`.
  case finishing
  /// The run has ended. Nothing follows.
  case finished

  /// The phases that may follow this one.
  var successors: Set<RunPhase> {
    switch self {
    case .pending: [.held, .evaluating, .pausing, .claiming, .ready, .starting, .finishing]
    case .held: [.evaluating, .pausing, .claiming, .ready, .starting, .finishing]
    case .evaluating: [.held, .pausing, .claiming, .ready, .starting, .finishing]
    case .pausing: [.held, .claiming, .ready, .starting, .finishing]
    case .claiming: [.ready, .starting, .finishing]
    case .ready: [.starting, .finishing]
    case .starting: [.executing, .pausing, .finishing]
    case .executing: [.pausing, .finishing]
    case .finishing: [.finished]
    case .finished: []
    }
  }

  /// Whether the body has not started yet, so that a cancel ends the run at once.
  var isBeforeStart: Bool {
    switch self {
    case .pending, .held, .evaluating, .pausing, .claiming, .ready: true
    case .starting, .executing, .finishing, .finished: false
    }
  }
}
