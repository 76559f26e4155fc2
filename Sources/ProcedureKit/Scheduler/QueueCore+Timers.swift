extension QueueCore {
  /// Decides after each event whether the stall timer has to be scheduled or cancelled.
  func watchForStall(_ state: inout State, _ effects: inout Effects) {
    let canMove = state.machine.count > 0 && !state.machine.isSuspended
    if state.stall.changed(canMove: canMove, changes: state.machine.changeCount) { effects.add(.watchForStall) }
  }

  /// Schedules or cancels the stall timer.
  func adjustStallTimer() {
    guard let timeout = configuration.stallTimeout else { return }
    switch send({ state, _ in state.stall.adjusted(changes: state.machine.changeCount) }) {
    case .none: break
    case .cancel(let timer): timers.cancel(timer)
    case .schedule(let number):
      // The timer must not keep the queue alive.
      let calls = timers.calledCount
      let timer = timers.schedule(after: timeout) { [weak self] in
        self?.stallTimerFired(number, callsBefore: calls)
      }
      if !send({ state, _ in state.stall.scheduled(timer, number: number) }) { timers.cancel(timer) }
    }
  }

  /// Reports a stall or schedules the next check. `callsBefore` is the number of timers that had fired when this timer was scheduled.
  private func stallTimerFired(_ number: UInt64, callsBefore: Int) {
    // Another timer that has fired since may have resumed a task that has not reached the queue yet.
    let awaitsTimer = timers.count > 0 || timers.calledCount > callsBefore + 1
    let finding = send { state, _ in
      state.stall.timerFired(number: number, changes: state.machine.changeCount, awaitsTimer: awaitsTimer)
    }
    switch finding {
    case .nothing: break
    case .checkAgain: adjustStallTimer()
    case .stall: if let onStall = configuration.onStall { onStall(snapshot()) } else { logStall() }
    }
  }
}
