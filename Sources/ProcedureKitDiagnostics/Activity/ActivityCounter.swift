public import ProcedureKit
import Synchronization

/// Tells whether anything is under way, for an indicator: active at once, idle some time after the last procedure has ended.
///
/// ```swift
/// let transfers = ActivityCounter()
/// let download = Download().counted(by: transfers)
/// for await isActive in transfers.changes { indicator.isHidden = !isActive }
/// ```
///
/// An indicator does not flicker between two procedures: work that begins within the delay keeps the counter active.
public final class ActivityCounter: Sendable {
  private struct State {
    var count = 0
    var isActive = false
    /// Waits until the counter becomes idle.
    var idling: Task<Void, Never>?
    /// Counts the waits, so that one that comes too late is recognized.
    var idlingNumber = 0
    var subscribers: [Int: AsyncStream<Bool>.Continuation] = [:]
    var subscriberNumber = 0
  }

  private let state = Mutex(State())
  private let delay: Duration
  private let clock: any Clock<Duration>

  /// Creates a counter that is idle.
  ///
  /// - Parameters:
  ///   - delay: How long nothing has to be under way until the counter is idle.
  ///   - clock: The clock of the delay.
  public init(idleAfter delay: Duration = .seconds(1), clock: any Clock<Duration> = ContinuousClock()) {
    self.delay = delay
    self.clock = clock
  }

  deinit {
    let state = state.withLock { $0 }
    state.idling?.cancel()
    for subscriber in state.subscribers.values { subscriber.finish() }
  }

  /// How many procedures and calls of ``during(_:)`` are under way.
  public var count: Int { state.withLock { $0.count } }

  /// Whether anything is under way, or was until within the delay.
  public var isActive: Bool { state.withLock { $0.isActive } }

  /// Whether the counter is active: the value at the beginning, and each change.
  ///
  /// A slow reader misses changes, and gets the newest value. Each access is a subscription of its own, which ends with its iteration,
  /// and with the counter.
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

  /// Calls a function, which counts as under way until it returns.
  ///
  /// - Parameter body: The function.
  /// - Returns: The result of the function.
  /// - Throws: The error of the function.
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
    // The clock of the user is told of the cancel, and so outside of the lock.
    idling?.cancel()
  }

  private func end() {
    state.withLock { state in
      state.count -= 1
      guard state.count == 0 else { return }
      guard delay > .zero else { return set(false, &state) }
      let (number, clock, delay) = (state.idlingNumber, clock, delay)
      // Ends after the delay; cancelled when anything begins, and with the counter.
      state.idling = ReaderTask.start { [weak self] in
        try? await clock.sleep(for: delay)
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
  /// Returns the procedure, which an activity counter counts while the body executes, with all attempts written before.
  ///
  /// - Parameter counter: The counter.
  /// - Returns: The procedure that is counted.
  public func counted(by counter: ActivityCounter) -> ProcedureTask<Input, Output> {
    intercepted { _, next in try await counter.during { try await next() } }
  }
}
