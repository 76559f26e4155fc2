import ExploredLocks

/// The reason for which a schedule is abandoned, with tasks that never go on.
enum Abandonment {
  case deadlock(LockCycle)
  /// A task performs operations without end.
  case endless
}

extension ScheduleState {
  /// The number of operations in a row after which a task gives way, since the task may wait for another task.
  private static let longWait = 20

  /// The continuation of a task that locks or performs an atomic operation.
  enum Continuation {
    /// The task goes on.
    case goOn
    /// The task is parked, and `Ready` gets the run token.
    case park(Ready)
    /// The clock moves to the next deadline, since the task may wait for a timer.
    case advance(VirtualClock)
    /// The task never goes on.
    case abandon
  }

  /// Ends the recording of a schedule that has to run again, on workers other than the driver.
  mutating func restart() {
    stopRecording()
    needsRestart = true
  }

  /// Chooses whether a ready job preempts the running task, before a locking or an atomic operation.
  mutating func willOperate(_ turn: Turn) -> Continuation {
    guard isTurn(of: turn.thread), running != nil else { return .goOn }
    didOperate()
    if moments >= limit {
      abandon(.endless)
      return .abandon
    }
    if isRecording, !ready.isEmpty, let preemptingJob = choosePreemption(at: turn.depth, isUnderLock: turn.isUnderLock)
    {
      return .park(preemptingJob)
    }
    guard operationsInARow >= Self.longWait, !turn.isUnderLock, !locks.isUrgent else { return .goOn }
    operationsInARow = 0
    didGiveWay()
    if let index = ready.indices.first(where: { !isEnding || ready[$0].isParked }) {
      return .park(preempt(by: index, at: turn.depth))
    }
    guard !isEnding, let clock = environment?.clock, nextDeadline(on: clock) != nil else { return .goOn }
    return .advance(clock)
  }

  /// Takes a lock, or parks the running task until the lock is given back.
  mutating func willLock(_ lock: LockIdentity, at location: CodeLocation, _ turn: Turn) -> Continuation {
    guard isTurn(of: turn.thread), let holder else { return .goOn }
    let answer = locks.willLock(LockUse(lock: lock, worker: holder, task: running ?? 0, location: location, turn: turn))
    let name = trace == nil ? "" : locks.name(of: lock)
    switch answer {
    case .taken:
      log("locks \(name)")
      return .goOn
    case .held:
      log("waits for the lock of \(name)")
      return .park(takeInstead(of: holder, waitingFor: lock))
    case .deadlock(let circle):
      log("waits for the lock of \(name): deadlock")
      abandon(.deadlock(circle))
      return .abandon
    }
  }

  /// Takes a lock unless the lock is held.
  mutating func willLockIfAvailable(_ lock: LockIdentity, at location: CodeLocation, _ turn: Turn) -> Bool {
    guard isTurn(of: turn.thread), let holder else { return true }
    let isTaken = locks.willLockIfAvailable(
      LockUse(lock: lock, worker: holder, task: running ?? 0, location: location, turn: turn))
    let name = trace == nil ? "" : locks.name(of: lock)
    log(isTaken ? "locks \(name)" : "finds \(name) locked")
    return isTaken
  }

  /// Gives a lock back, and makes the waiting tasks ready, one of which can go first.
  mutating func didUnlock(_ lock: LockIdentity, _ turn: Turn) -> Continuation {
    let awoken = locks.didUnlock(lock)
    guard !hasCollided, !awoken.isEmpty else { return .goOn }
    for waiter in awoken { addParked(waiter.worker, task: waiter.task, depth: waiter.turn.depth) }
    guard isTurn(of: turn.thread), running != nil else { return .goOn }
    let urgent = awoken.first { $0.turn.isUnderLock }
    if let index = ready.firstIndex(where: { $0.isParked && $0.parkedWorker === urgent?.worker }) {
      didHaveToWake(index)
      return .park(preempt(by: index, at: turn.depth))
    }
    return choosePreemption(at: turn.depth, isUnderLock: turn.isUnderLock).map(Continuation.park) ?? .goOn
  }

  /// Forgets all parked and waiting tasks of an abandoned schedule, and returns their workers.
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

  /// Whether the thread has the run token. Without it, after a collision, only the locks themselves order the tasks.
  private func isTurn(of thread: Platform.Thread) -> Bool {
    !hasCollided && abandonment == nil && isHolding(thread)
  }

  /// Takes the next entry, since the running task of `worker` waits for `lock`.
  ///
  /// Some parked task is always ready: each waiting task waits for a task that holds a lock, and a circle of waits
  /// is a deadlock.
  private mutating func takeInstead(of worker: WorkerThread, waitingFor lock: LockIdentity) -> Ready {
    let last = locks.lastHolder(of: lock)
    let holder = ready.firstIndex { $0.isParked && $0.parkedWorker === last } ?? 0
    let index = isRecording ? chooseNext(forced: locks.isUrgent ? holder : nil) : holder
    return takeBeforeWaiting(index, worker)
  }
}
