public import ProcedureKit
import Synchronization

/// A counter that reports whether work is in progress, for example to show an activity indicator. The counter becomes active as soon as
/// work begins, but becomes idle only some time after the last procedure ends.
///
/// ```swift
/// let transfers = ActivityCounter()
/// let download = Download().counted(by: transfers)
/// for await isActive in transfers.changes { indicator.isHidden = !isActive }
/// ```
///
/// The delay keeps the indicator from flickering between two procedures: if work begins during the delay, the counter stays active.
public final class ActivityCounter: Sendable {
  private struct State {
    var count = 0
    var isActive = false
    /// The task that makes the counter idle after the delay.
    var idling: Task<Void, Never>?
    /// A number that changes whenever work begins. It keeps an outdated delay from making the counter idle.
    var idlingNumber = 0
    var subscribers: [Int: AsyncStream<Bool>.Continuation] = [:]
    var subscriberNumber = 0
  }

  private let state = Mutex(State())
  private let delay: Duration
  private let clock: any Clock<Duration>

  /// Creates an idle counter.
  ///
  /// - Parameters:
  ///   - delay: How long the counter stays active after the last procedure ends.
  ///   - clock: The clock that measures the delay.
  public init(idleAfter delay: Duration = .seconds(1), clock: any Clock<Duration> = ContinuousClock()) {
    self.delay = delay
    self.clock = clock
  }

  deinit {
    let state = state.withLock { $0 }
    state.idling?.cancel()
    for subscriber in state.subscribers.values { subscriber.finish() }
  }

  /// The number of procedures and calls to ``during(_:)`` that are in progress.
  public var count: Int { state.withLock { $0.count } }

  /// Whether work is in progress, or ended so recently that the delay has not elapsed yet.
  public var isActive: Bool { state.withLock { $0.isActive } }

  /// A stream of values that indicate whether the counter is active. It begins with the current value, followed by each change.
  ///
  /// A slow reader may miss some changes, but always receives the latest value. Each access creates a new subscription, which ends when its
  /// iteration ends or the counter is deallocated.
  public var changes: AsyncStream<Bool> {
    let (stream, continuation) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingNewest(1))
    let number = state.withLock { state in
      state.subscriberNumber += 1
      state.subscribers[state.subscriberNumber] = continuation
      continuation.yield(state.isActive)
      return state.subscriberNumber
    }
    continuation.onTermination = { [weak self] _ in self?.state.withLock { $0.subscribers[number] = nil } }
    return stream
  }

  /// Calls a function and counts it as work in progress until it returns.
  ///
  /// - Parameter body: The function.
  /// - Returns: The result of the function.
  /// - Throws: The error thrown by the function.
  public func during<Success>(
    _ body: nonisolated(nonsending) () async throws -> Success
  ) async rethrows -> Success {
    begin()
    defer { end() }
    return try await body()
  }

  private func begin() {
    let idling = state.withLock { state in
      state.count += 1
      state.idlingNumber += 1
      set(true, &state)
      defer { state.idling = nil }
      return state.idling
    }
    // The task is cancelled after the lock has been released, because cancellation can call the code of a user-defined clock.
    idling?.cancel()
  }

  private func end() {
    state.withLock { state in
      state.count -= 1
      guard state.count == 0 else { return }
      guard delay > .zero else { return set(false, &state) }
      let (number, clock, delay) = (state.idlingNumber, clock, delay)
      // The task ends after the delay. It is cancelled when new work begins or when the counter is deallocated.
      state.idling = ReaderTask.start { [weak self] in
        try? await clock.sleep(for: delay.saturated)
        self?.state.withLock { state in
          guard state.idlingNumber == number, !Task.isCancelled else { return }
          state.idling = nil
          self?.set(false, &state)
        }
      }
    }
  }

  private func set(_ isActive: Bool, _ state: inout State) {
    guard state.isActive != isActive else { return }
    state.isActive = isActive
    for subscriber in state.subscribers.values { subscriber.yield(isActive) }
  }
}

extension Procedure {
  /// Returns a procedure that the given counter counts while its body is executing. If a modifier that is written before this one repeats
  /// the body, all attempts and the pauses between them are counted as one period of work.
  ///
  /// - Parameter counter: The counter.
  /// - Returns: The counted procedure.
  public func counted(by counter: ActivityCounter) -> ProcedureTask<Input, Output> {
    intercepted { _, next in try await counter.during { try await next() } }
  }
}
