/// How a body waits (Q3): the only place that releases the slot of a body, and that reacquires it.
extension Run {
  /// Executes an operation that waits. The body releases its slot, and has it again when the function returns, unless it was cancelled (Q3).
  ///
  /// Until the operation has ended, snapshots report `wait`, and the search for deadlocks sees it. A wait that is a part of a deadlock ends
  /// with an error at the signal that is its key.
  ///
  /// - Parameters:
  ///   - wait: The awaited work; `nil` for work that needs nothing of what the body holds.
  ///   - key: The identity of the wait among those of the body.
  ///   - operation: The operation, which ends by itself when the run is cancelled.
  /// - Returns: The result of `operation`.
  /// - Throws: The error of `operation`.
  func withSlotReleased<R>(
    for wait: RunWait? = nil, at key: AnyObject? = nil, operation: () async throws -> R
  ) async rethrows -> R {
    if let wait, let key { addWait(wait, key) }
    releaseSlot()
    do {
      let result = try await operation()
      if let key { removeWait(key) }
      await reacquireSlot(endsWait: true)
      return result
    } catch {
      if let key { removeWait(key) }
      await reacquireSlot(endsWait: true)
      throw error
    }
  }

  /// Executes an operation for which the run itself waits, and not its body: a part of a body releases the slot of the body. A run with a slot
  /// of its own has none before its body starts and after it has ended.
  func withSlotOfBodyReleased<R>(
    for wait: RunWait? = nil, at key: AnyObject? = nil, operation: () async throws -> R
  ) async rethrows -> R {
    if isPartOfBody { return try await withSlotReleased(for: wait, at: key, operation: operation) }
    if let wait, let key { addWait(wait, key) }
    defer { if let key { removeWait(key) } }
    return try await operation()
  }

  private func releaseSlot() {
    let owner = slotOwner
    owner.core.send { state, effects in
      let member = state.runs[owner].member
      if member >= 0 { state.machine.waitStarted(member, &effects.next) }
    }
  }

  /// Waits until the body has its slot, at once if it was cancelled: it then continues without one (Q3).
  ///
  /// - Parameter owner: The run whose slot the body uses, if it is not that of this run.
  func reacquireSlot(of owner: Run? = nil) async { await reacquireSlot(of: owner, endsWait: false) }

  private func reacquireSlot(of owner: Run? = nil, endsWait: Bool) async {
    let (owner, signal) = (owner ?? slotOwner, OneShotSignal())
    let isReady = owner.core.send { state, effects in
      let member = state.runs[owner].member
      guard member >= 0 else { return true }
      if endsWait { state.machine.waitEnded(member) }
      let isCancelled =
        state.runs[self].details.cancellation != nil || state.runs[owner].details.isCancelledOrStopping
      guard !isCancelled, !state.machine.slotNeeded(member) else { return true }
      state.runs[owner].details.slotWaiters.append(signal)
      return false
    }
    if isReady { return }
    // Not for a cancellation of the task alone: it may be one of several tasks of the body.
    await withRunCancellationHandler {
      await signal.waitUntilResolved()
    } onCancel: {
      signal.cancel()
    }
    guard signal.wasCancelled else { return }
    owner.core.send { state, effects in
      state.runs[owner].details.slotWaiters.removeAll { $0 === signal }
      let member = state.runs[owner].member
      if member >= 0, state.runs[owner].details.slotWaiters.isEmpty { state.machine.returnGivenUp(member) }
    }
  }

  /// The body continues under the key of another run, with a slot of that key.
  func switchKey(to keyed: Run) async {
    let (owner, id) = (slotOwner, keyed.keyID)
    core.send { state, effects in
      let member = state.runs[owner].member
      if member >= 0 { state.machine.keyReplaced(of: member, by: id, &effects.next) }
    }
    await reacquireSlot()
  }

