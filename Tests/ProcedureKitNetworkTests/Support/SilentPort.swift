import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A port of 127.0.0.1 that neither takes nor refuses a connection: its line of waiting connections is full.
final class SilentPort: Sendable {
  let port: Int
  private let descriptors: [Int32]

  init() throws {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    #if canImport(Glibc)
      let type = Int32(SOCK_STREAM.rawValue)
    #else
      let type = SOCK_STREAM
    #endif
    func withAddress(_ body: (UnsafeMutablePointer<sockaddr>, inout socklen_t) -> Int32) -> Int32 {
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      return withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, &length) }
      }
    }
    let listener = socket(AF_INET, type, 0)
    guard withAddress({ bind(listener, $0, $1) }) == 0, listen(listener, 0) == 0,
      withAddress({ getsockname(listener, $0, &$1) }) == 0
    else { throw URLError(.cannotConnectToHost) }
    port = Int(UInt16(bigEndian: address.sin_port))
    // A line of length 0 takes one or two; what comes afterwards is not answered.
    descriptors =
      [listener]
      + (1...8).map { _ in
        let client = socket(AF_INET, type, 0)
        _ = fcntl(client, F_SETFL, O_NONBLOCK)
        _ = withAddress { connect(client, $0, $1) }
        return client
      }
  }

  /// The connections of the port itself, which keep its line full.
  var connectionCount: Int { descriptors.count - 1 }

  deinit {
    for descriptor in descriptors { close(descriptor) }
  }
}
