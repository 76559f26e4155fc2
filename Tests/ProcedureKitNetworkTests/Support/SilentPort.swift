import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A listening socket at a port of 127.0.0.1 that the system chooses.
struct ListeningSocket {
  let descriptor: Int32
  let port: Int
  private var address = sockaddr_in()

  /// Starts listening, with room for the given number of waiting connections.
  ///
  /// - Throws: `URLError`.
  init(backlog: Int32) throws {
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    descriptor = socket(AF_INET, Self.streamType, 0)
    guard Self.with(&address, { [descriptor] in bind(descriptor, $0, $1) }) == 0, listen(descriptor, backlog) == 0,
      Self.with(&address, { [descriptor] in getsockname(descriptor, $0, &$1) }) == 0
    else { throw URLError(.cannotConnectToHost) }
    port = Int(UInt16(bigEndian: address.sin_port))
  }

  /// Starts connecting to the socket, without waiting, and returns the descriptor of the client.
  func beginConnection() -> Int32 {
    var address = address
    let client = socket(AF_INET, Self.streamType, 0)
    _ = fcntl(client, F_SETFL, O_NONBLOCK)
    _ = Self.with(&address) { connect(client, $0, $1) }
    return client
  }

  private static func with(
    _ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>, inout socklen_t) -> Int32
  ) -> Int32 {
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    return withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, &length) }
    }
  }

  #if canImport(Glibc)
    private static let streamType = Int32(SOCK_STREAM.rawValue)
  #else
    private static let streamType = SOCK_STREAM
  #endif
}

/// A port of 127.0.0.1 that neither accepts nor refuses connections, because its line of waiting connections is full.
final class SilentPort: Sendable {
  let port: Int
  private let descriptors: [Int32]

  init() throws {
    let listener = try ListeningSocket(backlog: 0)
    port = listener.port
    // A line of length 0 accepts one or two connections. Later ones receive no answer.
    descriptors = [listener.descriptor] + (1...8).map { _ in listener.beginConnection() }
  }

  /// The port's own connections, which keep its line full.
  var connectionCount: Int { descriptors.count - 1 }

  #if os(Linux)
    /// The connections of this machine to the port, including those that are being made.
    var machineConnectionCount: Int {
      get throws {
        let remote = "0100007F:" + String(format: "%04X", port)
        let lines = try String(contentsOfFile: "/proc/self/net/tcp", encoding: .utf8).split(separator: "\n")
        return lines.count { line in
          let words = line.split(separator: " ")
          return words.count > 3 && words[2] == remote && ["01", "02"].contains(words[3])
        }
      }
    }
  #endif

  deinit {
    for descriptor in descriptors { close(descriptor) }
  }
}
