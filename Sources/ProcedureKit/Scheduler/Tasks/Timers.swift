import Synchronization

/// Internal. All timers of a queue: one heap, and one task that sleeps until the nearest deadline while a timer is pending.
///
/// Setting and cancelling a timer are O(log n) under a lock. The sleeping task calls the actions of due timers outside of the lock, one
/// after another in the order of deadlines; an action should be short. A nearer timer replaces the sleep. A cancelled timer ends the sleep on a
/// user's clock, so that a test finds nobody asleep in vain. On the system's clock the sleep goes on instead: work with timeouts
/// would otherwise start and cancel a task each time.
///
/// `package` for `ProcedureKitRemote`.
package final class Timers: Sendable {
  package typealias Action = @Sendable () -> Void

  private let time: QueueClock
  private let executor: (any TaskExecutor)?
  private let state: Mutex<State>
  private let called = Atomic<Int>(0)

  package init(time: QueueClock, executor: (any TaskExecutor)?) {
    self.time = time
    self.executor = executor
    state = Mutex(State(lingers: time.isSystem))
  }

  /// The present time.
  package var now: ProcedureInstant { time.now }

  /// The number of timers that are pending, or due and not called yet.
  var count: Int { state.withLock { $0.heap.count + $0.dueCount - calledCount } }

  /// How many timers have been called, including the one that is being called.
  var calledCount: Int { called.load(ordering: .acquiring) }

  /// Has `action` called once `duration` has passed, at once if it is not positive.
  package func schedule(after duration: Duration, _ action: @escaping Action) -> TimerHeap.ID {
    schedule(at: time.now.advanced(by: duration.saturated.roundedUpToNanoseconds), action)
  }

  /// Has `action` called at that instant, at once if the instant has passed.
  package func schedule(at deadline: ProcedureInstant, _ action: @escaping Action) -> TimerHeap.ID {
    let (id, change) = state.withLock { state in (state.insert(deadline, action), state.arm()) }
    perform(change)
    return id
  }

  /// Returns whether the cancel came in time: then the action is never called; otherwise it has been, or is about to be.
  @discardableResult
  package func cancel(_ id: TimerHeap.ID) -> Bool {
    // The action leaves the lock before it is released: it may hold the last reference to an object of the user's.
    let (action, change) = state.withLock { state in (state.remove(id), state.arm()) }
    perform(change)
    return action != nil
  }

  /// Waits until `duration` has passed, in the current task. Cancelling the task ends the wait at once.
  ///
  /// - Throws: `CancellationError`.
  package func pause(for duration: Duration) async throws {
    try Task.checkCancellation()
    guard duration > .zero else { return }
    let signal = OneShotSignal()
    let id = schedule(after: duration) { signal.signal() }
    guard await signal.wait() else {
      cancel(id)
      throw CancellationError()
    }
  }

  /// Ends the sleeping task, which keeps the timers, and calls nothing that is pending.
  package func close() {
    // The pending actions leave the lock before they are released, as above.
    let former = state.withLock { state in
      let former = state
      state = State(lingers: former.lingers)
      state.dueCount = former.dueCount
      return former
    }
    former.sleeper?.task?.cancel()
  }

  // MARK: The sleeping task

  private func perform(_ change: State.Change) {
    change.stop?.cancel()
    guard let number = change.start else { return }
    let task = Spawner.startDetached(executor: executor) { [self] in
      while let deadline = nextDeadline(for: number) {
        do {
          try await time.wait(until: deadline)
        } catch {
          // Either the task was cancelled, and another number counts now; or the clock lets nobody sleep. Then early is better than never.
          callPending(for: number)
        }
      }
    }
    let isObsolete = state.withLock { state in
      guard state.sleeper?.number == number else { return true }
      state.sleeper?.task = task
      return false
    }
    if isObsolete { task.cancel() }
  }

  /// Calls what is due. Returns until when the sleeper has to sleep then, `nil` if it is not needed any more.
  private func nextDeadline(for sleeper: UInt64) -> ProcedureInstant? {
    while true {
      let now = time.now
      let (due, deadline) = state.withLock { $0.wake(sleeper, at: now, atMost: 64) }
      if due.isEmpty { return deadline }
      for timer in due { call(timer) }
    }
  }

  private func call(_ timer: State.Pending) {
    called.add(1, ordering: .acquiringAndReleasing)
    timer.action()
  }

  private func callPending(for sleeper: UInt64) {
    let end = ProcedureInstant(nanoseconds: .max)
    let (pending, _) = state.withLock { $0.wake(sleeper, at: end, atMost: .max) }
    for timer in pending { call(timer) }
  }
}

extension Timers {
  /// The timers, their actions and the number of the task that sleeps.
  private struct State {
    /// The task that sleeps. Another number means that it is not needed any more.
    struct Sleeper {
      let number: UInt64
      /// `nil` while it is awake: it looks for the nearest deadline before it sleeps again.
      var wakesAt: ProcedureInstant?
      var task: Task<Void, Never>?
    }

    /// A function in a structure of its own is stored as it is, and not behind another one.
    struct Pending {
      let action: Action
    }

    /// What is to be done outside of the lock.
    struct Change {
      var stop: Task<Void, Never>?
      var start: UInt64?
    }

    /// Whether a sleep goes on that nobody needs any more.
    let lingers: Bool
    var heap = TimerHeap()
    /// For each slot of the heap what to call.
    var actions: ContiguousArray<Pending?> = []
    var sleeper: Sleeper?
    var sleeperCount: UInt64 = 0
    /// How many timers have come due so far.
    var dueCount = 0

    mutating func insert(_ deadline: ProcedureInstant, _ action: @escaping Action) -> TimerHeap.ID {
      let id = heap.insert(deadline)
      while actions.count <= Int(id.slot) { actions.append(nil) }
      actions[Int(id.slot)] = Pending(action: action)
      return id
    }

    mutating func remove(_ id: TimerHeap.ID) -> Pending? {
      heap.cancel(id) ? takeAction(of: id.slot) : nil
    }

    /// Makes sure that a task is awake at the next deadline.
    mutating func arm() -> Change {
      let next = heap.nextDeadline
      if let sleeper {
        guard let wakesAt = sleeper.wakesAt, wakesAt != next else { return Change() }
        if lingers, next.map({ wakesAt < $0 }) ?? true { return Change() }
      }
      let stop = sleeper?.task.take()
      sleeper = nil
      guard let next else { return Change(stop: stop) }
      sleeperCount += 1
      sleeper = Sleeper(number: sleeperCount, wakesAt: next)
      return Change(stop: stop, start: sleeperCount)
    }

    /// A sleeper is awake. Takes out what is due; if nothing is, says until when it has to sleep, `nil` for no longer.
    mutating func wake(
      _ number: UInt64, at now: ProcedureInstant, atMost limit: Int
    ) -> (due: [Pending], deadline: ProcedureInstant?) {
      guard sleeper?.number == number else { return ([], nil) }
      var due: [Pending] = []
      while due.count < limit, let slot = heap.popDue(at: now) {
        if let action = takeAction(of: slot) { due.append(action) }
      }
      dueCount += due.count
      sleeper?.wakesAt = due.isEmpty ? heap.nextDeadline : nil
      if due.isEmpty, heap.isEmpty { sleeper = nil }
      return (due, heap.nextDeadline)
    }

    private mutating func takeAction(of slot: Int32) -> Pending? {
      let action = actions[Int(slot)].take()
      if heap.isEmpty, actions.count > 1_024 { actions = [] }
      return action
    }
  }
}
