public import ProcedureKit

/// A capability that represents permission to use a web service, in the form of an OAuth 2.0 token (RFC 6749, RFC 6750).
///
/// ```swift
/// let service = WebServiceCapability("kittens", OAuthConfiguration(tokenURL: url, clientID: "me", clientSecret: secret))
/// let load = NetworkDataProcedure("load").authorized(by: service).resilient()
/// ```
///
/// The modifier `authorized(by:)` adds the token to each request. With `.condition(.authorized(for: service))`, a token is obtained before
/// the procedure starts.
///
/// A token is requested if there is none yet, if the current token is about to expire, or if the service responds with status 401. All
/// callers that need a token while it is being requested wait for the same request. All copies of a capability share the token. Tokens and
/// secrets never appear in descriptions, mirrors, events or log messages, and the requests in errors contain no credentials.
public struct WebServiceCapability: Capability {
  /// Whether there is a valid token.
  @frozen
  public enum Status: AuthorizationStatus, Hashable {
    /// There is a valid token.
    case authorized
    /// There is no token, or the token has expired. The service may issue a new one.
    case unauthorized

    /// Returns whether there is a valid token.
    public func meets(_ requirement: Void) -> Bool { self == .authorized }
  }

  /// The name of the service in errors, conditions and logs.
  public let name: String
  let tokens: TokenStore

  /// Creates a capability without a token.
  ///
  /// - Parameters:
  ///   - name: The name of the service.
  ///   - configuration: The configuration that specifies where and how tokens are requested.
  public init(_ name: String, _ configuration: OAuthConfiguration) {
    self.name = name
    tokens = TokenStore(name, configuration)
  }

  /// Returns `true`, because only a request can show whether the service is reachable. See `Condition.reachable`.
  public func isAvailable() async -> Bool { true }

  /// Returns whether there is a valid token, without contacting the service.
  public func authorizationStatus() async -> Status { tokens.validToken == nil ? .unauthorized : .authorized }

  /// Requests a token unless there is a valid one. If the caller is cancelled, the wait ends immediately.
  ///
  /// - Throws: ``OAuthError`` if the service does not issue a token; ``NetworkError`` if the token request fails; `CancellationError` if
  ///   the caller is cancelled.
  public func requestAuthorization(_ requirement: Void) async throws {
    _ = try await tokens.token()
  }
}

extension WebServiceCapability: CustomStringConvertible, CustomReflectable {
  /// The name of the service.
  public var description: String { name }

  /// An empty mirror, because children would reveal the token.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
