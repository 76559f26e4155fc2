import Foundation

@testable import LoopbackServer

/// A client that sends and receives bytes, and so shows details that URLSession would hide.
struct RawClient: Sendable {
  /// The bytes that were received before the end of the connection.
  var bytes = Data()
  /// The error that ended the connection; 0 if the server closed it properly.
  var code: Int32 = 0

  var text: String { String(decoding: bytes, as: UTF8.self) }
  var head: String { text.components(separatedBy: "\r\n\r\n")[0] }
  var body: String { text.components(separatedBy: "\r\n\r\n").dropFirst().joined(separator: "\r\n\r\n") }

  /// Sends a text, sends more when the first bytes have arrived, and reads to the end, on a separate thread.
  static func exchange(_ server: LoopbackServer, _ text: String, then more: String? = nil) async -> RawClient {
    let port = server.port
    return await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: exchange(port: port, text, more)) }
    }
  }

  static func get(_ server: LoopbackServer, _ path: String, headers: String = "") async -> RawClient {
    await exchange(server, "GET \(path) HTTP/1.1\r\nHost: a\r\n\(headers)\r\n")
  }

  static func connect(port: Int) -> Socket? {
    let descriptor = socket(AF_INET, Platform.stream, 0)
    Platform.prepare(descriptor)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    address.sin_port = UInt16(port).bigEndian
    if Socket.withPointer(to: &address, { Foundation.connect(descriptor, $0, $1) }) == 0 {
      return Socket(descriptor: descriptor)
    }
    let code = errno
    Socket(descriptor: descriptor).close()
    errno = code
    return nil
  }

  private static func exchange(port: Int, _ text: String, _ more: String?) -> RawClient {
    var client = RawClient()
    guard let socket = connect(port: port) else {
      client.code = errno
      return client
    }
    defer { socket.close() }
    try? socket.send(Data(text.utf8))
    var more = more
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
      let count = recv(socket.descriptor, &buffer, buffer.count, 0)
      if count < 0 { client.code = errno }
      guard count > 0 else { return client }
      client.bytes += buffer.prefix(count)
      if let rest = more.take() { try? socket.send(Data(rest.utf8)) }
    }
  }
}
