import Foundation
import ProcedureKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Which redirects are followed, and which header fields are removed from the next request (RFC 9110, section 15.4).
///
/// A response with the status 301, 302, 303, 307 or 308 and a `Location` is a redirect. After a 303, and after a 301 or 302 in response to
/// a `POST`, the next request is a `GET` without a body; otherwise the method and the body are kept. A request to another origin (scheme,
/// host or port, compared according to RFC 3986, ignoring a dot at the end of the host) does not carry the credentials of the previous
/// request, and later requests do not regain them. Unless the policy allows it, a redirect from `https` to `http`, or one that would send a
/// body to another origin, fails with ``NetworkError/Kind-swift.struct/refusedRedirect``.
///
/// The body of a redirect is not read. A response with one of these statuses but without `Location` is treated like any other response.
public struct RedirectPolicy: Sendable, Hashable {
  /// How many redirects are followed for one request. If the limit is 0, a redirect is treated like any other response.
  public var limit: Int
  /// The names of the header fields that are not sent to another origin.
  ///
  /// Add the names of the fields in which you send other credentials. `Authorization`, `Cookie` and `Proxy-Authorization` cannot be
  /// removed.
  public var credentialHeaders = standardCredentials {
    didSet { credentialHeaders.formUnion(Self.standardCredentials) }
  }

  private static let standardCredentials: Set<String> = ["Authorization", "Cookie", "Proxy-Authorization"]

  /// Whether a redirect may lead from `https` to `http`, where others can read the request and alter the response.
  public var allowsInsecureRedirects = false
  /// Whether a redirect that keeps the body (307, 308, and 301 or 302 for methods other than `POST`) may send the body to another origin.
  public var sendsBodyToOtherOrigins = false

  /// Creates a policy.
  public init(limit: Int = 10) {
    self.limit = limit
  }

  /// A policy that follows no redirects: a redirect is returned as the response.
  public static let never = RedirectPolicy(limit: 0)

  /// Internal. Decides what follows a response.
  ///
  /// - Parameters:
  ///   - response: The response.
  ///   - request: The request that was answered.
  ///   - count: How many redirects have been followed so far.
  ///   - hasBody: Whether the request that was answered has a body.
  /// - Returns: The next request; `nil` if the response is not a redirect, or redirects are not followed.
  /// - Throws: ``NetworkError``.
  func next(
    after response: ReceivedResponse, to request: URLRequest, count: Int, hasBody: Bool
  ) throws(NetworkError) -> (request: URLRequest, keepsBody: Bool)? {
    guard limit > 0, [301, 302, 303, 307, 308].contains(response.status),
      let location = response.value(of: "Location"), let origin = request.url
    else { return nil }
    guard count < limit else {
      throw NetworkError(.tooManyRedirects, request, limit.counting("time"), response: response.object)
    }
    guard let target = URL(lenient: location, relativeTo: origin), target.isHTTP else {
      throw NetworkError(
        .invalidRedirect, request, location.withoutSecretsOfAddress.quotable, response: response.object)
    }
    let keepsBody = Self.keepsBody(response.status, method: request.httpMethod ?? "GET")
    if let reason = refusal(of: target, from: origin, sendsBody: keepsBody && hasBody) {
      throw NetworkError(.refusedRedirect, request, reason, response: response.object)
    }
    var next = request
    next.url = target
    if !target.hasSameOrigin(as: origin) { next.removeHeaders(credentialHeaders.union(["Host"])) }
    if !keepsBody {
      next.httpBody = nil
      if next.httpMethod != "HEAD" { next.httpMethod = "GET" }
      next.removeHeaders(Self.contentHeaders)
    }
    return (next, keepsBody)
  }

  private func refusal(of target: URL, from origin: URL, sendsBody: Bool) -> String? {
    let isDowngrade = origin.scheme?.lowercased() == "https" && target.scheme?.lowercased() == "http"
    let address = URLRequest(url: target).address
    if isDowngrade, !allowsInsecureRedirects {
      return "the server redirects from https to \(address). If this is right, set allowsInsecureRedirects"
    }
    if sendsBody, !sendsBodyToOtherOrigins, !target.hasSameOrigin(as: origin) {
      return
        "the server redirects the body to another origin, \(address). If this is right, set sendsBodyToOtherOrigins"
    }
    return nil
  }

  private static func keepsBody(_ status: Int, method: String) -> Bool {
    switch status {
    case 303: false
    case 301, 302: method != "POST"
    default: true
    }
  }

  private static let contentHeaders: Set = [
    "Content-Type", "Content-Length", "Content-Encoding", "Content-Language", "Transfer-Encoding",
  ]
}
