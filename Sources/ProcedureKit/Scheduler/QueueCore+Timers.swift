/// The timers of the queue itself, as opposed to those of its runs (`Run.schedule`).
///
/// To add a rule that needs such a timer, add a case to `TimedRule` and a few lines to each of the three functions after it. They determine
/// whether a queue has the rule, whether the timer has to be pending, and what happens when it fires.
extension QueueCore {
  /// A rule that needs a timer of the queue.
  enum TimedRule: Int, Sendable, CaseIterable {
    /// A queue that makes no progress is reported.
    case stall
  }

  /// Returns whether a queue with these settings has a rule that needs a timer.
  static func usesTimers(_ configuration: ProcedureQueue.Configuration) -> Bool { configuration.stallTimeout != nil }

  /// Starts the timers that are needed after an event, and cancels those that are no longer needed.
  func adjustTimers(_ state: inout State, _ effects: inout Effects) {
    if let timeout = configuration.stallTimeout {
      let canMove = state.machine.count > 0 && !state.machine.isSuspended
      let isNeeded = state.stall.changed(
        canMove: canMove, changes: state.machine.changeCount, firedTimers: timers.calledCount)
      adjustTimer(of: .stall, after: isNeeded ? timeout : nil, &state, &effects)
    }
  }

  /// Applies a rule whose timer has fired. If the rule still needs a timer, `adjustTimers` then starts the next one.
  private func timerFired(of rule: TimedRule, _ state: inout State, _ effects: inout Effects) {
    switch rule {
    case .stall:
      guard
        state.stall.timerFired(
          changes: state.machine.changeCount, firedTimers: timers.calledCount, pendingTimers: timers.count)
      else { return }
      // The report calls the user's code, so the lock is released first.
      effects.add(.report { [self] in reportStall() })
    }
  }

  // MARK: Starting and cancelling

  /// Starts the timer of a rule unless the timer is already pending. If `duration` is `nil`, cancels the timer instead.
  private func adjustTimer(
    of rule: TimedRule, after duration: Duration?, _ state: inout State, _ effects: inout Effects
  ) {
    if let duration {
      guard let number = state.ruleTimers[rule.rawValue].started() else { return }
      effects.add(.startTimer(of: rule, number: number, after: duration))
    } else if let timer = state.ruleTimers[rule.rawValue].cancelled() {
      effects.cancel(timer)
    }
  }

  /// Schedules the timer of a rule, after a critical section has decided to start it. This function is called after the lock is released.
  func startTimer(of rule: TimedRule, number: UInt64, after duration: Duration) {
    // The timer must not keep the queue alive.
    let timer = timers.schedule(after: duration) { [weak self] in self?.timerFired(of: rule, number: number) }
    let isNeeded = send { state, _ in state.ruleTimers[rule.rawValue].scheduled(timer, number: number) }
    if !isNeeded { timers.cancel(timer) }
  }

  private func timerFired(of rule: TimedRule, number: UInt64) {
    send { state, effects in
      if state.ruleTimers[rule.rawValue].fired(number: number) { timerFired(of: rule, &state, &effects) }
    }
  }
}
