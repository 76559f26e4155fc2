public import Foundation

/// A port on 127.0.0.1 that refuses connections for as long as the object exists.
///
/// The port is bound but has no listener, so no other process can use it while the object exists.
public final class RefusingPort: Sendable {
  private let socket: Socket

  /// The port that the system chose.
  public let port: Int

  /// Reserves a port.
  ///
  /// - Throws: ``ServerError`` if the system has no socket or port left.
  public init() throws {
    let socket = try Socket.bound(isListening: false)
    port = try socket.closingOnError { try $0.port }
    self.socket = socket
  }

  deinit {
    socket.close()
  }

  /// Returns a URL that contains this port and the given path.
  public func url(_ path: String) -> URL {
    .loopback(host: "127.0.0.1", port: port, path: path)
  }
}

extension URL {
  static func loopback(host: String, port: Int, path: String) -> URL {
    guard path.hasPrefix("/"), let url = URL(string: "http://\(host):\(port)\(path)") else {
      preconditionFailure("'\(path)' is not a valid URL path: it must start with a slash and be percent-encoded")
    }
    return url
  }
}
