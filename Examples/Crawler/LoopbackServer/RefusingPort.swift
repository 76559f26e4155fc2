public import Foundation

/// A port of 127.0.0.1 that refuses connections for as long as the object exists.
///
/// The port is bound without a listener, so that no other process can use the port in the meantime.
public final class RefusingPort: Sendable {
  private let socket: Socket

  /// The port that the system chose.
  public let port: Int

  /// Reserves a port.
  ///
  /// - Throws: ``ServerError`` when the system has no socket or port left.
  public init() throws {
    let socket = try Socket.bound(isListening: false)
    port = try socket.closingOnError { try $0.port }
    self.socket = socket
  }

  deinit {
    socket.close()
  }

  /// Returns the address of a path on the port.
  public func url(_ path: String) -> URL {
    .loopback(host: "127.0.0.1", port: port, path: path)
  }
}

extension URL {
  static func loopback(host: String, port: Int, path: String) -> URL {
    guard path.hasPrefix("/"), let url = URL(string: "http://\(host):\(port)\(path)") else {
      preconditionFailure("'\(path)' is not a path of a URL: it must begin with a slash and be percent-encoded")
    }
    return url
  }
}