  /// Registers a wait until `removeWait`, for snapshots and for the search for deadlocks.
  func addWait(_ wait: RunWait, _ key: AnyObject) {
    let wait = BodyWait(wait: wait, signal: key as? OneShotSignal)
    core.update { $0[self].details.waits[ObjectIdentifier(key)] = wait }
  }

  func removeWait(_ key: AnyObject) {
    let wait = core.update { runs in runs[self].details.waits.removeValue(forKey: ObjectIdentifier(key)) }
    _ = wait
  }

  /// Ends a wait that is a part of a deadlock. A wait that cannot throw fails the run instead, as a timeout does.
  ///
  /// - Returns: Whether the body was still waiting.
  @discardableResult
  func refuseWait(_ key: ObjectIdentifier, _ error: ProcedureError) -> Bool {
    guard let wait = core.update({ runs in runs[self].details.waits.removeValue(forKey: key) }) else { return false }
    if !wait.wait.canThrow { cancel(error) }
    wait.signal?.refuse(error)
    return true
  }
}

extension Run {
  /// The end of a wait for a run.
  enum WaitEnd {
    /// The run has ended.
    case ended
    /// The waiting task or run was cancelled.
    case cancelled
    /// The run would never have ended, since it waits for the waiting run (R4).
    case refused(ProcedureError)
  }

  /// Waits for the end of the run. A body that waits releases its slot (C4).
  func waitForEnd(endsWithCancel: Bool) async -> WaitEnd {
    guard let waiting = ProcedureContext.current?.run.nearestUnfinished else {
      return await waitOutside(endsWithCancel: endsWithCancel)
    }
    if isFinished { return .ended }
    if let error = waiting.deadlock(within: self, ExclusionWait.init(procedure:finishOf:)) { return .refused(error) }
    let signal = OneShotSignal()
    guard register(signal, isAwaited: true) else { return .ended }
    let isCalled = await waiting.withSlotReleased(for: .run(self), at: signal) {
      waiting.searchForDeadlock()
      if endsWithCancel { return await waiting.wait(at: signal) }
      await signal.waitUntilResolved()
      return true
    }
    if unregister(signal) {
      waiting.didAwait(identity)
      return .ended
    }
    return signal.refusal.map { .refused($0) } ?? (isCalled ? .ended : .cancelled)
  }

  private func waitOutside(endsWithCancel: Bool) async -> WaitEnd {
    let signal = OneShotSignal()
    guard register(signal, isAwaited: false) else { return .ended }
    if endsWithCancel { _ = await signal.wait() } else { await signal.waitUntilResolved() }
    return unregister(signal) ? .ended : .cancelled
  }

  /// Whether the run has not ended, so that the signal will be called.
  private func register(_ signal: OneShotSignal, isAwaited: Bool) -> Bool {
    core.update { runs in
      guard outcome == nil else { return false }
      runs[self].details.observers.waiters[signal.id] = signal
      if isAwaited { runs[self].details.observers.isAwaited = true }
      return true
    }
  }

  private func unregister(_ signal: OneShotSignal) -> Bool {
    core.update { runs in
      runs[self].details.observers.waiters[signal.id] = nil
      return outcome != nil
    }
  }

  /// Calls the listener once the run has ended, at once if it has.
  ///
  /// The key is the id of the run that waits, which can be forgotten, or a number of its own.
  func whenFinished(by key: ProcedureID = .reserve(), _ listener: @escaping RunDetails.Listener) {
    let isOver = core.update { runs in
      guard outcome == nil else { return true }
      let earlier = runs[self].details.observers.listeners[key]
      runs[self].details.observers.listeners[key] = { @Sendable outcome in
        earlier?(outcome)
        listener(outcome)
      }
      return false
    }
    if isOver, let outcome { listener(outcome.withoutValue) }
  }

  /// Releases the listener of a run that has ended without this one.
  func forget(_ dependent: Run) {
    let released = core.update { runs in
      runs[self].changeDetails { $0.observers.listeners.removeValue(forKey: dependent.id) }
    }
    _ = released
  }
}
