public import ProcedureKit

/// A clock that moves only when a test moves it, so an hour-long wait takes no real time.
///
/// ```swift
/// let clock = VirtualClock()
/// async let done: Void = clock.sleep(for: .seconds(3_600))
/// try await clock.nextSleep()          // waits until a task sleeps
/// clock.advance(by: .seconds(3_600))   // wakes every sleeper that is due
/// try await done
/// ```
///
/// Sleepers wake in the order of their deadlines. Sleepers with equal deadlines wake in the order in which their sleeps began. `advance`
/// moves the clock immediately. ``run(for:)`` moves the clock from deadline to deadline, and waits between these steps until no job on
/// ``executor`` is ready or running. Within `exploreSchedules`, the clock moves automatically: it jumps to the next deadline when no job is
/// ready.
///
/// Starting, ending or cancelling a sleep takes amortized O(log n) time for n sleepers. All methods can be called from any thread.
/// Cancelling a sleeping task ends the sleep immediately with `CancellationError`.
public final class VirtualClock: Clock {
  /// The clock of the current test, if the test has the trait `.virtualClock` or `.explored`; otherwise `nil`.
  @TaskLocal public static var current: VirtualClock?

  private struct State {
    var now: Instant
    var queue = SleepQueue()
    /// The number of sleepers that each call to `nextSleep` is waiting for, keyed by the waiter's number.
    var awaitedSleepers: [UInt64: Int] = [:]
    /// The numbers that identify the callers waiting for the executor to become quiet, in order of arrival. Cancelled callers are skipped.
    var awaitingQuiet: [UInt64] = []
    /// The number of sleeps so far.
    var sleepCount = 0
    /// Whether the clock has moved, or a call to `nextSleep` has had to wait.
    var isUsed = false
    /// Whether the latest call to `advance` or `run` woke no task.
    var hasMovedInVain = false

    /// Moves the clock to `instant`.
    ///
    /// - Returns: The numbers of the sleepers that are due, in order.
    mutating func move(to instant: Instant) -> [UInt64] {
      now = instant
      isUsed = true
      return queue.removeAll(through: instant).map(\.number)
    }

    /// Resumes the first task that is waiting for the executor to become quiet.
    ///
    /// - Returns: Whether a task was waiting.
    mutating func answerQuiet(_ waiters: inout List.Waiters) -> Bool {
      while !awaitingQuiet.isEmpty {
        if waiters.answer(awaitingQuiet.removeFirst(), .success(now)) { return true }
      }
      return false
    }
  }

  private typealias List = WaiterList<State, SleepQueue.Sleep?, Instant>

  private let list: List
  private let reportIfIdle: @Sendable () -> Void
  /// The schedule to which the clock belongs; `nil` for a clock that was created outside an exploration.
  private weak let schedule: ScheduleExecutor?

  /// An executor that runs one job at a time. ``run(for:)`` waits for the work on this executor.
  ///
  /// Pass the executor to a queue (`ProcedureQueue.Configuration.executor`), to `withTaskExecutorPreference`, or to
  /// `Task(executorPreference:)`. Child tasks inherit the executor, and code isolated to a default actor runs on the executor of the
  /// calling task. The clock of an exploration uses the executor of the exploration.
  public let executor: any TaskExecutor

  /// Creates a clock whose current time is `start`.
  public init(start: Instant = Instant()) {
    let list = List(State(now: start))
    let executor = IdleTrackingExecutor { Self.didBecomeIdle($0, list) }
    self.list = list
    self.executor = executor
    schedule = ScheduleExecutor.current
    reportIfIdle = { Self.didBecomeIdle(executor, list) }
  }

  /// Creates the clock for an exploration. The clock moves to the next deadline whenever `executor` is quiet.
  init(ofExplorationOn executor: ScheduleExecutor) {
    list = List(State(now: Instant()))
    self.executor = executor
    schedule = executor
    reportIfIdle = {}
  }

  /// The current virtual time.
  public var now: Instant {
    list.read { $0.now }
  }

  /// Zero, because virtual time has no smallest step.
  public var minimumResolution: Duration { .zero }

  /// The number of tasks that are sleeping on the clock.
  public var sleeperCount: Int {
    list.read { $0.queue.count }
  }

  /// The earliest deadline of a sleeping task; `nil` if no task is sleeping.
  public var nextDeadline: Instant? {
    list.read { $0.queue.first?.deadline }
  }

