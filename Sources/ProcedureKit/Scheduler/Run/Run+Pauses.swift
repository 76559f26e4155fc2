/// A retry, or a repetition after a success. It decides how many times the body of a run executes (T2).
///
/// After each execution, the repetition decides whether another one follows. The run releases its slot and its resources for the pause (Q3,
/// R2).
protocol Repetition: AnyObject, Sendable {
  /// Executes the body once more.
  func execute(in run: Run) async throws -> any Sendable

  /// Decides, in the task and the context of the body, whether another execution follows.
  ///
  /// - Returns: The pause before the next execution; `nil` if the run ends with this result.
  func pause(after result: Result<any Sendable, any Error>, in run: Run) async -> Pause?

  /// Called when the run ends during the pause before another attempt.
  func attemptAbandoned()
}

/// The pause before another execution of a body.
struct Pause: Sendable {
  let duration: Duration
  /// The error of the attempt before the pause, if the attempt failed.
  var error: (any Error)?
}

extension Run {
  // MARK: Pauses

  /// Starts the pause before the next execution: the run releases its slot and the resources of all layers of the procedure (Q3, R2).
  ///
  /// - Returns: The next step; `finish` if the run was cancelled or stopped.
  func paused(_ duration: Duration) -> RunStep {
    let layers = [self] + enclosingLayers
    releaseResources(layers)
    let prerequisites: QueueMachine.Prerequisites =
      layers.contains { $0.layer.prerequisites.contains(.claim) } ? .claim : []
    let isCancelled = core.send { state, effects in
      guard !state.runs[self].details.preventsStart else { return true }
      state.machine.bodyPaused(state.runs[self].member, prerequisites: prerequisites, &effects.next)
      // An emptied dictionary keeps its memory. Replacing it releases the memory, which matters because many runs can be pausing at the
      // same time.
      if state.runs[self].details.children.byID.isEmpty { state.runs[self].details.children.byID = [:] }
      return false
    }
    return isCancelled ? .finish : pause(for: duration)
  }

  /// Starts the delay of the layer. Returns `wait` if a timer was started; otherwise, returns the next step.
  func startPause() -> RunStep {
    let delay = core.read { $0.runs[self].details.pause.end == nil ? layer.traits.delay : nil }
    return pause(for: delay ?? .zero)
  }

  /// Starts a pause. Returns `wait` if a timer was started; otherwise, returns the next step.
  func pause(for duration: Duration) -> RunStep {
    guard duration > .zero else {
      return core.send { state, effects in state.machine.pauseEnded(state.runs[self].member, &effects.next) }
    }
    let timers = core.timers
    let end = timers.now.advanced(by: duration.saturated.roundedUpToNanoseconds)
    core.update { $0[self].details.pause.end = end }
    let timer = timers.schedule(at: end) { [self] in
      core.send { state, effects in
        let step = state.machine.pauseEnded(state.runs[self].member, &effects.next)
        if step != .stale { state.runs[self].details.pause.timer = nil }
        QueueCore.deliver(step, to: self, &state.runs, &effects)
      }
    }
    let isPausing = core.send { state, _ in
      guard state.machine.phase(of: state.runs[self].member) == .pausing else { return false }
      state.runs[self].details.pause.timer = timer
      return true
    }
    // The run was cancelled, or the timer has already fired.
    if !isPausing { timers.cancel(timer) }
    return .wait
  }

  /// Returns the repetition of the run. If there is none yet, creates it.
  func repetition(_ make: () -> any Repetition) -> any Repetition {
    if let existing = core.read({ $0.runs[self].details.pause.repetition }) { return existing }
    let new = make()
    core.update { $0[self].details.pause.repetition = new }
    return new
  }
}
