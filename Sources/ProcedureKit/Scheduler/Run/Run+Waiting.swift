/// The waits of a body (Q3).
///
/// Only the functions in this file release the slot of a body for a wait, and reacquire it. A change of key is different: the machine
/// releases the slot if no slot is free for the new key (`QueueMachine.keyReplaced`), and `switchKey` then reacquires one.
extension Run {
  /// Executes an operation that waits. The body releases its slot and reacquires it before the function returns (Q3).
  ///
  /// A cancelled body does not reacquire the slot (C7). During the operation, snapshots report `wait`, and the search for deadlocks
  /// includes it. If the wait is refused because it is part of a deadlock, and `key` is a signal, the signal is refused with an error that
  /// describes the deadlock.
  ///
  /// - Parameters:
  ///   - wait: The awaited work; `nil` if the work needs nothing that the body holds.
  ///   - key: The identity of the wait among the waits of the body.
  ///   - operation: The operation, which has to end when the run is cancelled.
  /// - Returns: The result of `operation`.
  /// - Throws: The error that `operation` throws.
  func withSlotReleased<R, E: Error>(
    for wait: RunWait? = nil, at key: AnyObject? = nil, operation: () async throws(E) -> R
  ) async throws(E) -> R {
    if let wait, let key { addWait(wait, key) }
    releaseSlot()
    let result = await Result(awaiting: operation)
    if let wait, let key { removeWait(wait, key) }
    await reacquireSlot(endsWait: true)
    return try result.get()
  }

  /// Executes an operation that the run awaits before its body starts or after its body ends (Q3).
  ///
  /// A nested run releases the slot of the enclosing body. A run that takes its own slot does not hold a slot before its body starts or
  /// after its body ends.
  func withSlotOfBodyReleased<R, E: Error>(_ operation: () async throws(E) -> R) async throws(E) -> R {
    try await usesSlotOfBody ? withSlotReleased(operation: operation) : operation()
  }

  /// Executes an operation that waits. As in a pause, the procedure holds neither its slot nor its resources during the wait (Q3, R2).
  ///
  /// If the operation fails, the resources are not claimed again, because the procedure is about to end.
  ///
  /// - Throws: The error that the operation throws; the reason for the cancellation if the run was cancelled; an error if the resources
  ///   cannot be claimed again.
  package func withSlotAndResourcesReleased<R>(_ operation: () async throws -> R) async throws -> R {
    try await withSlotAndResourcesReleased(for: nil, at: nil, operation)
  }

  func withSlotAndResourcesReleased<R>(
    for wait: RunWait?, at key: AnyObject?, _ operation: () async throws -> R
  ) async throws -> R {
    let layers = [self] + enclosingLayers
    releaseResources(layers)
    let result = try await withSlotReleased(for: wait, at: key, operation: operation)
    if let error = isCancelled ? cancellationError : await reclaim(layers) { throw error }
    return result
  }

  /// Whether the body continues without a slot after a wait, because it was cancelled or is part of a cancelled body (C7).
  ///
  /// If a cancelled body calls a graph or a hedge, the graph's workers and the copies of the hedge need no slots, either. Otherwise, they
  /// could wait for a run that is waiting for the body.
  var continuesWithoutSlot: Bool { !slotOwner.needsSlot || slotOwner.isCancelledOrStopping }

  /// Releases the slot for a wait.
  private func releaseSlot() {
    let owner = slotOwner
    owner.core.send { state, effects in
      let member = state.runs[owner].member
      if member >= 0 { state.machine.waitStarted(member, &effects.next) }
    }
  }

