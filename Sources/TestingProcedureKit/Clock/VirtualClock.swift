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
  private struct State {
    var now: Instant
    var queue = SleepQueue()
  }

  private enum Wish: Sendable {
    case wake(SleepQueue.Sleep)
    /// That so many sleep.
    case sleepers(Int)
  }

  private let room: WaitingRoom<State, Wish, Instant>

  /// A clock that stands at `start`.
  public init(start: Instant = Instant()) {
    room = WaitingRoom(State(now: start))
  }

  /// The present virtual time.
  public var now: Instant {
    room.visit { state, _ in state.now }
  }

  /// Zero: virtual time has no smallest step.
  public var minimumResolution: Duration { .zero }

  /// The number of tasks that sleep on this clock.
  public var sleeperCount: Int {
    room.visit { state, _ in state.queue.count }
  }

  /// The earliest deadline that some task sleeps for, or `nil` if nobody sleeps.
  public var nextDeadline: Instant? {
    room.visit { state, _ in state.queue.first?.deadline }
  }

  /// Waits until the clock has been moved to `deadline`, not at all if it is there already; `tolerance` has no effect.
  ///
  /// Cancelling the task ends the wait at once.
  ///
  /// - Throws: `CancellationError` if the task is or gets cancelled before it is woken.
  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    _ = try await room.wait(
      wish: { .wake(SleepQueue.Sleep(deadline: deadline, number: $0)) },
      answerAtOnce: { $0.now >= deadline ? .success($0.now) : nil },
      didArrive: { state, guests, guest in
        guard case .wake(let sleep) = guest.wish else { return }
        state.queue.insert(sleep)
        guard let first = state.queue.first else { return }
        let count = state.queue.count
        guests.answer(.success(first.deadline)) { wish in
          if case .sleepers(let wanted) = wish { wanted <= count } else { false }
        }
      },
      didCancel: { state, guest in
        if case .wake(let sleep) = guest.wish { _ = state.queue.remove(sleep) }
      })
  }

  /// Moves the clock forward by `duration` and wakes, in order, every sleeper that is due then.
  ///
  /// It returns at once. Sleeps that a woken task begins afterwards count from the new time; to take several in a row,
  /// alternate with `nextSleep`.
  ///
  /// - Precondition: `duration` is not negative.
  public func advance(by duration: Duration) {
    advance { $0.advanced(by: duration) }
  }

  /// Moves the clock forward to `instant` and wakes, in order, every sleeper that is due then.
  ///
  /// - Precondition: `instant` is not in the clock's past.
  public func advance(to instant: Instant) {
    advance { _ in instant }
  }

  /// In one visit, so that of several who advance the clock at the same time each does.
  private func advance(to instant: (Instant) -> Instant) {
    room.visit { state, guests in
      let instant = instant(state.now)
      precondition(instant >= state.now, "a virtual clock cannot go back from \(state.now) to \(instant)")
      state.now = instant
      for sleep in state.queue.removeAll(through: instant) { guests.answer(sleep.number, .success(instant)) }
    }
  }

  /// Waits until at least `count` tasks sleep on this clock, then returns the earliest of their deadlines.
  ///
  /// Cancelling the task ends the wait at once.
  ///
  /// - Throws: `CancellationError` if the task is or gets cancelled before enough others sleep.
  @discardableResult
  public func nextSleep(count: Int = 1) async throws -> Instant {
    let count = max(count, 1)
    return try await room.wait(
      wish: { _ in .sleepers(count) },
      answerAtOnce: { state in
        state.queue.count >= count ? state.queue.first.map { .success($0.deadline) } : nil
      })
  }

  /// Moves on to the earliest deadline and wakes whoever sleeps for it; says whether anybody did.
  func advanceToNextDeadline() -> Bool {
    guard let deadline = nextDeadline else { return false }
    advance(to: deadline)
    return true
  }

  /// Ends every sleep as if its task had been cancelled, so that tasks nobody waits for do not stay behind.
  func cancelSleepers() {
    room.visit { state, guests in
      for sleep in state.queue.sleeps { guests.answer(sleep.number, .failure(CancellationError())) }
      state.queue = SleepQueue()
    }
  }
}
