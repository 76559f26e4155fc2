import Foundation
import ProcedureKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A policy that determines which redirects are followed, and which header fields are removed from the next request (RFC 9110, section
/// 15.4).
///
/// A response is a redirect if it has status 301, 302, 303, 307 or 308 and a `Location` field. After a 303, and after a 301 or 302 in
/// response to a `POST`, the next request is a `GET` without a body, or a `HEAD` if the previous request was a `HEAD`. Otherwise, the
/// method and the body are kept.
///
/// If a redirect leads to another origin, the credentials are removed from the next request and from all later ones. Two URLs have the same
/// origin if their schemes, hosts and ports are equal according to RFC 3986. A trailing dot in a host is ignored. By default, a redirect
/// fails with ``NetworkError/Kind-swift.struct/refusedRedirect`` if it leads from `https` to `http`, or if a body would be sent to another
/// origin.
///
/// The body of a redirect is not read. A response that has a redirect status but no `Location` field is treated like any other response.
public struct RedirectPolicy: Sendable, Hashable {
  /// The maximum number of redirects that are followed for a request. If the limit is 0, a redirect is treated like any other response.
  public var limit: Int
  /// The names of the header fields that are not sent to another origin.
  ///
  /// If you send credentials in other header fields, add the names of those fields. The set always contains `Authorization`, `Cookie` and
  /// `Proxy-Authorization`.
  public var credentialHeaders = standardCredentials {
    didSet { credentialHeaders.formUnion(Self.standardCredentials) }
  }

  private static let standardCredentials: Set<String> = ["Authorization", "Cookie", "Proxy-Authorization"]

  /// Whether redirects from `https` to `http` are followed. If they are, third parties can read the next request and alter its response.
  public var allowsInsecureRedirects = false
  /// Whether a redirect to another origin is followed if it keeps the body (307, 308, and 301 or 302 for methods other than `POST`).
  public var sendsBodyToOtherOrigins = false

  /// Creates a policy.
  public init(limit: Int = 10) {
    self.limit = limit
  }

  /// A policy that does not follow redirects. A redirect is returned as the response.
  public static let never = RedirectPolicy(limit: 0)

  /// Returns the next request if a response is a redirect that must be followed.
  ///
  /// - Parameters:
  ///   - response: The response.
  ///   - request: The request to which the server responded.
  ///   - count: The number of redirects that have been followed so far.
  ///   - hasBody: Whether `request` has a body.
  /// - Returns: The next request, and whether it keeps the body; `nil` if the response is not a redirect, or if redirects are not followed.
  /// - Throws: ``NetworkError`` if the redirect is invalid or refused, or if there have been too many redirects.
  func next(
    after response: ReceivedResponse, to request: URLRequest, count: Int, hasBody: Bool
  ) throws(NetworkError) -> (request: URLRequest, keepsBody: Bool)? {
    guard limit > 0, [301, 302, 303, 307, 308].contains(response.status),
      let location = response.value(of: "Location"), let origin = request.url
    else { return nil }
    guard count < limit else {
      let times = limit == 1 ? "once" : "\(limit) times"
      throw NetworkError(.tooManyRedirects, request, times, response: response.object)
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
      return "the server redirects from https to \(address). If this is intended, set allowsInsecureRedirects"
    }
    if sendsBody, !sendsBodyToOtherOrigins, !target.hasSameOrigin(as: origin) {
      return
        "the body would be sent to another origin, \(address). If this is intended, set sendsBodyToOtherOrigins"
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
