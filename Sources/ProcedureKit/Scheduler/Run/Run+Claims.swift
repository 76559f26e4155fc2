/// The claims of a run (R1, R2, R3).
///
/// A run claims its resources after its conditions are satisfied and before it waits for a slot. `QueueMachine.enterStep` decides when, and
/// `ResourceTable` grants the claim. A pause between two executions releases the resources of all layers of the procedure.
extension Run {
  /// Returns whether the run may have a claim, either for its own layer or, after a pause, for the enclosing layers.
  func mayClaim(_ runs: borrowing RunTable) -> Bool {
    layer.prerequisites.contains(.claim) || runs[self].details.claim.hasReclaimed
  }

  // MARK: Before the body

  /// Claims the resources of the layer and, after a pause, those of the enclosing layers in the same claim (R1, R2).
  ///
  /// - Parameter startsInline: Whether to start the body in the same critical section if the resources and a slot are free.
  /// - Returns: The next step if the claim is granted immediately; otherwise `wait`.
  func claim(startsInline: Bool = false) -> RunStep {
    let answer: ResourceTable.Answer
    // After a pause, the run claims its resources again, together with those of the enclosing layers.
    if kind == .layer, core.read({ hasStarted($0) }) {
      core.update { $0[self].details.claim.hasReclaimed = true }
      answer = core.resources.request(([self] + enclosingLayers).lackingResources, for: self)
    } else {
      answer = core.resources.request(layer.traits.demands, for: self)
    }
    switch answer {
    case .granted:
      let reading = core.time.lazyReading()
      let step = core.send { state, effects in
        let step = nextStepWithClaim(&state, &effects)
        if startsInline, step == .start { startBody(at: reading, &state, &effects) }
        return step
      }
      if step != .stale { return step }
    case .waits: break
    case .refused(let error): claimRefused(error)
    }
    // If the run ended before it made the claim, there was nothing to release at that time, so the claim is released here (R3).
    if core.read({ $0.runs[self].isDecided }) { core.resources.ended(self) }
    return .wait
  }

  /// Returns the next step of a run whose claim was granted; `stale` if the run was cancelled first.
  private func nextStepWithClaim(_ state: inout QueueCore.State, _ effects: inout QueueCore.Effects) -> RunStep {
    let step = state.machine.claimGranted(state.runs[self].member, &effects.next)
    if step != .stale, kind == .layer, hasStarted(state) {
      enclosingLayers.releaseClaimsOfEnded(state.runs, &effects)
    }
    guard step == .releaseClaim else { return step }
    // The queue was suspended, or a dependency was added, while the run was claiming the resources (R2).
    releaseHeldClaim(&effects)
    return .wait
  }

  /// Releases the resources of a run that will claim them again, or of a layer that has ended (R2).
  ///
  /// This function takes the resource table's lock while the queue's lock is held.
  func releaseHeldClaim(_ effects: inout QueueCore.Effects) {
    for other in core.resources.giveBack(self) { effects.add(.resumeClaimants(other)) }
  }

  /// Handles a granted claim of the run: advances the run or, after a pause, resumes the bodies that are waiting for the claim (R1).
  func resumeClaimants() {
    let reclaiming = core.read { $0.runs[self].details.claim.reclaiming }
    guard reclaiming.isEmpty else {
      // A body whose layers still lack resources claims these in another request.
      for signal in reclaiming { signal.signal() }
      return
    }
    core.send { state, effects in advanceWithClaim(&state, &effects) }
  }

  /// Advances the run after its waiting claim is granted. Bodies that are waiting for the claim after a pause are resumed when the lock has
  /// been released (R1).
  func advanceWithClaim(_ state: inout QueueCore.State, _ effects: inout QueueCore.Effects) {
    if !state.runs[self].details.claim.reclaiming.isEmpty { return effects.add(.resumeClaimants(self)) }
    QueueCore.deliver(nextStepWithClaim(&state, &effects), to: self, &state.runs, &effects)
  }

  /// Handles a refused claim of the run: fails the run or, after a pause, passes the error to the bodies that are waiting for the claim.
  ///
  /// A claim is refused if it would otherwise wait forever (R4), if it demands more units than the resource has, or if it conflicts with
  /// the capacity that another run's claim declares for the same resource.
  func claimRefused(_ error: ProcedureError) {
    core.send { state, effects in
      if !state.runs[self].details.claim.reclaiming.isEmpty {
        state.runs[self].details.claim.refusal = error
        return effects.send(state.runs[self].details.claim.reclaiming.takeAll())
      }
      guard state.machine.claimRefused(state.runs[self].member) else { return }
      decideWithoutStart(.failed(error), interruptsStep: false, &state, &effects)
    }
  }

  // MARK: Around a pause

  /// Releases the resources of some layers of the procedure. `reclaim` claims them again.
  func releaseResources(_ layers: [Run]) {
    for layer in layers where !layer.layer.traits.demands.isEmpty { layer.core.resources.ended(layer) }
  }

  /// Claims again, in a single claim, the resources that layers released for a pause (R1).
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
        runs[claimant].details.claim.reclaiming.append(signal)
      }
      let answer = core.resources.request(lacking, for: claimant)
      // If the claimant ended before the request, there was nothing to release at that time, so the claim is released here (R3).
      let hasEnded = core.update { runs in
        if runs[claimant].isDecided { runs[claimant].details.claim.reclaiming.removeAll { $0 === signal } }
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
      let claimHasEnded = if case .refused = answer { true } else { signal.wasCancelled }
      let refusal = core.send { state, effects in
        lacking.releaseClaimsOfEnded(state.runs, &effects)
        state.runs[claimant].details.claim.reclaiming.removeAll { $0 === signal }
        // The claim has ended, so the other tasks of the body that were waiting for it make their own requests.
        if claimHasEnded { effects.send(state.runs[claimant].details.claim.reclaiming) }
        return state.runs[claimant].details.claim.refusal.take()
      }
      if case .refused(let error) = answer { return error }
      if let refusal { return refusal }
      if isCancelled { return cancellationError }
    }
  }
}

extension [Run] {
  /// The layers that declare resources but do not hold them, except for layers that have ended. All layers are on one queue.
  var lackingResources: [Run] {
    filter { layer in
      !layer.layer.traits.demands.isEmpty && !layer.core.resources.isHeld(by: layer)
        && !layer.core.read { $0.runs[layer].isDecided }
    }
  }

  /// The outermost of these lacking layers, which are listed innermost first. The result ends where a layer between them already holds its
  /// resources. The layers in the result make one claim together.
  var claimedTogether: [Run] {
    guard var together = last.map({ [$0] }) else { return [] }
    for layer in dropLast().reversed() {
      let enclosing = layer.ancestors.dropFirst().first { !$0.layer.traits.demands.isEmpty }
      guard enclosing === together[0] else { break }
      together.insert(layer, at: 0)
    }
    return together
  }

  /// Releases the claims of layers that ended while a single claim for several layers was pending.
  ///
  /// This can happen because a task that outlives its body can still be pausing within those layers (R3).
  func releaseClaimsOfEnded(_ runs: borrowing RunTable, _ effects: inout QueueCore.Effects) {
    for layer in self where runs[layer].isDecided { layer.releaseHeldClaim(&effects) }
  }
}
