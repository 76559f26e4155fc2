import ExploredLocks
import Synchronization

extension ScheduleExecutor: LockSchedule {
  func lock(_ lock: LockIdentity, at location: CodeLocation) {
    let point = willOperate()
    var isWaiting = true
    while isWaiting {
      let next = state.withLock { $0.willLock(lock, at: location, point) }
      if case .proceed = next { isWaiting = false } else { perform(next, on: point.thread) }
    }
  }

  func lockIfAvailable(_ lock: LockIdentity, at location: CodeLocation) -> Bool {
    let point = willOperate()
    return state.withLock { $0.willLockIfAvailable(lock, at: location, point) }
  }

  func unlock(_ lock: LockIdentity) {
    var point = OperationPoint(thread: .current)
    var marker: UInt8 = 0
    let address = withUnsafePointer(to: &marker) { UInt(bitPattern: $0) }
    let calls = isTracing ? ResumePoint.addressesOfCalls() : []
    let next = state.withLock { state in
      point.locate(address, in: state, of: self)
      state.didReach(calls)
      return state.didUnlock(lock, point)
    }
    perform(next, on: point.thread)
  }

  func willPerform(_ operation: StaticString, on atomic: CodeLocation) {
    _ = willOperate()
    log("\(operation) of \(atomic)")
  }

  /// Runs other ready jobs before an operation on a lock or an atomic, if the chooser decides to do so.
  ///
  /// The driver, which is the thread of the explorer's own task, must never be part of a deadlock. Therefore, the first such operation in
  /// an exploration restarts the schedule, with all jobs on other threads.
  @inline(never)
  private func willOperate() -> OperationPoint {
    if !keepsDriverFree {
      pool.usesLocks = true
      state.withLock { $0.restart() }
    }
    var point = OperationPoint(thread: .current)
    var marker: UInt8 = 0
    let address = withUnsafePointer(to: &marker) { UInt(bitPattern: $0) }
    let calls = isTracing ? ResumePoint.addressesOfCalls() : []
    let next = state.withLock { state in
      point.locate(address, in: state, of: self)
      state.didReach(calls)
      return state.willOperate(point)
    }
    perform(next, on: point.thread)
    return point
  }

  private func perform(_ next: ScheduleState.Continuation, on thread: Platform.Thread) {
    switch next {
    case .proceed: break
    case .park(let preemptingJob): park(for: preemptingJob, on: thread)
    case .advance(let clock): _ = moveToNextDeadline(of: clock)
    case .abandon: abandon(on: thread)
    }
  }
}

extension OperationPoint {
  /// Computes the stack depth from an address on the stack.
  fileprivate mutating func locate(_ address: UInt, in state: ScheduleState, of executor: ScheduleExecutor) {
    depth = (state.holder?.stackBase ?? address) &- address
    isUnderLock = !executor.isRepetition && executor.pool.isUnderLock(depth)
  }
}
