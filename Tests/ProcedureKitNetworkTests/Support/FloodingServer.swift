import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A server on 127.0.0.1 that responds to the first bytes of its only client by sending the same bytes again and again, until the client
/// closes the connection or the total is ``byteLimit``.
final class FloodingServer: Sendable {
  static let byteLimit = 64 << 20

  let port: Int
  private let listener: Int32
  private let (starts, start) = AsyncStream.makeStream(of: Void.self)
  private let hasSentAll = Mutex(false)

  init(_ bytes: [UInt8]) throws {
    let listening = try ListeningSocket(backlog: 1)
    (listener, port) = (listening.descriptor, listening.port)
    let batch = Array(repeatElement(bytes, count: (64 << 10) / bytes.count + 1).joined())
    Thread.detachNewThread { [self, listener] in
      let client = accept(listener, nil, nil)
      guard client >= 0 else { return }
      defer { close(client) }
      var buffer = [UInt8](repeating: 0, count: 1_000)
      guard recv(client, &buffer, buffer.count, 0) > 0 else { return }
      var total = 0
      while total < Self.byteLimit {
        let count = send(client, batch, batch.count, Int32(MSG_NOSIGNAL))
        // The rest of a batch that was only sent in part would have to follow.
        guard count == batch.count else { return }
        total += count
        start.yield()
      }
      hasSentAll.withLock { $0 = true }
    }
  }

  /// Whether the flood has ended although the client has not closed the connection.
  var isOver: Bool { hasSentAll.withLock { $0 } }

  /// Waits until the flood has started.
  func waitUntilFlooding() async { for await _ in starts { return } }

  func stop() {
    _ = shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
  }
}