  /// Waits until the clock reaches `deadline`. If the deadline has already passed, the function returns immediately. The parameter
  /// `tolerance` is ignored.
  ///
  /// Cancelling the task ends the wait immediately.
  ///
  /// - Throws: `CancellationError` if the task is already cancelled, or is cancelled before the clock reaches `deadline`.
  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    reportIfOutliving()
    _ = try await list.wait(
      request: { SleepQueue.Sleep(deadline: deadline, number: $0) },
      immediateAnswer: { $0.now >= deadline ? .success($0.now) : nil },
      didArrive: { state, waiters, waiter in
        guard let sleep = waiter.request else { return }
        state.queue.insert(sleep)
        state.sleepCount += 1
        guard !state.awaitedSleepers.isEmpty, let first = state.queue.first else { return }
        for (number, count) in state.awaitedSleepers.sorted(by: { $0.key < $1.key })
        where count <= state.queue.count {
          state.awaitedSleepers[number] = nil
          waiters.answer(number, .success(first.deadline))
        }
      },
      didCancel: { state, waiter in
        if let sleep = waiter.request { _ = state.queue.remove(sleep) }
      })
  }

  /// Moves the clock forward by `duration`, and wakes every sleeper that is due, in order.
  ///
  /// The function returns immediately. If a woken task starts another sleep, the new sleep is measured from the new time. To test a task
  /// that sleeps several times in a row, use ``run(for:)``, or call `nextSleep` before each call to `advance`.
  ///
  /// - Precondition: `duration` is not negative.
  public func advance(by duration: Duration) {
    advance { $0.advanced(by: duration) }
  }

  /// Moves the clock forward to `instant`, and wakes every sleeper that is due, in order.
  ///
  /// - Precondition: `instant` is not in the clock's past.
  public func advance(to instant: Instant) {
    advance { _ in instant }
  }

  /// Computes the new time and moves the clock while holding the lock, so the durations of concurrent calls add up.
  private func advance(to instant: (Instant) -> Instant) {
    reportIfOutliving()
    list.withLock { state, waiters in
      let instant = instant(state.now)
      precondition(instant >= state.now, "a virtual clock cannot move back from \(state.now) to \(instant)")
      let due = state.move(to: instant)
      state.hasMovedInVain = due.isEmpty
      for number in due { waiters.answer(number, .success(instant)) }
    }
  }

  /// Reports the use of this clock to the running schedule, unless the clock belongs to that schedule.
  private func reportIfOutliving() {
    if let user = ScheduleExecutor.current, user !== schedule { user.didUseOutlivingObject() }
  }

  /// Waits until at least `count` tasks are sleeping on the clock, and returns the earliest deadline.
  ///
  /// Cancelling the task ends the wait immediately.
  ///
  /// - Throws: `CancellationError` if the task is already cancelled, or is cancelled before `count` tasks are sleeping.
  @discardableResult
  public func nextSleep(count: Int = 1) async throws -> Instant {
    let count = max(count, 1)
    return try await list.wait(
      request: { _ in nil },
      immediateAnswer: { state in
        state.queue.count >= count ? state.queue.first.map { .success($0.deadline) } : nil
      },
      didArrive: { state, _, waiter in
        state.awaitedSleepers[waiter.number] = count
        state.isUsed = true
      },
      didCancel: { state, waiter in state.awaitedSleepers[waiter.number] = nil })
  }
}

// MARK: - Queues

extension VirtualClock {
  /// Creates a queue that uses the clock and its ``executor``, so that ``run(for:)`` waits for the procedures of the queue.
  ///
  /// ```swift
  /// let queue = try #require(VirtualClock.current).makeQueue("polling")
  /// ```
  ///
  /// If the clock belongs to an exploration, this function is equivalent to `makeQueue` of ``ExplorationEnvironment``.
  ///
  /// - Parameters:
  ///   - name: The name of the queue in errors and snapshots.
  ///   - maxConcurrentProcedures: The maximum number of bodies that can execute at a time. Passing a value below 1 traps.
  ///   - isSuspended: Whether the queue starts suspended.
  /// - Returns: The queue.
  public func makeQueue(
    _ name: String = "queue", maxConcurrentProcedures: Int = .max, isSuspended: Bool = false
  ) -> ProcedureQueue {
    makeQueue(
      ProcedureQueue.Configuration(name, maxConcurrentProcedures: maxConcurrentProcedures, isSuspended: isSuspended))
  }

  /// Creates a queue from a configuration. The queue uses the clock and its ``executor``.
  public func makeQueue(_ configuration: ProcedureQueue.Configuration) -> ProcedureQueue {
    if let environment = schedule?.environment, environment.clock === self {
      return environment.makeQueue(configuration)
    }
    var configuration = configuration
    configuration.clock = self
    configuration.executor = executor
    return ProcedureQueue(configuration)
  }

  /// A hint that no task is sleeping on the clock, for the issue that a failing test records. The value is `nil` if a task is sleeping, or
  /// if the test has neither moved the clock nor waited for a task to sleep.
  var idleness: String? {
    list.withLock { state, _ in
      guard state.isUsed, state.queue.count == 0 else { return nil }
      let sentence = "No task is sleeping on the virtual clock, which is at \(state.now)"
      guard state.sleepCount > 0 else {
        return sentence + ", and none has slept on it so far. Does the code under test wait on another clock? "
          + "`VirtualClock.makeQueue` creates a queue that uses this clock."
      }
      return sentence + (state.hasMovedInVain ? ", and no task woke when the clock last moved." : ".")
    }
  }
}

// MARK: - Quiet

