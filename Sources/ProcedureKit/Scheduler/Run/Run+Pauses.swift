/// A retry, or a repetition after a success. It decides how many times the body of a run executes (T2).
///
/// After each execution, the repetition decides whether another one follows. The run releases its slot and its resources for the pause (Q3,
/// R1).
protocol Repetition: AnyObject, Sendable {
  /// Executes the body once more.
  func execute(in run: Run) async throws -> any Sendable

  /// Decides whether another execution follows, in the task and the context of the body.
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

  /// Starts the pause before the next execution: the run releases its slot and its resources (Q3, R1).
  ///
  /// - Returns: The next step; `finish` if the run was cancelled or stopped.
  func paused(_ duration: Duration) -> RunStep {
    let layers = [self] + enclosingLayers
    releaseResources(layers)
    let needs: QueueMachine.Needs = layers.contains { $0.layer.needs.contains(.claim) } ? .claim : []
    let isCancelled = core.send { state, effects in
      guard !state.runs[self].details.isCancelledOrStopping else { return true }
      state.machine.bodyPaused(state.runs[self].member, needs: needs, &effects.next)
      // An emptied dictionary keeps its memory. Replacing it releases the memory, which matters because many runs can be pausing at the
      // same time.
      if state.runs[self].details.children.byID.isEmpty { state.runs[self].details.children.byID = [:] }
      return false
    }
    return isCancelled ? .finish : pause(for: duration)
  }

  /// Releases the resources of some layers of the procedure. `reclaim` claims them again.
  func releaseResources(_ layers: [Run]) {
    for layer in layers where !layer.layer.traits.demands.isEmpty { layer.core.resources.ended(layer) }
  }

  /// Reclaims, in a single claim, the resources that layers released for a pause (R1).
  ///
  /// - Returns: The error if the claim is refused or the run is cancelled; otherwise `nil`, and the layers hold their resources.
  func reclaim(_ layers: [Run]) async -> (any Error)? {
    while true {
      let lacking = layers.lackingResources
      guard let innermost = lacking.first else { return nil }
      // If the run already has a claim, which was kept for a nested run, the innermost layer makes the request.
      let claimant = core.resources.isHeld(by: self) ? innermost : self
      let signal = OneShotSignal()
      core.update { runs in
        runs[claimant].details.claim.hasReclaimed = true
        runs[claimant].details.claim.reclaiming.append((signal, innermost))
      }
      let answer = core.resources.request(lacking, for: claimant)
      // If the claimant ended before the request, there was nothing to release at that time, so the claim is released here (R3).
      let hasEnded = core.update { runs in
        if runs[claimant].isDecided { runs[claimant].details.claim.reclaiming.removeAll { $0.signal === signal } }
        return runs[claimant].isDecided
      }
      if hasEnded {
        core.resources.ended(claimant)
        continue
      }
      // The resources are not free, so the body waits for them without a slot (Q3).
      if case .waits = answer {
        await withSlotReleased {
          if await !wait(at: signal) { _ = core.resources.withdraw(claimant) }
        }
      }
      let isOver = if case .refused = answer { true } else { signal.wasCancelled }
      let refusal = core.send { state, effects in
        lacking.releaseClaimsOfEnded(state.runs, &effects)
        state.runs[claimant].details.claim.reclaiming.removeAll { $0.signal === signal }
        // The claim has ended, so the other tasks of the body that were waiting for it make their own requests.
        if isOver { effects.send(state.runs[claimant].details.claim.reclaiming.map(\.signal)) }
        return state.runs[claimant].details.claim.refusal.take()
      }
      if case .refused(let error) = answer { return error }
      if let refusal { return refusal }
      if isCancelled { return inheritedReason ?? CancellationError() }
    }
  }

  /// Waits until a signal is sent, or until the run or the task is cancelled. Returns `false` if the wait was cancelled.
  func wait(at signal: OneShotSignal) async -> Bool {
    await withTaskAndRunCancellationHandler {
      await signal.waitUntilResolved()
    } onCancel: {
      signal.cancel()
    }
    return !signal.wasCancelled
  }

  // MARK: Repetitions

  /// Returns the repetition of the run. If there is none yet, creates it.
  func repetition(_ make: () -> any Repetition) -> any Repetition {
    if let existing = core.read({ $0.runs[self].details.pause.repetition }) { return existing }
    let new = make()
    core.update { $0[self].details.pause.repetition = new }
    return new
  }
}

extension [Run] {
  /// The layers that declare resources but do not hold them. A layer that has ended no longer needs resources. All layers are on one queue.
  var lackingResources: [Run] {
    filter { layer in
      !layer.layer.traits.demands.isEmpty && !layer.core.resources.isHeld(by: layer)
        && !layer.core.read { $0.runs[layer].isDecided }
    }
  }

  /// Releases the claims of layers that ended while a single claim for several layers was pending.
  ///
  /// This can happen because a task that outlives its body can still be pausing within those layers (R3).
  func releaseClaimsOfEnded(_ runs: borrowing RunTable, _ effects: inout QueueCore.Effects) {
    for layer in self where runs[layer].isDecided { layer.releaseHeldClaim(&effects) }
  }
}
