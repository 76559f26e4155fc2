public import Foundation
import ProcedureKit

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// The reason why a request did not lead to a usable response.
public struct NetworkError: Error, Sendable, CustomStringConvertible, LocalizedError {
  /// The kind of a ``NetworkError``. Later versions can add kinds, so a `switch` needs a `default`.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    /// The name of the kind, for example `transferFailed`.
    public let description: String

    /// The request cannot be sent as it is. Nothing was sent.
    public static let invalidRequest = Kind(description: "invalidRequest")
    /// The connection failed, or the server did not speak HTTP; see ``NetworkError/code``.
    public static let transferFailed = Kind(description: "transferFailed")
    /// The body ended early: it is shorter than announced.
    public static let incomplete = Kind(description: "incomplete")
    /// The body is longer than the procedure allows.
    public static let tooLarge = Kind(description: "tooLarge")
    /// The status is not accepted; see ``NetworkError/status`` and ``NetworkError/body``.
    public static let unacceptableStatus = Kind(description: "unacceptableStatus")
    /// The server redirected more than ``RedirectPolicy/limit`` times.
    public static let tooManyRedirects = Kind(description: "tooManyRedirects")
    /// The server redirected to something that is not an HTTP URL.
    public static let invalidRedirect = Kind(description: "invalidRedirect")
    /// The server sent a redirect that ``RedirectPolicy`` does not allow.
    public static let refusedRedirect = Kind(description: "refusedRedirect")
    /// The body is not the expected JSON; see ``NetworkError/underlying``.
    public static let undecodable = Kind(description: "undecodable")
    /// A file could not be read or written; see ``NetworkError/underlying``.
    public static let fileFailed = Kind(description: "fileFailed")
  }

  /// The kind of the error.
  public let kind: Kind
  /// The request that failed; after a redirect, the last one.
  ///
  /// Only the method, the URL without user, password, query and fragment, and header fields that hold no credentials are kept: those for
  /// content negotiation, conditions, ranges and caches, those that describe the content, and `User-Agent`.
  public let request: URLRequest
  /// The response, if one has begun, without cookies, credentials and the queries of URLs.
  public let response: HTTPURLResponse?
  /// The body that came with a status that is not accepted, up to 64 KB of it.
  public let body: Data
  /// The error from the system or the decoder.
  public let underlying: (any Error)?
  /// Internal. Whether the request was sent without `Authorization`: it had none, or a redirect to another origin removed it.
  let lacksAuthorization: Bool
  private let detail: String
  private let subject: String

  /// How many bytes of a body an error keeps.
  static let bodyLimit = 64 << 10

  init(
    _ kind: Kind, _ request: URLRequest, _ detail: String = "", response: HTTPURLResponse? = nil, body: Data = Data(),
    underlying: (any Error)? = nil, subject: String? = nil
  ) {
    self.init(
      kind, request.withoutSecrets(), detail, response?.withoutSecrets(), body,
      (underlying as? URLError)?.withoutSecrets ?? underlying, subject ?? request.summary,
      lacksAuthorization: request.value(forHTTPHeaderField: "Authorization") == nil)
  }

  /// Stores all values. None of them holds a secret.
  private init(
    _ kind: Kind, _ request: URLRequest, _ detail: String, _ response: HTTPURLResponse?, _ body: Data,
    _ underlying: (any Error)?, _ subject: String, lacksAuthorization: Bool
  ) {
    self.kind = kind
    self.request = request
    self.detail = detail
    self.response = response
    self.body = body
    self.underlying = underlying
    self.subject = subject
    self.lacksAuthorization = lacksAuthorization
  }

  /// Internal. Returns the error without the header fields that a policy lists as credentials.
  func hiding(_ names: Set<String>) -> NetworkError {
    NetworkError(
      kind, request.withoutSecrets(names), detail, response?.withoutSecrets(names), body, underlying, subject,
      lacksAuthorization: lacksAuthorization)
  }

  /// The status code of the response, if one has begun.
  public var status: HTTPStatusCode? { response.map { HTTPStatusCode(rawValue: $0.statusCode) } }

  /// The code of the connection's error, for errors of the kind ``Kind-swift.struct/transferFailed``.
  public var code: URLError.Code? { (underlying as? URLError)?.code }

  /// The request, the failure, and the cause. Credentials and the query of the URL are left out.
  public var description: String { "\(subject) \(explanation)" }

  private var explanation: String {
    switch kind {
    case .invalidRequest: "was not sent, since \(detail)."
    case .transferFailed: "failed: \(underlyingText)"
    case .incomplete: "failed, since the body of the response is incomplete: \(detail)."
    case .fileFailed: "failed, since \(detail)\(underlying.map { ": \($0.localizedDescription)" } ?? ".")"
    case .tooLarge: "was stopped, since the body of the response is longer than \(detail). Raise sizeLimit if need be."
    case .unacceptableStatus: "was answered with the status \(status.map { "\($0)" } ?? "?")."
    case .tooManyRedirects: "failed: the server redirected more than \(detail)."
    case .invalidRedirect: "failed: the server redirects to \"\(detail)\", which is not an HTTP address."
    case .refusedRedirect: "was not redirected, since \(detail)."
    case .undecodable: "was answered with JSON that \(detail) cannot be decoded from: \(underlyingText)"
    default: "failed, since \(detail): \(underlyingText)"
    }
  }

  private var underlyingText: String {
    guard let error = underlying else { return "the server did not send an HTTP response." }
    guard let error = error as? URLError else { return "\(error)".quotable }
    return "\(Self.names[error.code] ?? error.localizedDescription) (URLError \(error.code.rawValue))."
  }

  private static let names: [URLError.Code: String] = [
    .timedOut: "nothing came for as long as the request allows", .cannotConnectToHost: "the host refuses connections",
    .cannotFindHost: "the host is not known", .networkConnectionLost: "the connection was lost",
    .dnsLookupFailed: "the host is not known", .notConnectedToInternet: "this machine has no network",
    .badServerResponse: "the server did not send an HTTP response",
    .serverCertificateUntrusted: "the certificate of the host is not trusted",
    .secureConnectionFailed: "no secure connection was possible",
    // With URLSession on Linux, this is the code for a response that is not HTTP. URLs with other schemes are refused earlier.
    .unsupportedURL: "the server did not send an HTTP response",
  ]

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
