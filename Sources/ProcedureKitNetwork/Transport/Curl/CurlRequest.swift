import Foundation
import LoadedLibraries

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A request in the form that libcurl accepts.
///
/// This is a class because the transfer and the code that receives the response share it.
final class CurlRequest: Sendable {
  enum Body: Sendable {
    case none
    case data(Data)
    /// A body that is produced while the transfer is running, and its length in bytes, if known.
    case stream(HTTPBody, byteCount: Int64?)

    /// The length of the body in bytes; `nil` if it is unknown.
    var byteCount: Int64? {
      switch self {
      case .none: 0
      case .data(let data): Int64(data.count)
      case .stream(_, let byteCount): byteCount
      }
    }
  }

  let url: String
  let method: String
  let lines: [String]
  let body: Body
  /// Whether the server may use each content coding in `Accept-Encoding`, keyed by the name of the coding in lower case. The name `*`
  /// represents all codings that are not listed.
  private let codings: [String: Bool]
  let idleLimit: Duration?

  /// Converts a request to the form that libcurl accepts.
  ///
  /// - Throws: ``NetworkError`` of kind `invalidRequest` if the request has no URL, or if its method or a header field is invalid.
  init(_ request: URLRequest, _ body: HTTPBody?) throws(NetworkError) {
    guard let url = request.url else { throw NetworkError(.invalidRequest, request, "it has no URL") }
    self.url = url.absoluteString
    method = request.httpMethod ?? "GET"
    guard method.isHTTPToken else { throw NetworkError(.invalidRequest, request, "its method is invalid") }
    switch body {
    case .data(let data): self.body = .data(data)
    case .file, .stream: self.body = .stream(body ?? .data(Data()), byteCount: body?.byteCount)
    case nil: self.body = request.httpBody.map { .data($0) } ?? .none
    }
    // As with URLSession, there is no limit if the timeout interval of the request is not positive.
    let interval = request.timeoutInterval
    idleLimit = interval > 0 && interval < 1e9 ? .seconds(interval) : nil

    let fields = request.allHTTPHeaderFields ?? [:]
    var lines: [String] = []
    lines.reserveCapacity(fields.count + Self.ownLineCount)
    // Without this line, libcurl would wait up to a second for a `100 Continue` before it sends a long body.
    lines.append("Expect:")
    var names: Set<String> = []
    var codings: [String: Bool] = [:]
    for (name, value) in fields {
      let small = name.lowercased()
      names.insert(small)
      // libcurl itself sets the fields that frame the body. `Expect` is omitted because, after a 417, libcurl would send the request again,
      // and a second head would follow the head of the 417.
      if ["content-length", "transfer-encoding", "expect"].contains(small) { continue }
      // libcurl sends a line verbatim, so a line break would start another field.
      if let problem = URLRequest.problem(ofField: name, value) {
        throw NetworkError(.invalidRequest, request, problem)
      }
      // In libcurl, "Name:" removes a field, and "Name;" sends a field with an empty value.
      lines.append(value.isEmpty ? "\(name);" : "\(name): \(value)")
      if small == "accept-encoding" { codings = Self.codings(in: value) }
    }
    if !names.contains("user-agent") { lines.append(Self.userAgent) }
    if !names.contains("content-type"), method == "POST", body == nil, request.httpBody != nil {
      lines.append("Content-Type: application/x-www-form-urlencoded")
    }
    // A request for a range does not offer gzip, because part of a compressed body could not be decompressed.
    if !names.contains("accept-encoding"), !names.contains("range"), GzipDecoder.isAvailable {
      lines.append("Accept-Encoding: gzip")
      codings = Self.ownCodings
    }
    self.lines = lines
    self.codings = codings
  }

  /// Returns whether the server may use the given content coding for the response (RFC 9110, section 12.5.3).
  func offers(_ coding: String) -> Bool { codings[coding] ?? codings["*"] ?? false }

  /// Whether libcurl is allowed to send the request again if a connection from the pool turns out to be closed.
  var isRepeatable: Bool { ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"].contains(method) }

  /// Whether the request needs a new connection. If the server has closed a pooled connection, libcurl sends the request again on another
  /// one. A request that must not be sent twice therefore needs a new connection, unless the `rewind` callback of ``CurlTransfer`` can
  /// refuse to send its body again.
  var needsNewConnection: Bool {
    switch body {
    case .none: !isRepeatable
    // libcurl can send an empty body again without calling `rewind`.
    case .data(let data): data.isEmpty && !isRepeatable
    case .stream: true
    }
  }

  /// The maximum number of lines that this type adds to the header fields of the request.
  private static let ownLineCount = 4
  private static let ownCodings = ["gzip": true]

  private static let userAgent =
    "User-Agent: ProcedureKit libcurl/" + String(pk_curl_version_number() >> 16) + "."
    + String(pk_curl_version_number() >> 8 & 0xff)

  private static func codings(in value: String) -> [String: Bool] {
    var codings: [String: Bool] = [:]
    for word in value.lowercased().split(separator: ",") {
      let parts = word.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
      guard let name = parts.first else { continue }
      let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) }
      codings[ResponseHead.usualName(ofCoding: name)] = weight != 0
    }
    return codings
  }
}
