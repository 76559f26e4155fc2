import Synchronization

/// Internal. What ``Timers`` know, and the task that sleeps for them.
///
/// That task keeps this, and not the timers: these end it when they are no more. A weak reference to them would do as well, but
/// to count the references to what anybody refers to weakly takes several times as long, and each timeout does that.
final class TimerTable: Sendable {
  private let time: QueueTime
  private let executor: (any TaskExecutor)?
  private let state: Mutex<State>

  init(time: QueueTime, executor: (any TaskExecutor)?) {
    self.time = time
    self.executor = executor
    state = Mutex(State(lingers: time.isSystem))
  }

  var count: Int { state.withLock { $0.heap.count } }

  func insert(_ deadline: ProcedureInstant, _ action: @escaping Timers.Action) -> TimerHeap.ID {
    let (id, change) = state.withLock { state in
      (state.insert(deadline, action), state.arm())
    }
    perform(change)
    return id
  }

  /// Says whether it was pending.
  func remove(_ id: TimerHeap.ID) -> Bool {
    // The action leaves the lock before it is released: it may hold the last reference to something of the user's.
    let (action, change) = state.withLock { state in
      (state.remove(id), state.arm())
    }
    perform(change)
    return action != nil
  }

  /// Nobody sleeps any more, and nothing that is pending is called.
  func close() {
    // What is pending leaves the lock before it is released, as above.
    let former = state.withLock { state in
      let former = state
      state = State(lingers: former.lingers)
      return former
    }
    former.sleeper?.task?.cancel()
  }

  private func perform(_ change: State.Change) {
    change.stop?.cancel()
    guard let number = change.start else { return }
    let task = Spawner.startSleeper(executor: executor) { [self] in
      while let deadline = nextDeadline(for: number) {
        do {
          try await time.wait(until: deadline)
        } catch {
          // Either this task was cancelled, and another number counts now; or the clock does not let anybody sleep. Then
          // nobody can wait for what is pending, and early is better than never.
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

  /// Calls what is due. Returns how long that sleeper has to sleep then, `nil` if it is not needed any more.
  private func nextDeadline(for sleeper: UInt64) -> ProcedureInstant? {
    while true {
      let now = time.now
      let (due, deadline) = state.withLock { $0.wake(sleeper, at: now, atMost: 64) }
      if due.isEmpty { return deadline }
      for timer in due { timer.action() }
    }
  }

  private func callPending(for sleeper: UInt64) {
    let end = ProcedureInstant(nanoseconds: .max)
    let (pending, _) = state.withLock { $0.wake(sleeper, at: end, atMost: .max) }
    for timer in pending { timer.action() }
  }
}

extension TimerTable {
  /// What the lock guards.
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
      let action: Timers.Action
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

    mutating func insert(_ deadline: ProcedureInstant, _ action: @escaping Timers.Action) -> TimerHeap.ID {
      let id = heap.insert(deadline)
      while actions.count <= Int(id.slot) { actions.append(nil) }
      actions[Int(id.slot)] = Pending(action: action)
      return id
    }

    mutating func remove(_ id: TimerHeap.ID) -> Pending? {
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
    ) -> (due: [Pending], deadline: ProcedureInstant?) {
      guard sleeper?.number == number else { return ([], nil) }
      var due: [Pending] = []
      while due.count < limit, let slot = heap.popDue(at: now) {
        if let action = takeAction(of: slot) { due.append(action) }
      }
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
