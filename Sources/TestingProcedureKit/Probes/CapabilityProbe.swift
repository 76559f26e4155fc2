import Synchronization

/// A capability whose authorization requests are granted or denied by a test.
///
/// ```swift
/// let camera = CapabilityProbe("camera")
/// let handle = queue.add(procedure.condition(.authorized(for: camera)))
/// try await camera.waitUntilRequested()
/// camera.grant()
/// ```
///
/// Each request waits for one instruction: `grant`, `deny` or `fail`. Requests receive instructions in the order in which the requests were
/// made. If a waiting request is cancelled, it throws `CancellationError` immediately.
public final class CapabilityProbe: Capability {
  /// The authorization status of the app.
  @frozen
  public enum Status: AuthorizationStatus {
    /// Authorization has been neither granted nor denied.
    case undetermined
    /// Authorization was denied.
    case denied
    /// Authorization was granted.
    case granted

    /// Returns whether the status is ``granted``.
    public func meets(_ requirement: Void) -> Bool { self == .granted }
  }

  private struct Contents {
    var status: Status
    var isAvailable: Bool
    var currentRequests = 0
    var mostRequestsAtOnce = 0
  }

  /// The name of the capability in errors.
  public let name: String

  private let contents: Mutex<Contents>
  private let commands = CommandQueue<Status>()
  private let requested = AwaitableCounter()

  /// Creates a capability.
  ///
  /// - Parameters:
  ///   - name: The name of the capability in errors.
  ///   - isAvailable: Whether the capability exists.
  ///   - status: The initial authorization status.
  public init(_ name: String = "CapabilityProbe", isAvailable: Bool = true, status: Status = .undetermined) {
    self.name = name
    contents = Mutex(Contents(status: status, isAvailable: isAvailable))
  }

  /// Grants the oldest waiting request, or the next request if none is waiting.
  public func grant() { commands.send(.success(.granted)) }

  /// Denies the oldest waiting request, or the next request if none is waiting.
  public func deny() { commands.send(.success(.denied)) }

  /// Makes the oldest waiting request throw `error`. If no request is waiting, the next one throws it.
  public func fail(_ error: any Error) { commands.send(.failure(error)) }

  /// The number of requests that have begun.
  public var requestCount: Int { requested.count }

  /// The largest number of concurrent requests so far.
  public var mostRequestsAtOnce: Int { contents.withLock { $0.mostRequestsAtOnce } }

  /// Waits until `count` requests have begun. Cancelling the caller ends the wait.
  ///
  /// - Throws: `CancellationError` if the task is already cancelled, or is cancelled while it is waiting.
  public func waitUntilRequested(_ count: Int = 1) async throws {
    try await requested.wait(for: count)
  }

  /// Returns the value that was passed to the initializer. Cancelling the caller has no effect.
  public func isAvailable() async -> Bool { contents.withLock { $0.isAvailable } }

  /// Returns the current status. Cancelling the caller has no effect.
  public func authorizationStatus() async -> Status { contents.withLock { $0.status } }

  /// Waits for the test's instruction. Cancelling the caller ends the wait.
  ///
  /// - Throws: The error passed to ``fail(_:)``, if the test makes this request fail; `CancellationError` if the task is already cancelled,
  ///   or is cancelled before an instruction arrives.
  public func requestAuthorization(_ requirement: Void) async throws {
    contents.withLock { contents in
      contents.currentRequests += 1
      contents.mostRequestsAtOnce = max(contents.mostRequestsAtOnce, contents.currentRequests)
    }
    defer { contents.withLock { $0.currentRequests -= 1 } }
    requested.increment()
    let answer = try await commands.next(ignoringCancellation: false)
    contents.withLock { $0.status = answer }
  }
}
