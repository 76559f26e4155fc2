import Foundation
import Synchronization

/// An attempt to make a TCP connection to any address of a host, on a thread of its own.
///
/// The continuation is resumed exactly once: by the thread, or by a cancel, whichever takes the continuation out of the state.
final class ConnectionAttempt: Sendable {
  private struct State {
    var continuation: CheckedContinuation<Void, any Error>?
    var isCancelled = false
    /// The end of a pipe whose closing wakes the thread; -1 if there is none.
    var bell: Int32 = -1
  }

  private let host: String
  private let port: UInt16
  private let state = Mutex(State())

  init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }

  /// Makes the connection, and closes the connection. Cancelling the task ends the attempt at once.
  ///
  /// - Throws: ``ReachabilityError``; `CancellationError`.
  func perform() async throws {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isCancelled = state.withLock { state in
          if !state.isCancelled { state.continuation = continuation }
          return state.isCancelled
        }
        if isCancelled { return continuation.resume(throwing: CancellationError()) }
        Thread.detachNewThread { [self] in end(connect()) }
      }
    } onCancel: {
      let bell = state.withLock { state in
        state.isCancelled = true
        defer { state.bell = -1 }
        return state.bell
      }
      if bell >= 0 { close(bell) }
      end(CancellationError())
    }
  }

  private func end(_ error: (any Error)?) {
    let continuation = state.withLock { state in
      defer { state.continuation = nil }
      return state.continuation
    }
    if let error { continuation?.resume(throwing: error) } else { continuation?.resume() }
  }

  // MARK: On the thread

  private func connect() -> (any Error)? {
    let addresses = SocketAddress.addresses(of: host, port)
    guard !addresses.isEmpty else { return ReachabilityError(.unknownHost, "The host \(host) is not known.") }
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return refusal(errno) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    defer { close(ends[0]) }
    let isCancelled = state.withLock { state in
      if !state.isCancelled { state.bell = ends[1] }
      return state.isCancelled
    }
    defer { if isCancelled || takeBell() { close(ends[1]) } }
    if isCancelled { return CancellationError() }
    return connect(to: addresses, until: ends[0])
  }

  private func takeBell() -> Bool {
    state.withLock { state in
      defer { state.bell = -1 }
      return state.bell >= 0
    }
  }

  /// Tries all addresses at once.
  private func connect(to addresses: [SocketAddress], until bell: Int32) -> (any Error)? {
    var code = ECONNREFUSED
    var polled = [pollfd(fd: bell, events: Int16(POLLIN), revents: 0)]
    defer { for entry in polled.dropFirst() where entry.fd >= 0 { close(entry.fd) } }
    for address in addresses {
      switch address.beginConnection() {
      case .made: return nil
      case .underWay(let descriptor): polled.append(pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0))
      case .failed(let failure): code = failure
      }
    }
    while polled.dropFirst().contains(where: { $0.fd >= 0 }) {
      guard poll(&polled, nfds_t(polled.count), -1) >= 0 || errno == EINTR else { return refusal(errno) }
      if polled[0].revents != 0 { return CancellationError() }
      for index in polled.indices.dropFirst() where polled[index].fd >= 0 && polled[index].revents != 0 {
        guard let failure = SocketAddress.failure(of: polled[index].fd) else { return nil }
        code = failure
        close(polled[index].fd)
        // `poll` passes over a negative descriptor.
        polled[index].fd = -1
      }
    }
    return refusal(code)
  }

  private func refusal(_ code: Int32) -> ReachabilityError {
    ReachabilityError(.refused, "\(host):\(port) takes no connection: \(String(cString: strerror(code))).")
  }
}
