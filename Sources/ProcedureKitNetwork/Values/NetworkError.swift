public import Foundation
import ProcedureKit

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// The reason a request did not lead to a usable response.
public struct NetworkError: Error, Sendable, CustomStringConvertible, LocalizedError {
  /// The kind of a ``NetworkError``. Later versions may add kinds, so a `switch` needs a `default`.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    /// The name of the kind, for example `transferFailed`.
    public let description: String

    /// The request is invalid, so nothing was sent.
    public static let invalidRequest = Kind(description: "invalidRequest")
    /// The transfer failed, for example because the connection was lost or the response was not HTTP; see ``NetworkError/code`` and
    /// ``NetworkError/underlying``.
    public static let transferFailed = Kind(description: "transferFailed")
    /// The response body is shorter or longer than announced, or is not the part that a download requested.
    public static let incomplete = Kind(description: "incomplete")
    /// The body is larger than the procedure allows.
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
    /// A file could not be read or written (see ``NetworkError/underlying``), or a request body does not have the expected length.
    public static let fileFailed = Kind(description: "fileFailed")
  }

  /// The kind of error.
  public let kind: Kind
  /// The request that failed. After redirects, this is the last request. However, if `resilient()` reports a status after its last attempt,
  /// this is the first request. If the response could not be decoded, the request contains only the URL of the response.
  ///
  /// The error keeps only the method, the URL without its user, password, query and fragment, and a few header fields that never contain
  /// credentials. These are `User-Agent`, the fields for content negotiation, conditions, ranges and caches, and the fields that describe
  /// the content.
  public let request: URLRequest
  /// The response, if its head was received. Cookies, credentials and URL queries are removed.
  public let response: HTTPURLResponse?
  /// Up to 64 KB of the body of a response whose status is not accepted, or whose body could not be decoded; otherwise empty.
  public let body: Data
  /// The error that caused this error, if any, for example an error of the system, of the decoder, or of the stream that produces a body.
  public let underlying: (any Error)?
  /// Whether the request was sent without `Authorization`, either from the start or because a redirect to another origin removed the field.
  let lacksAuthorization: Bool
  private let detail: String
  private let subject: String

  /// The maximum number of body bytes that an error keeps.
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

  /// Creates an error from values that contain no secrets.
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

  /// Returns a copy of the error without the given header fields, which a redirect policy lists as credentials.
  func hiding(_ names: Set<String>) -> NetworkError {
    NetworkError(
      kind, request.withoutSecrets(names), detail, response?.withoutSecrets(names), body, underlying, subject,
      lacksAuthorization: lacksAuthorization)
  }

  /// The status code of the response, if its head was received.
  public var status: HTTPStatusCode? { response.map { HTTPStatusCode(rawValue: $0.statusCode) } }

  /// The code of the connection error that caused this error, if any.
  public var code: URLError.Code? { (underlying as? URLError)?.code }

  /// A sentence that describes the request, the failure, and the cause, without credentials or URL queries.
  public var description: String { "\(subject) \(explanation)" }

  private var explanation: String {
    switch kind {
    case .invalidRequest: "was not sent because \(detail)."
    case .transferFailed: "failed: \(underlyingText)"
    case .incomplete: "failed because \(detail)."
    case .fileFailed: "failed because \(detail)\(underlying.map { ": \($0.fileReason)" } ?? "")."
    case .tooLarge: "was stopped because the response body is larger than \(detail). Raise sizeLimit if needed."
    case .unacceptableStatus: "failed with status \(status.map { "\($0)" } ?? "?")."
    case .tooManyRedirects: "failed: the server redirected the request more than \(detail)."
    case .invalidRedirect:
      "failed: the server redirected the request to \"\(detail)\", which is not an HTTP or HTTPS URL."
    case .refusedRedirect: "was not redirected because \(detail)."
    case .undecodable: "failed because \(detail) could not be decoded from the response: \(underlyingText)"
    default: "failed because \(detail): \(underlyingText)"
    }
  }

  private var underlyingText: String {
    guard let error = underlying else { return "the server did not send an HTTP response." }
    guard let error = error as? URLError else { return "\(error)".quotable }
    let text = error.explanation ?? Self.names[error.code] ?? error.localizedDescription
    return "\(text.hasSuffix(".") ? String(text.dropLast()) : text) (URLError \(error.code.rawValue))."
  }

  private static let names: [URLError.Code: String] = [
    .timedOut: "a time limit was exceeded",
    .cannotConnectToHost: "a connection to the host could not be established",
    .cannotFindHost: "the host was not found", .networkConnectionLost: "the connection was lost",
    .dnsLookupFailed: "the host was not found", .notConnectedToInternet: "there is no network connection",
    .badServerResponse: "the server did not send an HTTP response",
    .serverCertificateUntrusted: "the host's certificate is not trusted",
    .secureConnectionFailed: "a secure connection could not be established",
    // URLSession on Linux uses this code for a response that is not HTTP. URLs whose scheme is not `http` or `https` have already been
    // refused.
    .unsupportedURL: "the server did not send an HTTP response",
  ]

  /// The same text as ``description``.
  public var errorDescription: String? { description }
}

extension URLError {
  private static let explanationKey = "ProcedureKitExplanation"

  /// Creates an error with a precise explanation of the failure. A ``NetworkError`` contains this explanation instead of the general text
  /// for the code.
  init(_ code: Code, explanation: String) {
    self.init(code, userInfo: [NSLocalizedDescriptionKey: explanation, Self.explanationKey: explanation])
  }

  /// The precise explanation of the failure, if the transport provided one.
  var explanation: String? { userInfo[Self.explanationKey] as? String }
}

extension Error {
  /// The reason a file could not be read or written. If the system reported the reason, this is the system's description of it, because
  /// Foundation's descriptions can lack the reason or contain two sentences.
  var fileReason: String {
    let cause = (self as? CocoaError)?.userInfo[NSUnderlyingErrorKey] as? any Error ?? self
    let error = cause as NSError
    guard error.domain == NSPOSIXErrorDomain else { return error.localizedDescription }
    return String(cString: strerror(Int32(error.code)))
  }
}
