import Foundation

extension Socket {
  enum Waited {
    /// The gate is open.
    case opened
    /// The time has passed.
    case elapsed
    /// The client has disconnected, or the server is stopping.
    case left
    /// There are bytes to read, or a connection to accept.
    case readable
  }

  /// Waits until a gate is open, the given time has passed, or the connection has ended.
  ///
  /// - Parameters:
  ///   - gate: The gate; `nil` for no gate.
  ///   - duration: The maximum duration of the wait; `nil` for no limit.
  ///   - isServing: Whether to read and discard bytes from the client. This is necessary while a response is being sent.
  /// - Returns: The reason the wait ended.
  func wait(for gate: ServerGate?, _ duration: Duration? = nil, isServing: Bool = true) -> Waited {
    let end = duration.map { ContinuousClock.now + $0 }
    while true {
      // `poll` ignores a negative descriptor. While a listener only waits for time to pass, its socket is not polled.
      let isAsked = isServing || duration == nil
      var polled = [
        pollfd(fd: isAsked ? descriptor : -1, events: Int16(POLLIN), revents: 0),
        pollfd(fd: gate?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
      ]
      let rest = end.map { max(.zero, ContinuousClock.now.duration(to: $0)) }
      let count = poll(&polled, nfds_t(polled.count), rest.map { Int32($0 / .milliseconds(1)) + 1 } ?? -1)
      if polled[1].revents != 0 { return .opened }
      if count > 0, polled[0].revents != 0 {
        guard isServing else { return .readable }
        do throws(Ending) { _ = try receive() } catch { return .left }
      }
      if let end, ContinuousClock.now >= end { return .elapsed }
    }
  }
}
