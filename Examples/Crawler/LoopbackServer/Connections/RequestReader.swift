import Foundation

/// A type that reads requests from a socket.
struct RequestReader {
  private static let limit = 65_536

  let socket: Socket
  private var buffer = Data()

  init(socket: Socket) {
    self.socket = socket
  }

  /// Reads the head of a request, up to the empty line.
  ///
  /// - Returns: The head without the empty line. If the empty line is missing, the result is the empty string, which is an invalid head.
  mutating func head() throws(Ending) -> String {
    String(decoding: try take(through: "\r\n\r\n") ?? Data(), as: UTF8.self)
  }

  /// Reads the body of a request.
  ///
  /// - Returns: The body; `nil` if the head does not specify where the body ends, or if the chunks are invalid.
  mutating func body(of request: ServerRequest) throws(Ending) -> Data? {
    guard request.isChunked else {
      guard let length = request.contentLength else { return nil }
      return try take(length)
    }
    var body = Data()
    while true {
      guard let line = try take(through: "\r\n"),
        let size = Int(String(decoding: line.prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self), radix: 16), size >= 0
      else { return nil }
      if size == 0 { break }
      body += try take(size)
      guard try take(through: "\r\n")?.isEmpty == true else { return nil }
    }
    // Trailers are read and discarded.
    while let line = try take(through: "\r\n"), !line.isEmpty { continue }
    return body
  }

  private mutating func take(_ count: Int) throws(Ending) -> Data {
    while buffer.count < count { buffer += try socket.receive() }
    let data = Data(buffer.prefix(count))
    buffer = Data(buffer.dropFirst(count))
    return data
  }

  /// Reads up to and including an end mark, and returns the bytes before it; `nil` if the mark does not occur within the limit.
  private mutating func take(through mark: String) throws(Ending) -> Data? {
    while true {
      if let range = buffer.firstRange(of: Data(mark.utf8)) {
        let data = Data(buffer[..<range.lowerBound])
        buffer = Data(buffer[range.upperBound...])
        return data
      }
      if buffer.count > Self.limit { return nil }
      buffer += try socket.receive()
    }
  }
}
