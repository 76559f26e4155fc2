/// Internal. Decides what becomes of one run: a pure value that is told what happened and says what follows.
///
/// | state        | dependencies settled | conditions settled | resources refused | body started | paused    | resumed        | body ended  | cancel requested   | finished   |
/// |--------------|----------------------|--------------------|-------------------|--------------|-----------|----------------|-------------|--------------------|------------|
/// | `pending`    | → evaluating / finishing | trap           | trap | trap         | trap      | trap           | trap        | → finishing        | trap       |
/// | `evaluating` | trap                 | → waiting / finishing | trap | trap      | trap      | trap           | trap        | → finishing        | trap       |
/// | `waiting`    | trap                 | trap               | → finishing | → executing  | trap      | trap           | trap        | → finishing        | trap       |
/// | `executing`  | trap                 | trap               | trap | trap         | → pausing | trap           | → finishing | noted, goes on     | trap       |
/// | `pausing`    | trap                 | trap               | trap | trap         | trap      | → the one named | → finishing | noted, goes on    | trap       |
/// | `finishing`  | too late             | too late           | too late | too late     | trap      | trap           | trap        | too late           | → finished |
/// | `finished`   | too late             | too late           | too late | too late     | trap      | trap           | trap        | too late           | trap       |
///
/// *Too late* is what a cancel leaves behind: the run was decided while a dependency, a condition or a slot was still on
/// its way. Everything marked *trap* cannot happen. The one that is named for a run that resumes may be `evaluating`, `waiting`
/// or `executing`; a queue names `executing` only, in which a later attempt waits for its conditions and resources.
struct RunLifecycle: Equatable {
  private(set) var state: ProcedureState
  /// Whether a cancel came in time; it decides the outcome, whatever the body does.
  private(set) var isCancelled = false

  /// What something that a run waited for came to.
  enum Verdict: Sendable, CaseIterable {
    case satisfied
    case unsatisfied
  }

  /// What follows from something settled.
  enum Step: Sendable {
    /// The run was decided before: nothing follows.
    case tooLate
    /// The run takes its next step.
    case proceed
    /// The run is over without having executed.
    case finish
  }

  /// How far a cancel reaches.
  enum Reach: Sendable {
    /// The run was decided or cancelled before: nothing follows.
    case nothing
    /// The body has not started and never will: the run is over.
    case beforeBody
    /// The body is under way and has to be told.
    case body
  }

  init(hasDependencies: Bool) {
    state = hasDependencies ? .pending : .evaluating
  }

  /// That of a run without dependencies and conditions whose body has started as it came.
  static let executing = RunLifecycle(state: .executing, isCancelled: false)

  /// That of a run without dependencies and conditions which has just come.
  static let waiting = RunLifecycle(state: .waiting, isCancelled: false)

  private init(state: ProcedureState, isCancelled: Bool) {
    self.state = state
    self.isCancelled = isCancelled
  }

  mutating func dependenciesSettled(_ verdict: Verdict) -> Step {
    settled(verdict, from: .pending, to: .evaluating)
  }

  mutating func conditionsSettled(_ verdict: Verdict) -> Step {
    settled(verdict, from: .evaluating, to: .waiting)
  }

  private mutating func settled(
    _ verdict: Verdict, from expected: ProcedureState, to next: ProcedureState, event: StaticString = #function
  ) -> Step {
    switch state {
    case expected:
      state = verdict == .satisfied ? next : .finishing
      return verdict == .satisfied ? .proceed : .finish
    case .finishing, .finished: return .tooLate
    default: impossible(event)
    }
  }

  /// What the run wants to hold cannot be waited for. Says whether that decides the run.
  mutating func resourcesRefused() -> Bool {
    switch state {
    case .waiting:
      state = .finishing
      return true
    case .finishing, .finished: return false
    case .pending, .evaluating, .executing, .pausing: impossible()
    }
  }

  /// Says whether the body is to be executed.
  mutating func bodyStarted() -> Bool {
    switch state {
    case .waiting:
      state = .executing
      return true
    case .finishing, .finished: return false
    case .pending, .evaluating, .executing, .pausing: impossible()
    }
  }

  mutating func paused() {
    guard state == .executing else { impossible() }
    state = .pausing
  }

  mutating func resumed(at next: ProcedureState) {
    guard state == .pausing, next == .evaluating || next == .waiting || next == .executing else { impossible() }
    state = next
  }

  mutating func bodyEnded() {
    guard state == .executing || state == .pausing else { impossible() }
    state = .finishing
  }

  mutating func cancelRequested() -> Reach {
    guard !isCancelled else { return .nothing }
    switch state {
    case .pending, .evaluating, .waiting:
      isCancelled = true
      state = .finishing
      return .beforeBody
    case .executing, .pausing:
      isCancelled = true
      return .body
    case .finishing, .finished: return .nothing
    }
  }

  mutating func finished() {
    guard state == .finishing else { impossible() }
    state = .finished
  }

  private func impossible(_ event: StaticString = #function) -> Never {
    preconditionFailure("RunLifecycle: \(event) cannot happen in the state \(state)")
  }

  /// For tests: a lifecycle in any state.
  static func inState(_ state: ProcedureState, isCancelled: Bool = false) -> RunLifecycle {
    RunLifecycle(state: state, isCancelled: isCancelled)
  }
}
