public import Foundation

/// A response, and its faults.
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

  /// The sent content: a head and a body, or bytes that are not HTTP.
  enum Content {
    case http, raw
  }

  /// The status code.
  public var status: Int

  /// The header fields. The server adds `Connection: close`, and the framing of the body, unless given here.
  public var headers: HeaderFields

  /// The body.
  public var body: Data

  var content = Content.http
  var framing = Framing.length
  var entityTag: String?
  var isEndless = false
  /// The number of bytes that are sent together, and the pause after them.
  var pace: (size: Int, pause: Duration)?
  var faults: [Fault] = []

  /// Creates a response with a status; `status(200)` has an empty body.
  public static func status(_ status: Int, headers: HeaderFields = [:], body: Data = Data()) -> ServerResponse {
    ServerResponse(status: status, headers: headers, body: body)
  }

  /// Creates a response with the status 200.
  public static func ok(_ body: Data, headers: HeaderFields = [:]) -> ServerResponse {
    .status(200, headers: headers, body: body)
  }

  /// Creates a response with the status 200 and a text in UTF-8.
  public static func ok(_ text: String, headers: HeaderFields = [:]) -> ServerResponse {
    .ok(Data(text.utf8), headers: headers)
  }

  /// Creates a redirect.
  ///
  /// - Parameters:
  ///   - location: A path on this server, or a whole address. The path of the request itself creates a loop.
  ///   - status: The status code, 302 unless given.
  /// - Returns: The response.
  public static func redirect(to location: String, status: Int = 302) -> ServerResponse {
    .status(status, headers: ["Location": location])
  }

  /// Creates a response that serves parts of a file: `Range`, `If-Range` and `If-None-Match` are honoured.
  ///
  /// - Parameters:
  ///   - body: The whole file.
  ///   - tag: The `ETag`, with its quotation marks; a client requests the rest of the same version with `If-Range`.
  ///   - headers: More header fields. `Last-Modified` also serves for `If-Range`.
  /// - Returns: The response.
  public static func file(_ body: Data, tag: String, headers: HeaderFields = [:]) -> ServerResponse {
    var response = ServerResponse.ok(body, headers: headers)
    response.entityTag = tag
    return response
  }

  /// Creates a response of bytes that are sent unchanged; the default is not HTTP.
  public static func garbage(_ bytes: Data = Data("\u{1}\u{2} no HTTP at all\r\n\r\n".utf8)) -> ServerResponse {
    var response = ServerResponse.ok(bytes)
    response.content = .raw
    return response
  }

  /// Creates a response without a length, whose body does not end before the client disconnects or the server stops.
  public static func endless(_ piece: Data = Data(repeating: 0x2e, count: 16_384)) -> ServerResponse {
    var response = ServerResponse.ok(piece).withoutLength()
    response.isEndless = true
    return response
  }
}
