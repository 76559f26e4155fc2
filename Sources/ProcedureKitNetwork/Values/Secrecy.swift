import Foundation
import ProcedureKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The rules that determine which parts of requests, responses and underlying errors are kept in an error, so that errors do not reveal
/// credentials.
///
/// Any field of a request, such as `X-Api-Key`, could contain credentials, so an error keeps only the fields on a short list. A response
/// keeps fields that the caller may need, such as `Retry-After`, but not those that contain cookies, credentials or links.
enum Secrecy {
  static let harmlessRequestFields: Set = [
    "accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "content-encoding",
    "content-language", "content-length", "content-type", "expect", "if-match", "if-modified-since", "if-none-match",
    "if-range", "if-unmodified-since", "pragma", "range", "user-agent",
  ]
  static let secretResponseFields: Set = [
    "authentication-info", "authorization", "cookie", "link", "proxy-authentication-info", "proxy-authorization",
    "refresh", "set-cookie", "set-cookie2",
  ]
  static let addressFields: Set = ["content-location", "location"]
}

extension URLRequest {
  /// Returns a request with the same method, the URL without its secrets, and only those header fields that contain no secrets.
  ///
  /// - Parameter names: The names of additional header fields that contain credentials.
  /// - Returns: The request.
  func withoutSecrets(_ names: Set<String> = []) -> URLRequest {
    let names = Set(names.map { $0.lowercased() })
    let address = url.map { $0.withoutSecrets }
    var request = URLRequest(
      url: address ?? URL(filePath: "/"), cachePolicy: cachePolicy, timeoutInterval: timeoutInterval)
    request.httpMethod = httpMethod
    request.allHTTPHeaderFields = allHTTPHeaderFields?.filter { name, _ in
      let name = name.lowercased()
      return Secrecy.harmlessRequestFields.contains(name) && !names.contains(name)
    }
    // This must be the last change, because on Linux the process crashes if a request without a URL is changed.
    if address == nil { request.url = nil }
    return request
  }
}

extension URL {
  /// The URL without its user, password, query and fragment.
  var withoutSecrets: URL {
    let text = absoluteString.withoutSecretsOfAddress
    return URL(string: text) ?? URL(filePath: "/")
  }
}

extension HTTPURLResponse {
  /// Returns a response with the same status, the URL without its secrets, and only those header fields that contain no secrets.
  ///
  /// - Parameter names: The names of additional header fields that contain credentials.
  /// - Returns: The response; `nil` if Foundation cannot create it.
  func withoutSecrets(_ names: Set<String> = []) -> HTTPURLResponse? {
    let names = Secrecy.secretResponseFields.union(names.map { $0.lowercased() })
    var fields: [String: String] = [:]
    for (name, value) in allHeaderFields {
      guard let name = name as? String, let value = value as? String, !names.contains(name.lowercased()) else {
        continue
      }
      fields[name] = Secrecy.addressFields.contains(name.lowercased()) ? value.withoutSecretsOfAddress : value
    }
    return HTTPURLResponse(
      url: url?.withoutSecrets ?? URL(filePath: "/"), statusCode: statusCode, httpVersion: nil, headerFields: fields)
  }
}

extension URLError {
  /// The error without the URL. `URLSession` adds the URL, including its secrets, under several keys of `userInfo`.
  var withoutSecrets: URLError {
    if let explanation { return URLError(code, explanation: explanation) }
    let text = userInfo[NSLocalizedDescriptionKey] as? String
    return URLError(code, userInfo: text.map { [NSLocalizedDescriptionKey: $0] } ?? [:])
  }
}

extension String {
  /// The text of a URL without its user, password, query and fragment. The text need not be a valid URL.
  var withoutSecretsOfAddress: String {
    let bytes = utf8
    let end = bytes.firstIndex { "?#".utf8.contains($0) } ?? bytes.endIndex
    guard let start = firstRange(of: "//")?.upperBound, start < end else { return String(self[..<end]) }
    let authorityEnd = bytes[start..<end].firstIndex { "/\\".utf8.contains($0) } ?? end
    guard let at = bytes[start..<authorityEnd].lastIndex(of: UInt8(ascii: "@")) else { return String(self[..<end]) }
    return String(self[..<start]) + String(self[bytes.index(after: at)..<end])
  }
}