  /// Waits until the body has its slot (Q3). A cancelled body continues without one (C7).
  ///
  /// - Parameters:
  ///   - owner: The run whose slot the body uses; `nil` to use the slot owner of this run.
  ///   - endsWait: Whether to end the wait that `releaseSlot` started.
  func reacquireSlot(of owner: Run? = nil, endsWait: Bool = false) async {
    let (owner, signal) = (owner ?? slotOwner, OneShotSignal())
    let isReady = owner.core.send { state, effects in
      let member = state.runs[owner].member
      guard member >= 0 else { return true }
      if endsWait { state.machine.waitEnded(member) }
      let isCancelled =
        state.runs[self].details.cancellation != nil || state.runs[owner].details.isCancelledOrStopping
      // The body can continue, because it was cancelled and needs no slot (C7), or already has its slot.
      guard !isCancelled, !state.machine.slotNeeded(member) else { return true }
      // No slot is free, so the body waits for one.
      state.runs[owner].details.slotWaiters.append(signal)
      return false
    }
    if isReady { return }
    // Only cancellation of the run ends the wait, because a cancelled task may be one of several tasks of the body.
    await withRunCancellationHandler {
      await signal.waitUntilResolved()
    } onCancel: {
      signal.cancel()
    }
    guard signal.wasCancelled else { return }
    owner.core.send { state, effects in
      state.runs[owner].details.slotWaiters.removeAll { $0 === signal }
      let member = state.runs[owner].member
      if member >= 0, state.runs[owner].details.slotWaiters.isEmpty { state.machine.returnCancelled(member) }
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

  /// Waits until a signal is sent, the run is cancelled, or `limit` has passed. Cancellation and the limit also resolve the signal.
  /// Snapshots report the wait as a pause. The caller must already have released the slot.
  package func pause(until signal: OneShotSignal, atMost limit: Duration) async {
    let timer = core.timers.schedule(after: limit) { signal.signal() }
    let pause = RunWait.pause(until: instant.advanced(by: limit))
    addWait(pause, signal)
    _ = await wait(at: signal)
    removeWait(pause, signal)
    core.timers.cancel(timer)
  }

  /// Waits until `leader` sends a signal or this run is cancelled. The wait is taken into account when deadlocks are detected. The caller
  /// must already have released the slot.
  ///
  /// - Throws: An error if the wait is refused because it is part of a deadlock (R4).
  package func wait(for leader: Run, at signal: OneShotSignal) async throws {
    leader.setAwaited()
    addWait(.run(leader), signal)
    defer { removeWait(.run(leader), signal) }
    leader.core.raise(leader.slotOwner, to: currentPriority)
    searchForDeadlock()
    _ = await wait(at: signal)
    if let refusal = signal.refusal { throw refusal }
  }

  /// Registers a wait, so that snapshots and deadlock searches include it until `removeWait` is called (R4). If the wait is a pause, the
  /// metrics count its duration as such.
  private func addWait(_ wait: RunWait, _ key: AnyObject) {
    let bodyWait = BodyWait(wait: wait, signal: key as? OneShotSignal)
    core.update { $0[self].details.waits[ObjectIdentifier(key)] = bodyWait }
    if wait.isPause { core.send { state, _ in state.machine.pauseOfBodyChanged(state.runs[self].member, by: 1) } }
  }

  /// Removes a wait that has ended.
  private func removeWait(_ wait: RunWait, _ key: AnyObject) {
    _ = core.update { runs in runs[self].details.waits.removeValue(forKey: ObjectIdentifier(key)) }
    if wait.isPause { core.send { state, _ in state.machine.pauseOfBodyChanged(state.runs[self].member, by: -1) } }
  }

  /// Ends a wait that is part of a deadlock (R4). If the wait cannot throw, the run fails instead, as after a timeout.
  ///
  /// - Returns: Whether the body was still waiting.
  @discardableResult
  func refuseWait(_ key: ObjectIdentifier, _ error: ProcedureError) -> Bool {
    guard let wait = core.update({ runs in runs[self].details.waits.removeValue(forKey: key) }) else { return false }
    if !wait.wait.canThrow { cancel(error, asFailure: true) }
    wait.signal?.refuse(error)
    return true
  }

  /// The result of a wait for a run.
  enum WaitEnd {
    /// The run has finished.
    case ended
    /// The waiting task or run was cancelled.
    case cancelled
    /// The wait would never end, because the awaited run is itself waiting for the waiting run (R4).
    case refused(ProcedureError)
  }

  /// Waits until the run finishes. A waiting body releases its slot (Q3). If `endsOnCancellation` is `true`, cancellation ends the wait
  /// (C4).
  func waitForEnd(endsOnCancellation: Bool) async -> WaitEnd {
    let waiting = ProcedureContext.current?.run.nearestUnfinished
    if isFinished { return .ended }
    if let error = waiting?.deadlock(within: self, ExclusionWait.init(procedure:finishOf:)) { return .refused(error) }
    let signal = OneShotSignal()
    let isRegistered = core.update { runs in
      guard !isFinished else { return false }
      runs[self].details.observers.waiters[signal.id] = signal
      if waiting != nil { runs[self].details.observers.isAwaited = true }
      return true
    }
    guard isRegistered else { return .ended }
    var isSignalled = true
    if let waiting {
      isSignalled = await waiting.withSlotReleased(for: .run(self), at: signal) {
        waiting.searchForDeadlock()
        if endsOnCancellation { return await waiting.wait(at: signal) }
        await signal.waitUntilResolved()
        return true
      }
    } else if endsOnCancellation {
      isSignalled = await signal.wait()
    } else {
      await signal.waitUntilResolved()
    }
    let hasEnded = core.update { runs in
      runs[self].details.observers.waiters[signal.id] = nil
      return isFinished
    }
    if hasEnded {
      waiting?.didAwait(identity)
      return .ended
    }
    return signal.refusal.map { .refused($0) } ?? (isSignalled ? .ended : .cancelled)
  }

  /// Calls a function when the run finishes, or immediately if it has already finished.
  func whenFinished(_ function: @escaping @Sendable (ProcedureOutcome<Void>) -> Void) {
    whenFinished(by: .reserve(), .function(function))
  }

  /// Informs a listener when the run finishes, or immediately if it has already finished. The key of a dependent is its ID, with which
  /// `forget` removes the listener.
  func whenFinished(by key: ProcedureID, _ listener: RunDetails.Listener) {
    let reading = core.time.lazyReading()
    core.send { state, effects in
      if let outcome { return inform(listener, outcome.withoutValue, at: reading, &state, &effects) }
      state.runs[self].details.observers.listeners[key, default: []].append(listener)
    }
  }

  /// Informs a listener that the run has finished. A dependent on the same queue becomes ready in the critical section of the caller, so
  /// that no run that comes after it gets a slot first (Q1, Q7). Any other listener, such as a dependent on another queue (D2), is informed
  /// after the lock is released.
  func inform(
    _ listener: RunDetails.Listener, _ outcome: ProcedureOutcome<Void>, at reading: QueueClock.Reading,
    _ state: inout QueueCore.State, _ effects: inout QueueCore.Effects
  ) {
    switch listener {
    case .dependent(let dependent, let acceptsFailure):
      let outcome = acceptsFailure ? .finished(()) : outcome
      if dependent.core === core {
        return dependent.dependencyFinished(self, outcome, at: reading, &state, &effects)
      }
      effects.add(
        .call { [self] in
          let reading = dependent.core.time.reading()
          dependent.core.send { dependent.dependencyFinished(self, outcome, at: reading, &$0, &$1) }
        })
    case .function(let function): effects.add(.call { function(outcome) })
    }
  }

  /// Removes the listener of a dependent that finished before this run.
  func forget(_ dependent: Run) {
    _ = core.update { runs in runs[self].changeDetails { $0.observers.listeners.removeValue(forKey: dependent.id) } }
  }
}
