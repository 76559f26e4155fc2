public import Foundation
public import ProcedureKit

extension Condition {
  /// Returns a condition that is satisfied if a host accepts a TCP connection, and otherwise fails with a ``ReachabilityError``.
  ///
  /// ```swift
  /// let synchronize = Synchronize().condition(.reachable(host: "example.org", port: 443))
  /// ```
  ///
  /// The host's addresses (at most the first 16) are tried in parallel, and a connection is closed as soon as it is established. The
  /// procedure itself can still fail, because the host may become unreachable after the check. With
  /// `.reachable(…).treatingErrorsAsUnsatisfied()`, the procedure is ignored instead of failing.
  ///
  /// A single thread makes the connections for all conditions. Conditions that are evaluated simultaneously for the same host and port
  /// share an attempt. Because the system's name lookup blocks a thread, at most 64 names are looked up at a time. While 64 slow lookups
  /// are in progress, other lookups have to wait, and their conditions fail if the time limit is reached first. Cancelling the procedure
  /// ends its wait immediately, but a lookup that has started may continue for several seconds.
  ///
  /// - Parameters:
  ///   - host: The name or address of the host.
  ///   - port: The port.
  ///   - limit: The time limit for the name lookup and the connection.
  ///   - clock: The clock that measures the time limit.
  /// - Returns: The condition.
  public static func reachable(
    host: String, port: Int, within limit: Duration = .seconds(5), clock: any Clock<Duration> = ContinuousClock()
  ) -> Condition {
    Condition("\(host):\(port) is reachable") {
      guard let port = UInt16(exactly: port), port > 0, !host.isEmpty else {
        throw ReachabilityError(.unknownHost, "\(host.quoted) and \(port) are not a valid host and port.")
      }
      try await connect(to: host, port, within: limit, on: clock)
      return true
    }
  }

  /// Returns a condition that is satisfied if the host of a URL accepts a TCP connection; see `reachable(host:port:within:clock:)`.
  ///
  /// - Parameters:
  ///   - url: The URL. If it has no port, port 80 is used for `http`, and port 443 for any other scheme.
  ///   - limit: The time limit for the name lookup and the connection.
  ///   - clock: The clock that measures the time limit.
  /// - Returns: The condition.
  public static func reachable(
    _ url: URL, within limit: Duration = .seconds(5), clock: any Clock<Duration> = ContinuousClock()
  ) -> Condition {
    let port = url.port ?? (url.scheme?.lowercased() == "http" ? 80 : 443)
    return reachable(host: url.host ?? "", port: port, within: limit, clock: clock)
  }

  /// Connects to a host and closes the connection immediately.
  ///
  /// - Throws: ``ReachabilityError`` if the host does not accept a connection within the time limit; `CancellationError` if the task is
  ///   cancelled.
  private static func connect(
    to host: String, _ port: UInt16, within limit: Duration, on clock: any Clock<Duration>
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      defer { group.cancelAll() }
      group.addTask { try await ReachabilityPoll.shared.connect(to: host, port) }
      group.addTask {
        try await clock.sleep(for: limit.saturated)
        throw ReachabilityError(
          .timedOut, "\(host.quotable):\(port) did not accept a connection within \(limit).")
      }
      try await group.next()
    }
  }
}
