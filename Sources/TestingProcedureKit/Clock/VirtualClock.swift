/// A clock that moves only on demand, so that an hour of waiting takes a test no time.
///
/// ```swift
/// let clock = VirtualClock()
/// async let done: Void = clock.sleep(for: .seconds(3_600))
/// try await clock.nextSleep()          // until somebody sleeps
/// clock.advance(by: .seconds(3_600))   // wakes whoever is due
/// try await done
/// ```
///
/// Sleepers wake in the order of their deadlines, and with equal deadlines in the order of falling asleep. Within
/// `exploreSchedules` the clock moves by itself: when no job is ready, the clock jumps to the next deadline.
///
/// All methods can be called from any thread. Cancelling a sleeping task ends the sleep at once with
/// `CancellationError`.
public final class VirtualClock: Clock {
  private struct State {
    var now: Instant
    var queue = SleepQueue()
  }

  private enum Wish: Sendable {
    case wake(SleepQueue.Sleep)
    /// At least this number of tasks sleeps.
    case sleepers(Int)
  }

  private let room: WaitingRoom<State, Wish, Instant>

  /// Makes a clock that shows `start`.
  public init(start: Instant = Instant()) {
    room = WaitingRoom(State(now: start))
  }

  /// The current virtual time.
  public var now: Instant {
    room.visit { state, _ in state.now }
  }

  /// Zero: virtual time has no smallest step.
  public var minimumResolution: Duration { .zero }

  /// The number of tasks that sleep on the clock.
  public var sleeperCount: Int {
    room.visit { state, _ in state.queue.count }
  }

  /// The earliest deadline of a sleeping task; `nil` without a sleeping task.
  public var nextDeadline: Instant? {
    room.visit { state, _ in state.queue.first?.deadline }
  }

  /// Waits until the clock reaches `deadline`. A deadline that has passed returns at once; `tolerance` has no effect.
  ///
  /// Cancelling the task ends the wait at once.
  ///
  /// - Throws: `CancellationError` if the task is cancelled before `deadline`.
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

  /// Moves the clock forward by `duration`, and wakes every sleeper that is due, in order.
  ///
  /// The function returns at once. A sleep that a woken task begins counts from the new time; for several sleeps in a
  /// row, alternate with `nextSleep`.
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

  /// Moves the clock in one visit to the lock, so that concurrent calls add up.
  private func advance(to instant: (Instant) -> Instant) {
    room.visit { state, guests in
      let instant = instant(state.now)
      precondition(instant >= state.now, "a virtual clock cannot go back from \(state.now) to \(instant)")
      state.now = instant
      for sleep in state.queue.removeAll(through: instant) { guests.answer(sleep.number, .success(instant)) }
    }
  }

  /// Waits until at least `count` tasks sleep on the clock, and returns the earliest deadline.
  ///
  /// Cancelling the task ends the wait at once.
  ///
  /// - Throws: `CancellationError` if the task is cancelled before `count` tasks sleep.
  @discardableResult
  public func nextSleep(count: Int = 1) async throws -> Instant {
    let count = max(count, 1)
    return try await room.wait(
      wish: { _ in .sleepers(count) },
      answerAtOnce: { state in
        state.queue.count >= count ? state.queue.first.map { .success($0.deadline) } : nil
      })
  }

  /// Moves to the earliest deadline and wakes its sleepers.
  ///
  /// - Returns: Whether a task was sleeping.
  func advanceToNextDeadline() -> Bool {
    guard let deadline = nextDeadline else { return false }
    advance(to: deadline)
    return true
  }

  /// Ends every sleep with `CancellationError`, so that no abandoned task stays behind.
  func cancelSleepers() {
    room.visit { state, guests in
      for sleep in state.queue.sleeps { guests.answer(sleep.number, .failure(CancellationError())) }
      state.queue = SleepQueue()
    }
  }
}
