public import Foundation
public import ProcedureKit

extension Condition {
  /// Returns a condition that is satisfied when a host takes a TCP connection, and otherwise fails with a ``ReachabilityError``.
  ///
  /// ```swift
  /// let synchronize = Synchronize().condition(.reachable(host: "example.org", port: 443))
  /// ```
  ///
  /// The addresses of the host, at most the first 16, are tried at once, and the connection is closed as soon as it is made. A procedure whose host is
  /// reachable can still fail, because the host may disappear afterwards. `.ignored(.reachable(…))` ignores the procedure instead of failing it.
  ///
  /// One thread makes the connections of all conditions, and conditions for the same host and port that overlap share one attempt. The
  /// system's search for a name blocks a thread, so at most 64 names are searched for at a time: 64 that the system's resolver is slow to answer
  /// delay further names, whose conditions fail after the limit. Cancelling the procedure ends its wait at once; a search that has begun
  /// continues for some seconds.
  ///
  /// - Parameters:
  ///   - host: The name or the address of the host.
  ///   - port: The port.
  ///   - limit: The time for name and connection.
  ///   - clock: The clock of the time.
  /// - Returns: The condition.
  public static func reachable(
    host: String, port: Int, within limit: Duration = .seconds(5), clock: any Clock<Duration> = ContinuousClock()
  ) -> Condition {
    Condition("\(host):\(port) is reachable") {
      guard let port = UInt16(exactly: port), port > 0, !host.isEmpty else {
        throw ReachabilityError(.unknownHost, "\(host.quoted) and \(port) are no host and port.")
      }
      try await connect(to: host, port, within: limit, on: clock)
      return true
    }
  }

  /// Returns a condition that is satisfied when the host of an address takes a TCP connection; see `reachable(host:port:within:clock:)`.
  ///
  /// - Parameters:
  ///   - url: The address. Without a port, the port of `https` or `http` counts.
  ///   - limit: The time for name and connection.
  ///   - clock: The clock of the time.
  /// - Returns: The condition.
  public static func reachable(
    _ url: URL, within limit: Duration = .seconds(5), clock: any Clock<Duration> = ContinuousClock()
  ) -> Condition {
    let port = url.port ?? (url.scheme?.lowercased() == "http" ? 80 : 443)
    return reachable(host: url.host ?? "", port: port, within: limit, clock: clock)
  }

  /// Makes a connection, and closes the connection.
  ///
  /// - Throws: ``ReachabilityError``; `CancellationError`.
  private static func connect(
    to host: String, _ port: UInt16, within limit: Duration, on clock: any Clock<Duration>
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      defer { group.cancelAll() }
      group.addTask { try await ReachabilityPoll.shared.connect(to: host, port) }
      group.addTask {
        try await clock.sleep(for: limit.saturated)
        throw ReachabilityError(.timedOut, "\(host.quotable):\(port) has taken no connection within \(limit).")
      }
      try await group.next()
    }
  }
}
