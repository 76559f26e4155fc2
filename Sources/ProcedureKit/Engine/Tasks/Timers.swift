import Synchronization

/// Internal. All timers of a queue: one heap, and one task that sleeps until the nearest deadline while any is pending.
///
/// Setting and cancelling a timer are O(log n) under a lock. What is due is called outside of it, by the sleeping task, one
/// after another in the order of deadlines; it should be short. A nearer timer has the sleep replaced. So has one that is
/// cancelled, to the end that a test which owns the clock finds nobody asleep for nothing; on the system's clock, where
/// nobody can look, the sleep goes on instead, as work with timeouts would otherwise start and cancel a task each time.
final class Timers: Sendable {
  typealias Action = @Sendable () -> Void

  /// Those of everything that is on no queue.
  static let shared = Timers(time: QueueTime(ContinuousClock()), executor: nil)

  private let time: QueueTime
  private let executor: (any TaskExecutor)?
  private let state: Mutex<State>

  init(time: QueueTime, executor: (any TaskExecutor)?) {
    self.time = time
    self.executor = executor
    state = Mutex(State(lingers: time.isSystem))
  }

  deinit {
    state.withLock { $0.sleeper?.task }?.cancel()
  }

  /// The present time.
  var now: ProcedureInstant { time.now }

  /// How a task that does one piece of work after another is fair to others.
  var fairness: Fairness { Fairness(time) }

  /// The number of timers that are pending.
  var count: Int { state.withLock { $0.heap.count } }

  /// Has `action` called once `duration` has passed, at once if it is not positive.
  func schedule(after duration: Duration, _ action: @escaping Action) -> TimerHeap.ID {
    schedule(at: time.now.advanced(by: duration.saturated.roundedUpToNanoseconds), action)
  }

  /// Has `action` called at that instant, at once if it has passed.
  func schedule(at deadline: ProcedureInstant, _ action: @escaping Action) -> TimerHeap.ID {
    let (id, change) = state.withLock { state in
      (state.insert(deadline, action), state.arm())
    }
    perform(change)
    return id
  }

  /// Says whether it came in time: then the action is never called; otherwise it has been, or is about to be.
  @discardableResult
  func cancel(_ id: TimerHeap.ID) -> Bool {
    // The action leaves the lock before it is released: it may hold the last reference to something of the user's.
    let (action, change) = state.withLock { state in
      (state.remove(id), state.arm())
    }
    perform(change)
    return action != nil
  }

  /// Waits until `duration` has passed, in the current task. Cancelling that ends the wait at once.
  ///
  /// - Throws: `CancellationError`.
  func pause(for duration: Duration) async throws {
    try Task.checkCancellation()
    guard duration > .zero else { return }
    let place = Place()
    let id = schedule(after: duration) { place.call() }
    guard await place.wait() else {
      cancel(id)
      throw CancellationError()
    }
  }

  private func perform(_ change: State.Change) {
    change.stop?.cancel()
    guard let number = change.start else { return }
    let task = Spawner.startSleeper(executor: executor) { [weak self, time] in
      while let deadline = self?.nextDeadline(for: number) {
        do {
          try await time.wait(until: deadline)
        } catch {
          // Either this task was cancelled, and another number counts now; or the clock does not let anybody sleep. Then
          // nobody can wait for what is pending, and early is better than never.
          self?.callPending(for: number)
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

  /// Calls what is due. Returns how long that sleeper has to sleep then, `nil` if it is not needed any more.
  private func nextDeadline(for sleeper: UInt64) -> ProcedureInstant? {
    while true {
      let now = time.now
      let (due, deadline) = state.withLock { $0.wake(sleeper, at: now, atMost: 64) }
      if due.isEmpty { return deadline }
      for action in due { action() }
    }
  }

  private func callPending(for sleeper: UInt64) {
    let end = ProcedureInstant(nanoseconds: .max)
    let (pending, _) = state.withLock { $0.wake(sleeper, at: end, atMost: .max) }
    for action in pending { action() }
  }
}

extension Timers {
  /// What the lock guards.
  private struct State {
    /// The task that sleeps. Another number means that it is not needed any more.
    struct Sleeper {
      let number: UInt64
      /// `nil` while it is awake: it looks for the nearest deadline before it sleeps again.
      var wakesAt: ProcedureInstant?
      var task: Task<Void, Never>?
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
    var actions: ContiguousArray<Action?> = []
    var sleeper: Sleeper?
    var sleeperCount: UInt64 = 0

    mutating func insert(_ deadline: ProcedureInstant, _ action: @escaping Action) -> TimerHeap.ID {
      let id = heap.insert(deadline)
      while actions.count <= Int(id.slot) { actions.append(nil) }
      actions[Int(id.slot)] = action
      return id
    }

    mutating func remove(_ id: TimerHeap.ID) -> Action? {
      heap.cancel(id) ? takeAction(of: id.slot) : nil
    }

    /// Makes sure that somebody is awake at the next deadline.
    mutating func arm() -> Change {
      let next = heap.nextDeadline
      if let sleeper {
        guard let wakesAt = sleeper.wakesAt, wakesAt != next else { return Change() }
        if lingers, next.map({ wakesAt < $0 }) ?? true { return Change() }
      } else if next == nil {
        return Change()
      }
      let stop = sleeper?.task
      sleeper = nil
      guard let next else { return Change(stop: stop) }
      sleeperCount += 1
      sleeper = Sleeper(number: sleeperCount, wakesAt: next)
      return Change(stop: stop, start: sleeperCount)
    }

    /// A sleeper is awake. Takes out what is due; if nothing is, says until when it has to sleep, `nil` for no longer.
    mutating func wake(
      _ number: UInt64, at now: ProcedureInstant, atMost limit: Int
    ) -> (due: [Action], deadline: ProcedureInstant?) {
      guard sleeper?.number == number else { return ([], nil) }
      var due: [Action] = []
      while due.count < limit, let slot = heap.popDue(at: now) {
        if let action = takeAction(of: slot) { due.append(action) }
      }
      sleeper?.wakesAt = due.isEmpty ? heap.nextDeadline : nil
      if due.isEmpty, heap.isEmpty { sleeper = nil }
      return (due, heap.nextDeadline)
    }

    private mutating func takeAction(of slot: Int32) -> Action? {
      let action = actions[Int(slot)].take()
      if heap.isEmpty, actions.count > 1_024 { actions = [] }
      return action
    }
  }
}
