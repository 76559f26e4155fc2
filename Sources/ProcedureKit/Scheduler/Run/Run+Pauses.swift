/// The executions of one run's body: a retry, or a repetition after successes.
///
/// The driver of the run asks after each execution whether another one follows. The run releases its slot and its resources for the pause.
protocol Repetition: AnyObject, Sendable {
  /// Executes the body once more.
  func execute(in run: Run) async throws -> any Sendable

  /// Decides after an execution, in the task and the context of the body.
  ///
  /// - Returns: The pause before the next execution; `nil` if the result is that of the run.
  func pause(after result: Result<any Sendable, any Error>, in run: Run) async -> Pause?

  /// The run has ended in the pause before a further attempt.
  func attemptAbandoned()
}

/// The pause before another execution of a body.
struct Pause: Sendable {
  let duration: Duration
  /// The error of the attempt before the pause, if it has failed.
  var error: (any Error)?
}

extension Run {
  // MARK: Pauses

  /// The body pauses: the run gives its slot and its claim back.
  func paused(_ duration: Duration) -> RunStep {
    let layers = [self] + enclosingLayers
    giveBackResources(layers)
    let needs: QueueMachine.Needs = layers.contains { $0.layer.needs.contains(.claim) } ? .claim : []
    let isCancelled = core.send { state, effects in
      guard state.runs[self].details.cancellation == nil else { return true }
      state.machine.bodyPaused(state.runs[self].member, needs: needs, &effects.next)
      return false
    }
    return isCancelled ? .finish : pause(for: duration)
  }

  /// Gives back what layers of the procedure hold, until `reclaim`.
  func giveBackResources(_ layers: [Run]) {
    for layer in layers where !layer.layer.traits.demands.isEmpty { layer.core.resources.ended(layer) }
  }

  /// Claims what the layers have released for a pause, all of it together. The error if that is refused, or the run cancelled.
  func reclaim(_ layers: [Run]) async -> (any Error)? {
    while true {
      let lacking = layers.lackingResources
      guard let innermost = lacking.first else { return nil }
      // The run may have a claim already, which was kept for a nested run.
      let claimant = core.resources.isHeld(by: self) ? innermost : self
      let signal = OneShotSignal()
      core.update { runs in
        runs[claimant].details.claim.hasReclaimed = true
        runs[claimant].details.claim.reclaiming.append((signal, innermost))
      }
      let answer = core.resources.request(lacking, for: claimant)
      if case .waits = answer {
        await withSlotReleased {
          if await !wait(at: signal) { _ = core.resources.withdraw(claimant) }
        }
      }
      let isOver = if case .refused = answer { true } else { signal.wasCancelled }
      let refusal = core.send { state, effects in
        lacking.giveBackClaimsOfEnded(state.runs, &effects)
        state.runs[claimant].details.claim.reclaiming.removeAll { $0.signal === signal }
        // Another part of the body that waits for the same claim makes a request of its own.
        if isOver { effects.call(state.runs[claimant].details.claim.reclaiming.map(\.signal)) }
        return state.runs[claimant].details.claim.refusal.take()
      }
      if case .refused(let error) = answer { return error }
      if let refusal { return refusal }
      if isCancelled { return inheritedReason ?? CancellationError() }
    }
  }

  /// Waits at a signal until it is called, or the run is cancelled. Whether it was called.
  func wait(at signal: OneShotSignal) async -> Bool {
    await withTaskAndRunCancellationHandler {
      await signal.waitUntilResolved()
    } onCancel: {
      signal.cancel()
    }
    return !signal.wasCancelled
  }

  // MARK: Repetitions

  /// Returns the repetition of the run, and makes it for the first execution.
  func repetition(_ make: () -> any Repetition) -> any Repetition {
    if let existing = core.read({ $0.runs[self].details.pause.repetition }) { return existing }
    let made = make()
    core.update { $0[self].details.pause.repetition = made }
    return made
  }
}

extension [Run] {
  /// The layers, of one queue, that need resources and do not hold them. A layer that has ended needs none any more.
  var lackingResources: [Run] {
    filter { layer in
      !layer.layer.traits.demands.isEmpty && !layer.core.resources.isHeld(by: layer)
        && !layer.core.read { $0.runs[layer].isDecided }
    }
  }

  /// Gives back what was claimed for layers that have ended since: a task that a body has left behind can pause within them.
  func giveBackClaimsOfEnded(_ runs: borrowing RunTable, _ effects: inout QueueCore.Effects) {
    for layer in self where runs[layer].isDecided { layer.giveBackClaim(&effects) }
  }
}
