import Dispatch
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A server on 127.0.0.1 that responds to its only request as soon as the head has arrived, and then stops reading. A long body fills the
/// buffers of the system, so sending stops.
final class DeafServer: Sendable {
  let url: URL
  private let listener: Int32
  private let mayContinue = DispatchSemaphore(value: 0)

  /// Starts the server, which sends a part of the response and then waits until it may continue. After that, it sends the rest and resets
  /// the connection.
  init(_ answer: String, rest: String = "") throws {
    let listening = try ListeningSocket(backlog: 1)
    listener = listening.descriptor
    url = URL(string: "http://127.0.0.1:\(listening.port)/")!
    Thread.detachNewThread { [listener, mayContinue] in
      let client = accept(listener, nil, nil)
      guard client >= 0 else { return }
      var (head, buffer) = (Data(), [UInt8](repeating: 0, count: 1_000))
      while head.firstRange(of: Data("\r\n\r\n".utf8)) == nil {
        let count = recv(client, &buffer, buffer.count, 0)
        guard count > 0 else { break }
        head += buffer.prefix(count)
      }
      _ = send(client, Array(answer.utf8), answer.utf8.count, Int32(MSG_NOSIGNAL))
      mayContinue.wait()
      _ = send(client, Array(rest.utf8), rest.utf8.count, Int32(MSG_NOSIGNAL))
      var linger = linger(l_onoff: 1, l_linger: 0)
      _ = setsockopt(client, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
      close(client)
    }
  }

  func continueAndReset() { mayContinue.signal() }

  deinit {
    _ = shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
    mayContinue.signal()
  }
}
