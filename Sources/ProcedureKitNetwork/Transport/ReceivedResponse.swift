import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The head of a response as received by a transport.
///
/// The Foundation object that represents the response is created only when it is first requested. On Linux, creating this object takes as
/// long as all other work for a small response.
final class ReceivedResponse: Sendable {
  let status: Int
  /// The head and the URL from which the Foundation object is created; `nil` if the transport itself created the object.
  private let source: (head: ResponseHead, url: URL)?
  private let made: Mutex<HTTPURLResponse?>
  /// Whether a redirect to another origin removed `Authorization` from the request to which the server responded.
  let hasLostAuthorization: Bool

  init(_ head: ResponseHead, from url: URL) {
    status = head.status
    source = (head, url)
    made = Mutex(nil)
    hasLostAuthorization = false
  }

  init(_ response: HTTPURLResponse) {
    status = response.statusCode
    source = nil
    made = Mutex(response)
    hasLostAuthorization = false
  }

  /// Creates a copy that records that a redirect removed `Authorization` from the request.
  private init(toUnauthorized response: ReceivedResponse) {
    status = response.status
    source = response.source
    made = Mutex(response.made.withLock(\.self))
    hasLostAuthorization = true
  }

  /// Returns the response to the last request in a chain of redirects. The returned value records whether any of the redirects removed
  /// `Authorization`.
  func redirected(from first: URLRequest, to last: URLRequest) -> ReceivedResponse {
    let name = "Authorization"
    let isLost = first.value(forHTTPHeaderField: name) != nil && last.value(forHTTPHeaderField: name) == nil
    return isLost ? ReceivedResponse(toUnauthorized: self) : self
  }

  /// The Foundation object that represents the response.
  var object: HTTPURLResponse {
    made.withLock { made in
      if let made { return made }
      // The initializer is failable, but never fails here.
      guard let source,
        let response = HTTPURLResponse(
          url: source.url, statusCode: status, httpVersion: source.head.version, headerFields: source.head.fields)
      else { preconditionFailure("HTTPURLResponse could not be created for status \(status)") }
      made = response
      return response
    }
  }

  /// Returns the value of the field with the given name. Names are not case-sensitive.
  func value(of name: String) -> String? {
    guard let source else { return object.value(forHTTPHeaderField: name) }
    return source.head.value(of: name)
  }

  /// Returns the length of the body that the transport delivers, as specified in the head.
  ///
  /// The length is `nil` if it is unknown or if the body is decompressed.
  func bodyLength(to request: URLRequest) -> Int64? {
    if request.httpMethod == "HEAD" || status == 204 || status == 304 { return nil }
    // If the body is sent in chunks, the chunks determine where it ends, and a length is ignored (RFC 9112, section 6.3).
    if value(of: "Transfer-Encoding") != nil { return nil }
    guard value(of: "Content-Encoding")?.lowercased() ?? "identity" == "identity" else { return nil }
    // An implausible length is ignored, because a sum with other lengths could overflow.
    return value(of: "Content-Length")
      .flatMap { text in text.utf8.allSatisfy { (48...57).contains($0) } ? Int64(text) : nil }
      .flatMap { 0...(1 << 60) ~= $0 ? $0 : nil }
  }
}
