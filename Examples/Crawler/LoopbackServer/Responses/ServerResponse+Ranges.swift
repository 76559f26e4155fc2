import Foundation

extension ServerResponse {
  /// Returns a response that contains only the part of the file that a request selects.
  func selected(for request: ServerRequest) -> ServerResponse {
    guard let entityTag else { return self }
    var response = self
    response.headers["ETag"] = entityTag
    response.headers["Accept-Ranges"] = "bytes"
    if request.headers["If-None-Match"] == entityTag {
      response.status = 304
      response.body = Data()
      return response
    }
    if let version = request.headers["If-Range"], version != entityTag, version != headers["Last-Modified"] {
      return response
    }
    switch ByteRange(header: request.headers["Range"], length: body.count) {
    case .whole: break
    case .unsatisfiable:
      response.status = 416
      response.headers["Content-Range"] = "bytes */\(body.count)"
      response.body = Data()
    case .part(let range):
      response.status = 206
      response.headers["Content-Range"] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(body.count)"
      response.body = body.dropFirst(range.lowerBound).prefix(range.count)
    }
    return response
  }

  /// Returns whether the response to a request with the given method has a body.
  func hasBody(for method: String) -> Bool {
    method != "HEAD" && status != 204 && status != 304
  }

  /// The status line and the header fields, followed by the empty line.
  var head: String {
    var fields = headers
    if fields["Connection"] == nil { fields["Connection"] = "close" }
    switch framing {
    case .length:
      if fields["Content-Length"] == nil, status != 204, status != 304 { fields["Content-Length"] = "\(body.count)" }
    case .chunks: fields["Transfer-Encoding"] = "chunked"
    case .close: break
    }
    let lines = ["HTTP/1.1 \(status) \(Self.reasons[status] ?? "-")"] + fields.fields.map { "\($0.name): \($0.value)" }
    return lines.joined(separator: "\r\n") + "\r\n\r\n"
  }

  private static let reasons = [
    200: "OK", 204: "No Content", 206: "Partial Content", 301: "Moved Permanently", 302: "Found", 304: "Not Modified",
    400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 408: "Request Timeout", 416: "Range Not Satisfiable",
    429: "Too Many Requests", 500: "Internal Server Error", 503: "Service Unavailable",
  ]
}
