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
    guard let waiting = ProcedureContext.current?.run.living else {
      return await waitOutside(endsWithCancel: endsWithCancel)
    }
    if isFinished { return .ended }
    if let error = waiting.deadlock(within: self, ExclusionWait.init(procedure:finishOf:)) { return .refused(error) }
    let wakeup = Wakeup()
    guard register(wakeup, isAwaited: true) else { return .ended }
    waiting.addWait(.run(self), wakeup)
    waiting.core.waitStarted(waiting)
    waiting.searchForDeadlock()
    let isCalled: Bool
    if endsWithCancel {
      isCalled = await waiting.wait(at: wakeup)
    } else {
      await wakeup.waitUntilCalled()
      isCalled = true
    }
    waiting.removeWait(wakeup)
    await waiting.core.waitEnded(waiting)
    if unregister(wakeup) { return .ended }
    return wakeup.refusal.map { .refused($0) } ?? (isCalled ? .ended : .cancelled)
  }

  private func waitOutside(endsWithCancel: Bool) async -> WaitEnd {
    let wakeup = Wakeup()
    guard register(wakeup, isAwaited: false) else { return .ended }
    if endsWithCancel { _ = await wakeup.wait() } else { await wakeup.waitUntilCalled() }
    return unregister(wakeup) ? .ended : .cancelled
  }

  /// Whether the run has not ended, so that the wakeup will be called.
  private func register(_ wakeup: Wakeup, isAwaited: Bool) -> Bool {
    core.withState { _ in
      guard outcome == nil else { return false }
      madeDetails.waiters[wakeup.id] = wakeup
      if isAwaited { details?.isAwaited = true }
      return true
    }
  }

  private func unregister(_ wakeup: Wakeup) -> Bool {
    core.withState { _ in
      details?.waiters[wakeup.id] = nil
      return outcome != nil
    }
  }

  /// Calls the listener once the run has ended, at once if it has.
  ///
  /// The key is the id of the run that waits, which can be forgotten, or a number of its own.
  func whenFinished(by key: ProcedureID = .reserve(), _ listener: @escaping RunDetails.Listener) {
    let isOver = core.withState { _ in
      guard outcome == nil else { return true }
      let earlier = details?.listeners[key]
      madeDetails.listeners[key] = { @Sendable outcome in
        earlier?(outcome)
        listener(outcome)
      }
      return false
    }
    if isOver, let outcome { listener(outcome.withoutValue) }
  }

  /// Releases the listener of a run that has ended without this one.
  func forget(_ dependent: Run) {
    let former = core.withState { _ in details?.listeners.removeValue(forKey: dependent.id) }
    _ = former
  }
}
