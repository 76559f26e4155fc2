import Synchronization

/// The timers of a queue. They share one heap and one task. While a timer is pending, the task sleeps until the nearest deadline.
///
/// Setting or cancelling a timer takes O(log n) time and holds the lock. The sleeping task calls the actions of due timers in the order of
/// their deadlines, without holding the lock. An action should be short. Setting a timer with an earlier deadline replaces the sleeping
/// task.
///
/// With a custom clock, cancelling the nearest timer ends the sleep, so that a test does not observe a task that sleeps unnecessarily. With
/// the system's clock, the sleep continues, because otherwise each operation with a timeout would start and cancel a task.
///
/// The class is `package` because `ProcedureKitRemote` uses it.
package final class Timers: Sendable {
  package typealias Action = @Sendable () -> Void

  private let time: QueueClock
  private let executor: (any TaskExecutor)?
  private let state: Mutex<State>
  private let called = Atomic<Int>(0)

  package init(time: QueueClock, executor: (any TaskExecutor)?) {
    self.time = time
    self.executor = executor
    state = Mutex(State(keepsSleeping: time.isSystem))
  }

  /// The current time.
  package var now: ProcedureInstant { time.now }

  /// The number of timers whose actions have not been called yet.
  var count: Int { state.withLock { $0.heap.count + $0.dueCount - calledCount } }

  /// The number of timers whose actions have been called, including an action that is still executing.
  var calledCount: Int { called.load(ordering: .acquiring) }

  /// Calls `action` when `duration` has passed, or as soon as possible if `duration` is not positive.
  package func schedule(after duration: Duration, _ action: @escaping Action) -> TimerHeap.ID {
    schedule(at: time.now.advanced(by: duration.saturated.roundedUpToNanoseconds), action)
  }

  /// Calls `action` at an instant, or as soon as possible if the instant has passed.
  package func schedule(at deadline: ProcedureInstant, _ action: @escaping Action) -> TimerHeap.ID {
    let (id, change) = state.withLock { state in (state.insert(deadline, action), state.arm()) }
    perform(change)
    return id
  }

  /// Cancels a timer. Returns `false` if the timer's action has been called or is about to be called.
  @discardableResult
  package func cancel(_ id: TimerHeap.ID) -> Bool {
    // The action is released only after the lock is released, because it may hold the last reference to one of the user's objects.
    let (action, change) = state.withLock { state in (state.remove(id), state.arm()) }
    perform(change)
    return action != nil
  }

  /// Suspends the current task for a duration. Cancelling the task ends the wait immediately.
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

  /// Removes all timers without calling their actions. Also cancels the sleeping task, because the task keeps this object alive.
  package func close() {
    // The actions are released only after the lock is released, as in `cancel`.
    let closed = state.withLock { state in
      let closed = state
      state = State(keepsSleeping: closed.keepsSleeping)
      state.dueCount = closed.dueCount
      return closed
    }
    closed.sleeper?.task?.cancel()
  }

  // MARK: The sleeping task

  /// Cancels the previous sleeping task and starts a new one, if `change` requires this.
  private func perform(_ change: State.Change) {
    change.stop?.cancel()
    guard let number = change.start else { return }
    let task = Spawner.startDetached(executor: executor) { [self] in
      while let deadline = nextDeadline(for: number) {
        do {
          try await time.wait(until: deadline)
        } catch {
          // If the task was cancelled, another sleeper has replaced it, and this call does nothing. Otherwise, the custom clock cannot
          // sleep, and calling the actions early is better than never calling them.
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

  /// Calls the actions of due timers. Returns the instant at which the sleeper must wake next; `nil` if the sleeper is no longer needed.
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

  /// Calls the actions of all pending timers.
  private func callPending(for sleeper: UInt64) {
    let end = ProcedureInstant(nanoseconds: .max)
    let (pending, _) = state.withLock { $0.wake(sleeper, at: end, atMost: .max) }
    for timer in pending { call(timer) }
  }
}

extension Timers {
  /// The timers, their actions, and the sleeping task.
  private struct State {
    /// The current sleeping task. A task with a different number has been replaced, and must end.
    struct Sleeper {
      let number: UInt64
      /// The instant at which the task wakes; `nil` while it calls actions. The task reads the nearest deadline before it sleeps again.
      var wakesAt: ProcedureInstant?
      var task: Task<Void, Never>?
    }

    /// An action. Wrapping the closure in a structure avoids a reabstraction thunk for each closure in an array.
    struct Pending {
      let action: Action
    }

    /// The work that must be done after the lock is released.
    struct Change {
      var stop: Task<Void, Never>?
      var start: UInt64?
    }

    /// Whether the task keeps sleeping until the deadline of the nearest timer, even after that timer is cancelled.
    let keepsSleeping: Bool
    var heap = TimerHeap()
    /// The actions, indexed by the slots of the heap.
    var actions: ContiguousArray<Pending?> = []
    var sleeper: Sleeper?
    var sleeperCount: UInt64 = 0
    /// The number of timers that have become due so far.
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

    /// Ensures that a task wakes at the next deadline. Returns the task to cancel and the number of the task to start, if any.
    mutating func arm() -> Change {
      let next = heap.nextDeadline
      if let sleeper {
        guard let wakesAt = sleeper.wakesAt, wakesAt != next else { return Change() }
        // The sleeper will wake too early, and will then sleep again or end. This is cheaper than starting another task.
        if keepsSleeping, next.map({ wakesAt < $0 }) ?? true { return Change() }
      }
      let stop = sleeper?.task.take()
      sleeper = nil
      guard let next else { return Change(stop: stop) }
      sleeperCount += 1
      sleeper = Sleeper(number: sleeperCount, wakesAt: next)
      return Change(stop: stop, start: sleeperCount)
    }

    /// Records that a sleeper is awake.
    ///
    /// Removes and returns due timers. If none is due, also returns the deadline at which to wake next, or `nil` if no timer is pending.
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
