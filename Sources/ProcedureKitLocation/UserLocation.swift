public import ProcedureKit
import Synchronization

/// A procedure that determines the location of the device once.
///
/// ```swift
/// let locate = UserLocation(from: GPSDaemon(), accuracy: 50, patience: .seconds(10))
/// let location = try await queue.run(locate.timeout(.seconds(60)))
/// ```
///
/// The procedure returns the source's first location that has the required accuracy. If ``patience`` is set, a less accurate location is
/// accepted once that duration has passed. If the source never provides a location and there is no timeout, the procedure waits until it is
/// cancelled.
public struct UserLocation: InputlessProcedure {
  /// The source of locations.
  public var source: any LocationSource
  /// The largest ``Location/horizontalAccuracy`` that is accepted, in metres. If it is `nil`, every location is accepted; otherwise, a
  /// location whose accuracy is unknown does not meet the requirement.
  public var accuracy: Double?
  /// The time after which the most accurate location so far is accepted. If there is none by then, the next location is accepted. If the
  /// value is `nil`, the procedure waits for the required accuracy.
  public var patience: Duration?
  /// The clock that measures ``patience``.
  public var clock: any Clock<Duration>

  /// Creates a procedure.
  public init(
    from source: any LocationSource, accuracy: Double? = nil, patience: Duration? = nil,
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    (self.source, self.accuracy, self.patience, self.clock) = (source, accuracy, patience, clock)
  }

  /// The name of the procedure, which is "user location".
  public var name: String { "user location" }

  /// Waits until the source provides a location that is accurate enough. Cancellation ends the wait.
  ///
  /// - Returns: The location.
  /// - Throws: ``LocationError/Kind-swift.struct/ended`` if the source ends before it provides a suitable location; any error thrown by the
  ///   source; `CancellationError` if the procedure is cancelled.
  public func execute() async throws -> Location {
    let choice = LocationChoice(accuracy)
    let (cancels, cancel) = AsyncStream.makeStream(of: Never.self)
    return try await ProcedureContext.withCancellationHandler {
      try await withThrowingTaskGroup(of: Location?.self) { group in
        defer { group.cancelAll() }
        group.addTask { try await measure(choice) }
        // If the body executes in its caller's task, it can be cancelled even though the task is not.
        group.addTask {
          for await _ in cancels {}
          throw CancellationError()
        }
        if let patience {
          group.addTask {
            try await clock.sleep(for: patience.saturated)
            return choice.timeIsOver()
          }
        }
        while let result = try await group.next() {
          if let location = result { return location }
        }
        throw CancellationError()
      }
    } onCancel: {
      cancel.finish()
    }
  }

  private func measure(_ choice: LocationChoice) async throws -> Location {
    for try await location in source.locations() {
      if let chosen = choice.measured(location) { return chosen }
    }
    try ProcedureContext.checkCancellation()
    throw LocationError(
      .ended,
      "the location source finished before it determined a location with the required accuracy. Try again later.")
  }
}

/// The state that determines which location from the source is returned.
private final class LocationChoice: Sendable {
  private let accuracy: Double?
  private let state = Mutex<(best: Location?, isTimeOver: Bool)>((nil, false))

  init(_ accuracy: Double?) {
    self.accuracy = accuracy
  }

  /// Returns the location if it is accepted, and `nil` otherwise.
  func measured(_ location: Location) -> Location? {
    state.withLock { state in
      let error = location.horizontalAccuracy ?? .infinity
      if state.isTimeOver || accuracy.map({ error <= $0 }) ?? true { return location }
      if error <= state.best.map({ $0.horizontalAccuracy ?? .infinity }) ?? .infinity { state.best = location }
      return nil
    }
  }

  /// Returns the most accurate location so far, if any. After this call, every location is accepted.
  func timeIsOver() -> Location? {
    state.withLock { state in
      state.isTimeOver = true
      return state.best
    }
  }
}
