import Synchronization

/// A capability that is granted or refused when the test says so.
///
/// ```swift
/// let camera = CapabilityProbe("camera")
/// let handle = queue.add(procedure.condition(.authorized(for: camera)))
/// try await camera.waitUntilRequested()
/// camera.grant()
/// ```
///
/// Each request waits for one word: `grant`, `deny` or `fail`. Words are taken in the order in which they were said. A
/// request that is cancelled while it waits throws `CancellationError` at once.
public final class CapabilityProbe: Capability {
  /// What the program is allowed.
  public enum Status: AuthorizationStatus {
    /// Nobody has been asked.
    case undetermined
    /// Somebody was asked and refused.
    case denied
    /// It may be used.
    case granted

    /// Whether it may be used.
    public func meets(_ requirement: Void) -> Bool { self == .granted }
  }

  private struct Contents {
    var status: Status
    var isAvailable: Bool
    var requestsUnderWay = 0
    var mostRequestsAtOnce = 0
  }

  /// What errors call it.
  public let name: String

  private let contents: Mutex<Contents>
  private let gate = Gate<Status>()
  private let requested = Milestones()

  /// A capability in a given state.
  ///
  /// - Parameters:
  ///   - name: What errors call it.
  ///   - isAvailable: Whether it exists.
  ///   - status: What the program is allowed at first.
  public init(_ name: String = "CapabilityProbe", isAvailable: Bool = true, status: Status = .undetermined) {
    self.name = name
    contents = Mutex(Contents(status: status, isAvailable: isAvailable))
  }

  /// Grants one request: the one that has waited for longest, or the next to come.
  public func grant() { gate.say(.success(.granted)) }

  /// Refuses one request: the one that has waited for longest, or the next to come.
  public func deny() { gate.say(.success(.denied)) }

  /// Lets one request throw `error`: the one that has waited for longest, or the next to come.
  public func fail(_ error: any Error) { gate.say(.failure(error)) }

  /// The number of requests that have begun.
  public var requestCount: Int { requested.count }

  /// How many requests were under way at once, at most.
  public var mostRequestsAtOnce: Int { contents.withLock { $0.mostRequestsAtOnce } }

  /// Waits until so many requests have begun. Cancelling the caller ends the wait.
  ///
  /// - Throws: `CancellationError` if the task is cancelled before.
  public func waitUntilRequested(_ count: Int = 1) async throws {
    try await requested.wait(for: count)
  }

  /// Whether it exists, as it was made. Cancelling the caller changes nothing.
  public func isAvailable() async -> Bool { contents.withLock { $0.isAvailable } }

  /// What the last answer was. Cancelling the caller changes nothing.
  public func authorizationStatus() async -> Status { contents.withLock { $0.status } }

  /// Waits for the test's word. Cancelling the caller ends the wait.
  ///
  /// - Throws: What ``fail(_:)`` was given; `CancellationError` if the task is cancelled before.
  public func requestAuthorization(_ requirement: Void) async throws {
    contents.withLock { contents in
      contents.requestsUnderWay += 1
      contents.mostRequestsAtOnce = max(contents.mostRequestsAtOnce, contents.requestsUnderWay)
    }
    defer { contents.withLock { $0.requestsUnderWay -= 1 } }
    requested.increment()
    let answer = try await gate.word(ignoringCancellation: false)
    contents.withLock { $0.status = answer }
  }
}
