import ExploredLocks
import Synchronization

extension ScheduleExecutor: LockSchedule {
  func lock(_ lock: LockIdentity, at location: CodeLocation) {
    let turn = offerTurn()
    var isWaiting = true
    while isWaiting {
      let next = state.withLock { $0.willLock(lock, at: location, turn) }
      if case .goOn = next { isWaiting = false } else { perform(next, on: turn.thread) }
    }
  }

  func lockIfAvailable(_ lock: LockIdentity, at location: CodeLocation) -> Bool {
    let turn = offerTurn()
    return state.withLock { $0.willLockIfAvailable(lock, at: location, turn) }
  }

  func unlock(_ lock: LockIdentity) {
    var turn = Turn(thread: .current)
    var marker: UInt8 = 0
    let address = withUnsafePointer(to: &marker) { UInt(bitPattern: $0) }
    let next = state.withLock { state in
      turn.locate(address, in: state, of: self)
      return state.didUnlock(lock, turn)
    }
    perform(next, on: turn.thread)
  }

  func willPerform(_ operation: StaticString, on atomic: CodeLocation) {
    _ = offerTurn()
    log("\(operation) of \(atomic)")
  }

  /// Lets ready jobs go first, if the chooser decides so.
  ///
  /// The driver must never be part of a deadlock. The first operation of an exploration therefore makes the schedule run
  /// again, on other threads.
  @inline(never)
  private func offerTurn() -> Turn {
    if !keepsDriverFree {
      pool.usesLocks = true
      state.withLock { $0.restart() }
    }
    var turn = Turn(thread: .current)
    var marker: UInt8 = 0
    let address = withUnsafePointer(to: &marker) { UInt(bitPattern: $0) }
    let next = state.withLock { state in
      turn.locate(address, in: state, of: self)
      return state.willOperate(turn)
    }
    perform(next, on: turn.thread)
    return turn
  }

  private func perform(_ next: ScheduleState.Continuation, on thread: Platform.Thread) {
    switch next {
    case .goOn: break
    case .park(let preemptingJob): park(for: preemptingJob, on: thread)
    case .advance(let clock): _ = moveToNextDeadline(of: clock)
    case .abandon: abandon(on: thread)
    }
  }
}

extension Turn {
  /// Determines the depth of a stack's address.
  fileprivate mutating func locate(_ address: UInt, in state: ScheduleState, of executor: ScheduleExecutor) {
    depth = (state.holder?.stackBase ?? address) &- address
    isUnderLock = !executor.isRepetition && executor.pool.isUnderLock(depth)
  }
}