extension VirtualClock {
  /// Moves the clock forward by `duration`, one deadline at a time. Before the first step and after each step, the function waits until
  /// ``executor`` is quiet.
  ///
  /// Therefore, if a task on the executor wakes and starts another sleep whose deadline is within `duration`, the task wakes again during
  /// the call. This function is equivalent to `run(until: clock.now.advanced(by: duration))`.
  ///
  /// - Precondition: `duration` is not negative.
  /// - Throws: `CancellationError` if the calling task is cancelled. The clock then stays where the last step left it.
  public func run(for duration: Duration) async throws {
    try await run(until: now.advanced(by: duration))
  }

  /// Moves the clock forward to `instant`, one deadline at a time. Before the first step and after each step, the function waits until
  /// ``executor`` is quiet; see ``waitUntilQuiet()``.
  ///
  /// If several tasks call this function concurrently, the order of their steps is not specified.
  ///
  /// - Precondition: `instant` is not in the clock's past.
  /// - Throws: `CancellationError` if the calling task is cancelled. The clock then stays where the last step left it.
  public func run(until instant: Instant) async throws {
    precondition(instant >= now, "a virtual clock cannot move back from \(now) to \(instant)")
    try await waitUntilQuiet()
    list.withLock { state, _ in state.hasMovedInVain = true }
    while step(through: instant) { try await waitUntilQuiet() }
  }

  /// Waits until no job on ``executor`` is ready or running.
  ///
  /// When the function returns, each task on the executor has ended, is sleeping, or is waiting for something else. The function ignores
  /// all other work, such as `Task.sleep`, I/O, tasks that do not use this executor, and work on the main actor, on dispatch queues or on
  /// actors with their own executors. If such work resumes a task on the executor later, the executor is no longer quiet. If several
  /// callers are waiting, they are resumed in order, one each time the executor becomes quiet.
  ///
  /// - Throws: `CancellationError` if the calling task is already cancelled, or is cancelled while it is waiting.
  public func waitUntilQuiet() async throws {
    let reportIfIdle = reportIfIdle
    _ = try await list.wait(
      request: { _ in nil }, immediateAnswer: { _ in nil },
      didArrive: { state, _, waiter in state.awaitingQuiet.append(waiter.number) },
      didWait: reportIfIdle)
  }

  /// Moves the clock to the earliest deadline that is not later than `instant`, or to `instant` if there is no such deadline, and wakes the
  /// sleepers that are due.
  ///
  /// - Returns: Whether any sleepers were woken.
  private func step(through instant: Instant) -> Bool {
    list.withLock { state, waiters in
      let deadline = state.queue.first.map(\.deadline).flatMap { $0 <= instant ? $0 : nil }
      if deadline != nil { state.hasMovedInVain = false }
      for number in state.move(to: max(deadline ?? instant, state.now)) { waiters.answer(number, .success(state.now)) }
      return deadline != nil
    }
  }

  /// Resumes the first task that is waiting for the executor to become quiet, unless a job has since arrived.
  private static func didBecomeIdle(_ executor: IdleTrackingExecutor, _ list: List) {
    list.withLock { state, waiters in
      // Reading the executor's state while holding this lock cannot cause a deadlock, because the executor acquires no other lock while
      // holding its own. A job that arrives after the check comes from work elsewhere, because the caller is waiting.
      if executor.isIdle { _ = state.answerQuiet(&waiters) }
    }
  }

  /// Resumes the first task that is waiting for the executor to become quiet. An exploration calls this function when no job is ready.
  ///
  /// - Returns: Whether a task was waiting.
  func answerQuiet() -> Bool {
    list.withLock { state, waiters in state.answerQuiet(&waiters) }
  }

  /// Ends every wait with `CancellationError`.
  func cancelSleepers() {
    list.withLock { state, waiters in
      waiters.answer(.failure(CancellationError())) { _ in true }
      state = State(now: state.now)
    }
  }
}

extension VirtualClock {
  /// An instant of virtual time.
  public struct Instant: InstantProtocol, Hashable, Sendable, CustomStringConvertible {
    /// The time since zero. By default, a clock starts at zero.
    public var offset: Duration

    /// Creates the instant that is `offset` after zero.
    public init(offset: Duration = .zero) {
      self.offset = offset
    }

    /// Returns the instant that is `duration` later, clamped to the range of representable instants.
    public func advanced(by duration: Duration) -> Instant {
      Instant(offset: offset.addingSaturated(duration))
    }

    /// Returns the time from this instant to `other`, clamped to the range of `Duration`. The time is negative if `other` is earlier.
    public func duration(to other: Instant) -> Duration {
      other.offset.subtractingSaturated(offset)
    }

    /// Returns whether `lhs` is earlier than `rhs`.
    public static func < (lhs: Instant, rhs: Instant) -> Bool {
      lhs.offset < rhs.offset
    }

    /// The time elapsed since the clock's zero instant, such as `1.5 seconds`.
    public var description: String {
      "\(offset)"
    }
  }
}
