import ExploredLocks

/// The reason for abandoning a schedule whose tasks can never continue.
enum Abandonment {
  case deadlock(LockCycle)
  /// A task keeps operating on locks or atomics in an endless loop.
  case endless
}

extension ScheduleState {
  /// The number of consecutive operations after which a task yields to others, because it may be waiting for another task.
  private static let longWait = 20
  /// The number of times that a task reaches `longWait` within a step before the clock moves, because the task may be waiting for a timer.
  private static let waitsBeforeClockMoves = 50

  /// The next action of a task before or after an operation on a lock or an atomic.
  enum Continuation {
    /// The task continues.
    case proceed
    /// The task is parked, and the run token goes to the given job.
    case park(Ready)
    /// The clock moves to the next deadline because the task may be waiting for a timer.
    case advance(VirtualClock)
    /// The task never continues.
    case abandon
  }

  /// Stops recording, because the schedule must be run again with all jobs on workers other than the driver.
  mutating func restart() {
    stopRecording()
    needsRestart = true
  }

  /// Decides whether a ready job preempts the running task before an operation on a lock or an atomic.
  mutating func willOperate(_ point: OperationPoint) -> Continuation {
    guard controls(point.thread), running != nil else { return .proceed }
    didOperate()
    if moments >= limit {
      abandon(.endless)
      return .abandon
    }
    if isRecording, !ready.isEmpty,
      let preemptingJob = choosePreemption(at: point.depth, isUnderLock: point.isUnderLock)
    {
      return .park(preemptingJob)
    }
    guard operationsInARow >= Self.longWait, !point.isUnderLock, !locks.isUrgent else { return .proceed }
    operationsInARow = 0
    waitsInARow += 1
    didSpin()
    if let index = ready.indices.first(where: { !isEnding || ready[$0].isParked }) {
      return .park(preempt(by: index, at: point.depth))
    }
    guard !isEnding, waitsInARow >= Self.waitsBeforeClockMoves, let clock = environment?.clock,
      nextDeadline(on: clock) != nil
    else { return .proceed }
    waitsInARow = 0
    return .advance(clock)
  }

  /// Acquires a lock or parks the running task until the lock is released.
  mutating func willLock(_ lock: LockIdentity, at location: CodeLocation, _ point: OperationPoint) -> Continuation {
    guard controls(point.thread), let holder else { return .proceed }
    let answer = locks.willLock(
      LockUse(lock: lock, worker: holder, task: running ?? 0, location: location, point: point))
    let name = trace == nil ? "" : locks.name(of: lock)
    switch answer {
    case .taken:
      log("locks \(name)")
      return .proceed
    case .held:
      log("waits for the lock created at \(name)")
      return .park(takeInstead(of: holder, waitingFor: lock))
    case .deadlock(let cycle):
      log("waits for the lock created at \(name): deadlock")
      abandon(.deadlock(cycle))
      return .abandon
    }
  }

  /// Acquires a lock unless the lock is held.
  mutating func willLockIfAvailable(_ lock: LockIdentity, at location: CodeLocation, _ point: OperationPoint) -> Bool {
    guard controls(point.thread), let holder else { return true }
    let isTaken = locks.willLockIfAvailable(
      LockUse(lock: lock, worker: holder, task: running ?? 0, location: location, point: point))
    let name = trace == nil ? "" : locks.name(of: lock)
    log(isTaken ? "locks \(name)" : "finds \(name) locked")
    return isTaken
  }

  /// Releases a lock. The tasks that are waiting for the lock become ready, and one of them can preempt the running task.
  mutating func didUnlock(_ lock: LockIdentity, _ point: OperationPoint) -> Continuation {
    let waiters = locks.didUnlock(lock)
    guard !hasCollided, !waiters.isEmpty else { return .proceed }
    for waiter in waiters { addParked(waiter.worker, task: waiter.task, depth: waiter.point.depth) }
    guard controls(point.thread), running != nil else { return .proceed }
    let urgent = waiters.first { $0.point.isUnderLock }
    if let index = ready.firstIndex(where: { $0.isParked && $0.parkedWorker === urgent?.worker }) {
      recordForcedWake(index)
      return .park(preempt(by: index, at: point.depth))
    }
    return choosePreemption(at: point.depth, isUnderLock: point.isUnderLock).map(Continuation.park) ?? .proceed
  }

  /// Removes all parked and waiting tasks of an abandoned schedule, and returns their workers.
  mutating func takeAbandoned() -> [WorkerThread] {
    takeAllParked().map(\.worker)
  }

  private mutating func abandon(_ reason: Abandonment) {
    abandonment = reason
    stopRecording()
    isEnding = true
    isStuck = needsRestart
    didAbandon()
  }

  /// Returns whether the thread holds the run token. After a `LockCollision`, threads run without the token, and only the locks determine
  /// the order of the tasks.
  private func controls(_ thread: Platform.Thread) -> Bool {
    !hasCollided && abandonment == nil && isHolding(thread)
  }

  /// Removes and returns the entry of `ready` that runs next, because the running task of `worker` is waiting for `lock`.
  ///
  /// At least one parked task is ready, because each chain of waits ends with a parked task. A cycle of waits would have been reported as a
  /// deadlock.
  private mutating func takeInstead(of worker: WorkerThread, waitingFor lock: LockIdentity) -> Ready {
    let last = locks.lastHolder(of: lock)
    let holder = ready.firstIndex { $0.isParked && $0.parkedWorker === last } ?? 0
    let index = isRecording ? chooseNext(forced: locks.isUrgent ? holder : nil) : holder
    return takeBeforeWaiting(index, worker)
  }
}
