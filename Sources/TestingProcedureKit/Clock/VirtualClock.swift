import Synchronization

/// A clock whose time moves only when it is told to, so that an hour of waiting takes a test no time.
///
/// ```swift
/// let clock = VirtualClock()
/// async let done: Void = clock.sleep(for: .seconds(3_600))
/// try await clock.nextSleep()          // until somebody sleeps
/// clock.advance(by: .seconds(3_600))   // wakes whoever is due
/// try await done
/// ```
///
/// Sleepers wake in the order of their deadlines, those of one deadline in the order in which they went to sleep.
/// Within
/// `exploreSchedules` time moves by itself: whenever nothing can run, the clock jumps to the next deadline.
///
/// All methods may be called from any thread. A sleep whose task is cancelled ends at once by throwing
/// `CancellationError`.
public final class VirtualClock: Clock {
  /// Who sleeps and who waits for sleepers.
  let state: Mutex<State>

  /// A clock that stands at `start`.
  public init(start: Instant = Instant()) {
    state = Mutex(State(now: start))
  }

  /// The present virtual time.
  public var now: Instant {
    state.withLock { $0.now }
  }

  /// Zero: virtual time has no smallest step.
  public var minimumResolution: Duration { .zero }

  /// The number of tasks that sleep on this clock.
  public var sleeperCount: Int {
    state.withLock { $0.queue.count }
  }

  /// The earliest deadline that some task sleeps for, or `nil` if nobody sleeps.
  public var nextDeadline: Instant? {
    state.withLock { $0.queue.first?.deadline }
  }

  /// Waits until the clock has been moved to `deadline`, not at all if it is there already; `tolerance` has no effect.
  ///
  /// Cancelling the task ends the wait at once.
  ///
  /// - Throws: `CancellationError` if the task is or gets cancelled before it is woken.
  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    let sleep = state.withLock { SleepQueue.Sleep(deadline: deadline, number: $0.number()) }
    try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { register(sleep, $0) }
    } onCancel: {
      cancel(sleep)
    }
  }

  /// Moves the clock forward by `duration` and wakes, in order, every sleeper that is due then.
  ///
  /// It returns at once. Sleeps that a woken task begins afterwards count from the new time; to take several in a row,
  /// alternate with `nextSleep`.
  ///
  /// - Precondition: `duration` is not negative.
  public func advance(by duration: Duration) {
    advance(to: now.advanced(by: duration))
  }

  /// Moves the clock forward to `instant` and wakes, in order, every sleeper that is due then.
  ///
  /// - Precondition: `instant` is not in the clock's past.
  public func advance(to instant: Instant) {
    let woken = state.withLock { state in
      precondition(instant >= state.now, "a virtual clock cannot go back from \(state.now) to \(instant)")
      state.now = instant
      return state.queue.removeAll(through: instant).compactMap { state.sleepers.removeValue(forKey: $0.number) }
    }
    for sleeper in woken { sleeper.resume() }
  }

  /// Waits until at least `count` tasks sleep on this clock, then returns the earliest of their deadlines.
  ///
  /// Cancelling the task ends the wait at once.
  ///
  /// - Throws: `CancellationError` if the task is or gets cancelled before enough others sleep.
  @discardableResult
  public func nextSleep(count: Int = 1) async throws -> Instant {
    let number = state.withLock { $0.number() }
    return try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { continuation in
        register(Observer(number: number, count: max(count, 1), continuation: continuation))
      }
    } onCancel: {
      cancelObserver(number)
    }
  }

  /// Moves on to the earliest deadline and wakes whoever sleeps for it; says whether anybody did.
  func advanceToNextDeadline() -> Bool {
    guard let deadline = nextDeadline else { return false }
    advance(to: deadline)
    return true
  }

  /// Ends every sleep as if its task had been cancelled, so that tasks nobody waits for do not stay behind.
  func cancelSleepers() {
    let cancelled = state.withLock { state in
      let sleeps = state.queue.sleeps
      state.queue = SleepQueue()
      return sleeps.compactMap { state.sleepers.removeValue(forKey: $0.number) }
    }
    for sleeper in cancelled { sleeper.resume(throwing: CancellationError()) }
  }
}
