public import Foundation

/// A response that the server sends, including any faults to simulate.
///
/// ```swift
/// .ok("text")
/// .status(429, headers: ["Retry-After": "2"])
/// .file(data, tag: "\"1\"").truncated(after: 1_000)  // with `Range` and `If-Range`
/// .ok(data).gated(gate, after: 500)
/// ```
public struct ServerResponse: Sendable {
  /// How the client detects the end of the body.
  enum Framing {
    case length
    case chunks(Int)
    case close
  }

  /// The content that is sent: either a head and a body, or raw bytes that are not HTTP.
  enum Content {
    case http, raw
  }

  /// The status code.
  public var status: Int

  /// The header fields. The server adds `Connection: close` and the fields that frame the body, unless they are specified here.
  public var headers: HeaderFields

  /// The body.
  public var body: Data

  var content = Content.http
  var framing = Framing.length
  var entityTag: String?
  var isEndless = false
  /// The number of bytes to send at a time, and the pause after each piece.
  var pace: (size: Int, pause: Duration)?
  var faults: [Fault] = []

  /// Creates a response with the given status. By default, the body is empty.
  public static func status(_ status: Int, headers: HeaderFields = [:], body: Data = Data()) -> ServerResponse {
    ServerResponse(status: status, headers: headers, body: body)
  }

  /// Creates a response with status 200.
  public static func ok(_ body: Data, headers: HeaderFields = [:]) -> ServerResponse {
    .status(200, headers: headers, body: body)
  }

  /// Creates a response with status 200, whose body is UTF-8 text.
  public static func ok(_ text: String, headers: HeaderFields = [:]) -> ServerResponse {
    .ok(Data(text.utf8), headers: headers)
  }

  /// Creates a redirect.
  ///
  /// - Parameters:
  ///   - location: A path on this server, or a complete URL. Redirecting a request to its own path results in a loop.
  ///   - status: The status code.
  /// - Returns: The response.
  public static func redirect(to location: String, status: Int = 302) -> ServerResponse {
    .status(status, headers: ["Location": location])
  }

  /// Creates a response that can serve parts of a file, depending on the header fields `Range`, `If-Range` and `If-None-Match` in the
  /// request.
  ///
  /// - Parameters:
  ///   - body: The contents of the complete file.
  ///   - tag: The `ETag`, including its quotation marks. A client uses it in `If-Range` to request the rest of the same version.
  ///   - headers: Additional header fields. If there is a `Last-Modified` field, a client can use it in `If-Range`, too.
  /// - Returns: The response.
  public static func file(_ body: Data, tag: String, headers: HeaderFields = [:]) -> ServerResponse {
    var response = ServerResponse.ok(body, headers: headers)
    response.entityTag = tag
    return response
  }

  /// Creates a response that consists of the given bytes, which are sent unchanged. By default, they are not valid HTTP.
  public static func garbage(_ bytes: Data = Data("\u{1}\u{2} no HTTP at all\r\n\r\n".utf8)) -> ServerResponse {
    var response = ServerResponse.ok(bytes)
    response.content = .raw
    return response
  }

  /// Creates a response without a length, whose body does not end until the client disconnects or the server stops.
  public static func endless(_ piece: Data = Data(repeating: 0x2e, count: 16_384)) -> ServerResponse {
    var response = ServerResponse.ok(piece).withoutLength()
    response.isEndless = true
    return response
  }
}
