/// The steps of a run. The machine decides them in this order, beginning when the run is admitted (`QueueCore+Admission.swift`):
///
/// | step | the run | file |
/// |---|---|---|
/// | `evaluate` | evaluates its conditions (K1) | `Run+Conditions.swift` |
/// | `pause` | waits for its delay, or for the pause before its next execution | `Run+Pauses.swift` |
/// | `claim` | claims its resources (R1) | `Run+Claims.swift` |
/// | `start` | has its slot (Q1), and calls its hooks and its body | `Run+Execution.swift` |
/// | `finish` | awaits its children, and decides and publishes its outcome | `Run+Completion.swift` |
///
/// A run skips the steps that it does not need. After `start`, a retry or a repetition returns to `pause`.
extension Run {
  /// Drives an admitted run in the current task, and returns its value.
  ///
  /// The run is admitted before the enclosing body releases its slot. If the run needs only a slot, it therefore comes before the runs that
  /// are already waiting for one (Q1).
  ///
  /// - Parameters:
  ///   - step: The first step of the run, which `admit` has returned.
  ///   - type: The type of the value.
  /// - Returns: The value.
  /// - Throws: The error of the run, if it does not succeed.
  func driveToEnd<Output: Sendable>(from step: RunStep, as type: Output.Type = Output.self) async throws -> Output {
    let parent = parent
    if let parent, !usesSlotOfBody {
      // The run has its own slot, so the enclosing body releases its slot while it waits for the run (Q3).
      await parent.withSlotReleased(for: .run(self), at: self) { await drive(from: step) }
      parent.didAwait(identity)
    } else {
      await drive(from: step)
    }
    if hasKeyOfNode { await slotOwner.switchKey(to: slotOwner) }
    guard let outcome else { preconditionFailure("\(layerIdentity) ended without an outcome") }
    if let value = outcome.value { return value as! Output }
    if usesSlotOfBody, let parent {
      // A cancelled layer ends without reacquiring the slot and the resources that it released for a pause. A call or a node has released
      // no resources, and its parent need not hold any: the call can come from a condition, an end hook, or a task that a body left behind.
      let refusal = kind == .layer ? await parent.reclaim([parent] + parent.enclosingLayers) : nil
      // An enclosing layer can handle the error of a refused claim, and executes code to do so.
      await parent.reacquireSlot(of: slotOwner)
      if let refusal { throw refusal }
    }
    return try outcome.map { $0 as! Output }.get(of: layerIdentity)
  }

  /// Advances an added run from a step, without a worker: in the current task, or in a new task of the queue if the step suspends.
  func advance(from first: RunStep) {
    var step = first
    while true {
      switch step {
      case .wait, .stale, .releaseClaim, .start: return
      case .pause: step = startPause()
      case .claim: step = claim()
      // Evaluating conditions suspends the task, and the current task may belong to another run, so a new task drives the run.
      case .evaluate: return core.startTask { await self.drive(from: .evaluate) }
      case .finish:
        let callsHooks = layer.hasEndHooks || layer.hasDidExecuteHooks && isInterruptedInPause
        if callsHooks || !finishWithoutSuspending() { core.startTask { await self.drive(from: .finish) } }
        return
      }
    }
  }

  /// Drives the run from a step (L5). The caller's task drives the run to its end, whereas a worker drives it to its next wait.
  func drive(from first: RunStep) async {
    var (step, starts) = (first, 0)
    while true {
      switch step {
      case .wait, .stale, .releaseClaim:
        // The next event advances an added run, so the worker is free for another run.
        if isDrivenByWorker { return }
        step = await nextStep()
      case .evaluate:
        guard let next = await evaluate() else { return }
        step = next
      case .pause: step = startPause()
      case .claim: step = claim()
      case .start:
        starts += 1
        // A retry or a repetition without pauses must not monopolize the thread.
        if starts % 128 == 0 { await Task.yield() }
        step = await execute()
      case .finish: return await finish()
      }
    }
  }

  /// Waits for the next step. While a nested run waits, it does not hold the slot of the enclosing body (Q3).
  private func nextStep() async -> RunStep {
    if let step = takeStep() { return step }
    await suspendDriver { details, waiter in
      guard details.step == nil else { return false }
      details.driver = waiter
      return true
    }
    return takeStep() ?? .finish
  }

  /// Suspends the task that drives the run, without holding a slot, until the waiter is resumed (Q3). Cancelling the task cancels the run
  /// (C4). `register` is called under the lock, and returns `false` if there is nothing to wait for.
  func suspendDriver(_ register: (inout RunDetails, Waiter) -> Bool) async {
    await withSlotOfBodyReleased {
      await withTaskCancellationHandler {
        await Waiter.suspend { waiter in core.update { register(&$0[self].details, waiter) } }
      } onCancel: {
        if followsTask { cancelLikeParent() }
      }
    }
  }

  private func takeStep() -> RunStep? { core.update { runs in runs[self].changeDetails { $0.step.take() } ?? nil } }
}
