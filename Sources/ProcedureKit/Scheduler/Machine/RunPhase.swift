/// A phase of a run, from its admission to its end (L1).
///
/// | phase | the run | public state |
/// |---|---|---|
/// | `pending` | is waiting for its dependencies | `pending` |
/// | `held` | still has to evaluate its conditions or claim its resources, but its queue is suspended | `evaluating` |
/// | `evaluating` | is evaluating its conditions | `evaluating` |
/// | `pausing` | is waiting for a timer | `pausing` |
/// | `claiming` | is waiting for its resources | `waiting` |
/// | `ready` | is waiting in the ready queue for a slot | `waiting` |
/// | `starting` | has its slot and its claim; its hooks are being called | `executing` |
/// | `executing` | is executing its body | `executing` |
/// | `finishing` | is awaiting its children, then its end hooks | `finishing` |
/// | `finished` | has ended | `finished` |
///
/// The public state of a held run that has no conditions left to evaluate is `waiting`. A run that needs nothing but a slot moves to
/// `ready` even on a suspended queue.
///
/// Only `QueueMachine` changes a phase, and it asserts that `successors` allows the change. `RunEvent` lists the phases in which each event
/// is expected.
enum RunPhase: UInt8, Sendable, CaseIterable {
  case pending, held, evaluating, pausing, claiming, ready, starting, executing, finishing, finished

  /// The phases that can follow this one.
  ///
  /// A phase before the start leads to `finishing` when the run is cancelled or refused (C2), and to `pending` when a dependency is added.
  var successors: Set<RunPhase> {
    switch self {
    case .pending: [.held, .evaluating, .pausing, .claiming, .ready, .starting, .finishing]
    case .held: [.pending, .evaluating, .pausing, .claiming, .finishing]
    case .evaluating: [.pending, .held, .pausing, .claiming, .ready, .starting, .finishing]
    case .pausing: [.pending, .held, .claiming, .ready, .starting, .finishing]
    case .claiming: [.pending, .held, .ready, .starting, .finishing]
    case .ready: [.pending, .held, .starting, .finishing]
    case .starting: [.executing, .finishing]
    case .executing: [.pausing, .finishing]
    case .finishing: [.finished]
    case .finished: []
    }
  }

  /// Returns whether `next` can follow this phase. Every phase can follow itself.
  func leads(to next: RunPhase) -> Bool { self == next || Self.table[Int(rawValue)] & 1 << next.rawValue != 0 }

  /// The successors of each phase, with one bit for each successor.
  private static let table = allCases.map { $0.successors.reduce(into: UInt16(0)) { $0 |= 1 << $1.rawValue } }

  /// Whether the body is not executing, but could still start. If so, cancellation ends the run immediately (C2).
  ///
  /// This is the case before the first execution, and, for a retry or a repetition, from the pause after one execution until the next one
  /// starts.
  var awaitsStart: Bool {
    switch self {
    case .pending, .held, .evaluating, .pausing, .claiming, .ready: true
    case .starting, .executing, .finishing, .finished: false
    }
  }

  /// Returns the public state of a run in this phase (L1).
  ///
  /// - Parameters:
  ///   - needsConditions: Whether the run has conditions that have not been evaluated yet.
  ///   - isPaused: Whether a layer of the procedure is pausing and no layer holds a slot.
  /// - Returns: The state.
  func state(needsConditions: Bool, isPaused: @autoclosure () -> Bool) -> ProcedureState {
    switch self {
    case .pending: .pending
    case .held: needsConditions ? .evaluating : .waiting
    case .evaluating: .evaluating
    case .pausing: .pausing
    case .claiming, .ready: .waiting
    case .starting, .executing: isPaused() ? .pausing : .executing
    case .finishing: .finishing
    case .finished: .finished
    }
  }

  /// The metrics bucket to which the time in this phase is added.
  var metricsBucket: RunMeters.Bucket {
    switch self {
    case .pending: .pending
    case .evaluating: .evaluating
    case .claiming: .claiming
    case .held, .ready: .waiting
    case .pausing: .paused
    case .starting, .executing: .executing
    case .finishing, .finished: .finishing
    }
  }
}
