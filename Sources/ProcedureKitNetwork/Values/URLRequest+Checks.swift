import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLRequest {
  /// The method and the address for messages: without user, password, query and fragment, which may hold secrets.
  var summary: String {
    url == nil ? "a request without a URL" : "\(httpMethod ?? "GET") \(address)"
  }

  /// The address for messages.
  var address: String {
    guard let url else { return "" }
    let port = url.port.map { ":\($0)" } ?? ""
    let query = url.query == nil ? "" : "?…"
    return "\(url.scheme ?? "")://\(url.host ?? "")\(port)\(url.path)\(query)"
  }

  /// Checks that the request can be sent, and sent again after a failure.
  ///
  /// - Throws: ``NetworkError`` of the kind `invalidRequest`.
  func check(hasBody: Bool = false) throws(NetworkError) {
    guard let reason = problem(hasBody: hasBody) else { return }
    throw NetworkError(.invalidRequest, self, reason)
  }

  private func problem(hasBody: Bool) -> String? {
    guard let url else { return "it has no URL" }
    guard url.isHTTP else { return "only http and https URLs with a host can be requested" }
    if hasBody, httpBody != nil { return "it has two bodies; leave httpBody nil" }
    if httpBodyStream != nil { return "a stream cannot be sent twice; use httpBody, or NetworkUploadProcedure" }
    let method = httpMethod ?? "GET"
    if method == "GET" || method == "HEAD", hasBody || httpBody?.isEmpty == false {
      return "\(method) has no body; set httpMethod to POST or PUT"
    }
    if !method.isHTTPToken { return "its method is no method" }
    if (allHTTPHeaderFields ?? [:]).keys.contains(where: { !$0.isHTTPToken }) {
      return "a name of a header field contains other characters than HTTP allows"
    }
    return nil
  }

  /// A request with method, address and header fields only, without those of credentials.
  ///
  /// The request is made anew: on Linux, changing a request without a URL ends the process.
  var withoutSecrets: URLRequest {
    guard let url else { return self }
    var request = URLRequest(url: url, cachePolicy: cachePolicy, timeoutInterval: timeoutInterval)
    request.httpMethod = httpMethod
    request.allHTTPHeaderFields = allHTTPHeaderFields
    request.removeHeaders(RedirectPolicy().credentialHeaders)
    return request
  }

  /// Removes some header fields, whose names are compared without regard to case.
  mutating func removeHeaders(_ names: Set<String>) {
    let names = Set(names.map { $0.lowercased() })
    for name in (allHTTPHeaderFields ?? [:]).keys where names.contains(name.lowercased()) {
      setValue(nil, forHTTPHeaderField: name)
    }
  }
}

extension URL {
  var isHTTP: Bool {
    let scheme = scheme?.lowercased()
    return (scheme == "http" || scheme == "https") && host?.isEmpty == false
  }

  /// Whether both addresses have the same scheme, host and port (RFC 6454).
  func hasSameOrigin(as other: URL) -> Bool {
    origin == other.origin
  }

  private var origin: [String] {
    let scheme = scheme?.lowercased() ?? ""
    return [scheme, host?.lowercased() ?? "", "\(port ?? (scheme == "https" ? 443 : 80))"]
  }
}

extension String {
  fileprivate var isHTTPToken: Bool {
    !isEmpty && utf8.allSatisfy { $0 > 32 && $0 < 127 && !"\"(),/:;<=>?@[\\]{}".utf8.contains($0) }
  }
}
