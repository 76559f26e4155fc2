#if canImport(Darwin) || canImport(Glibc) || canImport(Musl) || canImport(Android)
  import Foundation
  import ProcedureKit
  import Synchronization

  /// A connection to gpsd. A separate thread receives reports until the connection ends or the caller stops iterating over the locations.
  final class GPSDConnection: Sendable {
    /// The maximum length of a line, in bytes. gpsd's longest report, which lists all satellites, is shorter than 11,000 bytes.
    private static let maxLineLength = 1 << 16

    private enum State {
      case unconnected
      case connected(StreamSocket)
      /// The connection has ended, and the socket is closed.
      case ended
      /// The iteration over the locations has ended.
      case left
    }

    private let daemon: GPSDaemon
    private let locations: AsyncThrowingStream<Location, any Error>.Continuation
    private let state = Mutex(State.unconnected)

    init(_ daemon: GPSDaemon, _ locations: AsyncThrowingStream<Location, any Error>.Continuation) {
      self.daemon = daemon
      self.locations = locations
    }

    /// Starts the thread, which runs until the connection ends.
    func start() {
      let thread = Thread { [self] in
        var failure: any Error = LocationError(.ended, "\(address) closed the connection. Try again later.")
        do { try read() } catch { failure = error }
        // If the iteration has ended, the end of the connection is not an error.
        if hasLeft { locations.finish() } else { locations.finish(throwing: failure) }
      }
      thread.name = "gpsd"
      thread.start()
    }

    /// Ends the connection. If the thread is waiting for a report, it wakes up and ends.
    func close() {
      state.withLock { state in
        if case .connected(let socket) = state { socket.shutDown() }
        state = .left
      }
    }

    private var hasLeft: Bool {
      state.withLock { if case .left = $0 { true } else { false } }
    }

    private var address: String { "gpsd at \(daemon.host), port \(daemon.port)," }

    // MARK: On the thread

    private func read() throws {
      let socket: StreamSocket
      do {
        socket = try StreamSocket(host: daemon.host, port: daemon.port)
      } catch {
        throw LocationError(
          .unreachable, "\(address) does not respond: \(error). Start the daemon, or correct the address.")
      }
      // The state changes before the socket is closed, so that no other code shuts down a closed socket.
      defer {
        state.withLock { state in
          if case .connected = state { state = .ended }
        }
        socket.close()
      }
      let isWanted = state.withLock { state in
        guard case .unconnected = state else { return false }
        state = .connected(socket)
        return true
      }
      guard isWanted else { return }
      try read(socket)
    }

    private func read(_ socket: StreamSocket) throws {
      var (rest, isGreeted) = (Data(), false)
      while let bytes = socket.receive() {
        rest.append(bytes)
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
          let line = rest[..<end]
          rest = Data(rest[(end + 1)...])
          guard !line.allSatisfy({ $0 == UInt8(ascii: "\r") }) else { continue }
          try received(line, on: socket, isFirst: !isGreeted)
          isGreeted = true
        }
        guard rest.count <= Self.maxLineLength else {
          throw LocationError(
            .unknownProtocol,
            "the server at \(daemon.host), port \(daemon.port), sent a line that is too long, so it is probably not gpsd."
          )
        }
      }
    }

    private func received(_ line: Data, on socket: StreamSocket, isFirst: Bool) throws {
      let report: GPSDReport
      do {
        report = try GPSDReport(line)
      } catch {
        let text = String(decoding: line.prefix(80), as: UTF8.self)
        throw LocationError(
          .unknownProtocol, "\(address) sent a line that is not a gpsd report: \(text.quoted).")
      }
      switch report {
      case .version(let release, let major):
        guard major == 3 else {
          throw LocationError(
            .unknownProtocol,
            "\(address) runs release \(release.shortened(to: 80)), which uses protocol \(major); only protocol 3 is supported."
          )
        }
        if isFirst { watch(socket) }
      case .location(let location, let device):
        if daemon.device == nil || daemon.device == device { locations.yield(location) }
      case .error(let message):
        throw LocationError(.refused, "\(address) refused the request: \(message.quotable).")
      case .other:
        guard !isFirst else {
          throw LocationError(.unknownProtocol, "\(address) did not send its version first.")
        }
      }
    }

    /// Requests reports. If the request cannot be sent, the next read detects the failure.
    private func watch(_ socket: StreamSocket) {
      socket.send(Data("?WATCH={\"enable\":true,\"json\":true};\n".utf8))
    }
  }
#endif
