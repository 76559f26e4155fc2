public import Foundation

/// The reason a token endpoint did not provide a token. Network failures are reported as ``NetworkError``.
public struct OAuthError: Error, Sendable, CustomStringConvertible, LocalizedError {
  /// The kind of an ``OAuthError``. Later versions may add kinds, so a `switch` needs a `default`.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    /// The name of the kind, for example `refused`.
    public let description: String

    /// The configuration is invalid, so nothing was sent.
    public static let invalidConfiguration = Kind(description: "invalidConfiguration")
    /// The server refused the request; see ``OAuthError/code``.
    public static let refused = Kind(description: "refused")
    /// The response does not conform to RFC 6749.
    public static let invalidResponse = Kind(description: "invalidResponse")
  }

  /// The kind of error.
  public let kind: Kind
  /// The name of the service.
  public let service: String
  /// The error code from the server, such as `invalid_client` or `invalid_grant`; see RFC 6749, section 5.2. If the server refuses the
  /// client with status 401 but sends no code, this is `invalid_client`.
  public let code: String?
  private let detail: String

  init(_ kind: Kind, _ service: String, code: String? = nil, _ detail: String) {
    self.kind = kind
    self.service = service
    self.code = code
    self.detail = detail
  }

  /// A sentence that states the service and the reason, without tokens or secrets.
  public var description: String {
    switch kind {
    case .invalidConfiguration: "no token can be requested from \(service) because \(detail)."
    case .refused: "\(service) refused to issue a token: \([code, detail].compactMap(\.self).joined(separator: ", "))."
    default: "\(service) responded to a token request with \(detail)."
    }
  }

  /// The same text as ``description``.
  public var errorDescription: String? { description }
}
