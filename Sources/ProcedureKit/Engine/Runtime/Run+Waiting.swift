extension Run {
  /// Waits for the end of the run. A body that waits lends its slot (C4).
  ///
  /// - Returns: Whether the run has ended; `false` if the wait was ended by a cancel of the one who waits.
  func waitForEnd(endsWithCancel: Bool) async -> Bool {
    guard let waiting = ProcedureContext.current?.run.living else {
      return await waitOutside(endsWithCancel: endsWithCancel)
    }
    require(
      isFinished || !waiting.ancestors.contains { $0 === self },
      "\(identity) awaits its own outcome, in its body or in a part of its body, and would wait for ever")
    let wakeup = Wakeup()
    guard register(wakeup, isAwaited: true) else { return true }
    waiting.addWait(.run(self), wakeup)
    waiting.core.waitStarted(waiting)
    WaitSearch.resolveDeadlock(from: waiting)
    if endsWithCancel {
      _ = await waiting.wait(at: wakeup)
    } else {
      await wakeup.waitUntilCalled()
    }
    waiting.removeWait(wakeup)
    await waiting.core.waitEnded(waiting)
    return unregister(wakeup)
  }

  private func waitOutside(endsWithCancel: Bool) async -> Bool {
    let wakeup = Wakeup()
    guard register(wakeup, isAwaited: false) else { return true }
    if endsWithCancel { _ = await wakeup.wait() } else { await wakeup.waitUntilCalled() }
    return unregister(wakeup)
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
