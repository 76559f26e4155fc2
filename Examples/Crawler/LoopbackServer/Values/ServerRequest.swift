public import Foundation

/// A request that the server received.
public struct ServerRequest: Sendable {
  /// The method, such as `GET`.
  public var method: String

  /// The path, percent-encoded and without the query. In a request to a proxy, this is the complete URL or, if the method is `CONNECT`, the
  /// host and the port.
  public var path: String

  /// The query, percent-encoded and without the question mark; `nil` if there is none.
  public var query: String?

  /// The header fields.
  public var headers: HeaderFields

  /// The complete body. If `beforeBody` returned a response, the body is empty.
  public var body = Data()

  /// The position of this request among the requests for the same path, starting at 1.
  public var attempt = 1

  /// The time at which the head arrived.
  public var instant = ContinuousClock.now

  /// Parses the head of a request: the lines before the empty line.
  ///
  /// - Returns: The request; `nil` if the text is not the head of an HTTP/1 request.
  init?(head: String) {
    var lines = head.components(separatedBy: "\r\n")[...]
    guard let words = lines.popFirst()?.split(separator: " "), words.count == 3,
      words[1].hasPrefix("/") || words[1].hasPrefix("http://") || words[0] == "CONNECT", words[2].hasPrefix("HTTP/1.")
    else { return nil }
    method = String(words[0])
    let target = words[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    path = String(target[0])
    query = target.count == 2 ? String(target[1]) : nil
    headers = [:]
    for line in lines {
      let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty else { return nil }
      headers.append(String(parts[0]), parts[1].trimmingCharacters(in: .whitespaces))
    }
  }

  /// The length of the body, which is 0 if the head does not specify one; `nil` if the length is invalid.
  var contentLength: Int? {
    guard let text = headers["Content-Length"] else { return 0 }
    return Int(text).flatMap { $0 >= 0 ? $0 : nil }
  }

  var isChunked: Bool { headers["Transfer-Encoding"]?.lowercased() == "chunked" }

  var expectsContinue: Bool { headers["Expect"]?.lowercased() == "100-continue" }
}
