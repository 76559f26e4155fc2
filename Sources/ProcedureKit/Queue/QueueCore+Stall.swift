extension QueueCore {
  /// Decides whether a timer has to look for a stall. Called under the lock, after each event.
  func watchForStall(_ state: inout State, _ effects: inout Effects) {
    let canMove = state.machine.count > 0 && !state.machine.isSuspended
    if state.stall.changed(canMove: canMove, changes: state.machine.changeCount) { effects.add(.watchForStall) }
  }

  /// Schedules or cancels the timer.
  func adjustStallTimer() {
    guard let stallReport else { return }
    switch withState({ $0.stall.adjusted(changes: $0.machine.changeCount) }) {
    case .none: break
    case .cancel(let timer): timers.cancel(timer)
    case .schedule(let number):
      // The queue may go while the timer is pending.
      let calls = timers.calledCount
      let timer = timers.schedule(after: stallReport.timeout) { [weak self] in
        self?.stallTimerWentOff(number, callsBefore: calls)
      }
      if !withState({ $0.stall.scheduled(timer, number: number) }) { timers.cancel(timer) }
    }
  }

  private func stallTimerWentOff(_ number: UInt64, callsBefore: Int) {
    // Another timer that has gone off since may have woken a task that has not come to the queue yet.
    let awaitsTimer = timers.count > 0 || timers.calledCount > callsBefore + 1
    let finding = withState { state in
      state.stall.timerWentOff(number: number, changes: state.machine.changeCount, awaitsTimer: awaitsTimer)
    }
    switch finding {
    case .nothing: break
    case .lookAgain: adjustStallTimer()
    case .stall: stallReport?.tell(self)
    }
  }
}
