import Foundation
import ProcedureKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLRequest {
  /// The method and the URL as they appear in messages. The user, password, query and fragment are omitted, because they may contain
  /// secrets.
  var summary: String {
    url == nil ? "a request without a URL" : "\((httpMethod ?? "GET").quotable) \(address)"
  }

  /// The URL as it appears in messages, shortened if necessary.
  var address: String {
    guard let url else { return "" }
    let port = url.port.map { ":\($0)" } ?? ""
    let query = url.query == nil ? "" : "?…"
    return "\("\(url.scheme ?? "")://\(url.host ?? "")\(port)\(url.path)".quotable)\(query)"
  }

  /// Checks that the request is valid, and that it can be sent again after a failure.
  ///
  /// - Throws: ``NetworkError`` of kind `invalidRequest` if the request does not pass these checks.
  func check(hasBody: Bool = false) throws(NetworkError) {
    guard let reason = problem(hasBody: hasBody) else { return }
    throw NetworkError(.invalidRequest, self, reason)
  }

  private func problem(hasBody: Bool) -> String? {
    guard let url else { return "it has no URL" }
    guard url.isHTTP else { return "only http and https URLs with a host can be requested" }
    if hasBody, httpBody != nil { return "it has two bodies. Set httpBody to nil" }
    if httpBodyStream != nil { return "httpBodyStream cannot be sent twice. Use httpBody, or NetworkUploadProcedure" }
    let method = httpMethod ?? "GET"
    if method == "GET" || method == "HEAD", hasBody || httpBody?.isEmpty == false {
      return "\(method) does not allow a body. Set httpMethod to POST or PUT"
    }
    if !method.isHTTPToken { return "its method is invalid" }
    for (name, value) in allHTTPHeaderFields ?? [:] {
      if let problem = Self.problem(ofField: name, value) { return problem }
    }
    return nil
  }

  static func problem(ofField name: String, _ value: String) -> String? {
    guard name.isHTTPToken else { return "the name of a header field contains characters that HTTP does not allow" }
    guard value.isHTTPFieldValue else {
      return "the value of its header field \(name.quotable) contains a line break or a NUL character"
    }
    return nil
  }

  /// Sets a header field, even if the value is invalid. ``check(hasBody:)`` later refuses an invalid value, whereas the `setValue` method
  /// of `URLRequest` would silently drop it.
  mutating func put(_ value: String, inField name: String) {
    if value.isHTTPFieldValue { return setValue(value, forHTTPHeaderField: name) }
    removeHeaders([name])
    allHTTPHeaderFields = (allHTTPHeaderFields ?? [:]).merging([name: value]) { $1 }
  }

  /// Removes the header fields with the given names. Names are not case-sensitive.
  mutating func removeHeaders(_ names: Set<String>) {
    let names = Set(names.map { $0.lowercased() })
    for name in (allHTTPHeaderFields ?? [:]).keys where names.contains(name.lowercased()) {
      setValue(nil, forHTTPHeaderField: name)
    }
  }
}

extension NetworkRequest {
  /// Sets a header field, replacing any previous value.
  ///
  /// `setValue(_:forHTTPHeaderField:)` of `URLRequest` ignores a value that contains a line break or a NUL character. For example, if a
  /// token is read from a file together with the final line break, the request is sent without authorization. This function throws an error
  /// instead.
  ///
  /// - Parameters:
  ///   - name: The name of the field.
  ///   - value: The value, which must be a single line.
  /// - Throws: ``NetworkError`` of kind ``NetworkError/Kind-swift.struct/invalidRequest`` if the name or the value is invalid. The error
  ///   does not contain the value.
  public mutating func setHeader(_ name: String, _ value: String) throws(NetworkError) {
    if let problem = URLRequest.problem(ofField: name, value) {
      throw NetworkError(.invalidRequest, urlRequest, problem)
    }
    urlRequest.setValue(value, forHTTPHeaderField: name)
  }
}

extension URL {
  var isHTTP: Bool {
    let scheme = scheme?.lowercased()
    return (scheme == "http" || scheme == "https") && host?.isEmpty == false
  }

  /// Returns whether two URLs have the same scheme, host and port (RFC 6454). The comparison follows RFC 3986.
  func hasSameOrigin(as other: URL) -> Bool {
    origin == other.origin
  }

  /// The scheme, host and port as bytes, because Swift's `==` for strings treats different encodings of a letter as equal.
  private var origin: [[UInt8]] {
    [scheme?.lowercased() ?? "", comparableHost, "\(effectivePort)"].map { Array($0.utf8) }
  }
}

extension String {
  var isHTTPToken: Bool {
    !isEmpty && utf8.allSatisfy { $0.isAlphanumeric || "!#$%&'*+-.^_`|~".utf8.contains($0) }
  }

  /// Whether the text can be the value of a header field. A line break or a NUL character could start another field, or truncate this one.
  var isHTTPFieldValue: Bool { !utf8.contains { $0 == 0 || $0 == 10 || $0 == 13 } }
}
