public import ProcedureKit

/// The permission to use a web service, by the tokens of OAuth 2.0 (RFC 6749, RFC 6750).
///
/// ```swift
/// let service = WebServiceCapability("kittens", OAuthConfiguration(tokenURL: url, clientID: "me", clientSecret: secret))
/// let load = NetworkDataProcedure("load").authorized(by: service).resilient()
/// ```
///
/// `authorized(by:)` adds the token to each request. `.condition(.authorized(for: service))` gets a token before the
/// procedure starts.
///
/// A token is requested when there is none, when its lifetime ends, or when the service answers with the status 401. All who
/// need the token in the meantime wait for the one request. All copies of a capability share the token. Tokens and secrets appear in
/// no description, mirror, event or log message; errors hold requests without credentials.
public struct WebServiceCapability: Capability {
  /// Whether a valid token is there.
  public enum Status: AuthorizationStatus, Hashable {
    /// A valid token is there.
    case authorized
    /// There is no token, or its lifetime has ended. The service may give another one.
    case unauthorized

    /// Whether a valid token is there.
    public func meets(_ requirement: Void) -> Bool { self == .authorized }
  }

  /// The name of the service in errors, conditions and logs.
  public let name: String
  let tokens: TokenStore

  /// Creates a capability without a token.
  ///
  /// - Parameters:
  ///   - name: The name of the service.
  ///   - configuration: Where and how tokens are requested.
  public init(_ name: String, _ configuration: OAuthConfiguration) {
    self.name = name
    tokens = TokenStore(name, configuration)
  }

  /// Returns `true`: whether the service can be reached is found by asking. See `Condition.reachable`.
  public func isAvailable() async -> Bool { true }

  /// Returns whether a valid token is there, without asking the service.
  public func authorizationStatus() async -> Status { tokens.validToken == nil ? .unauthorized : .authorized }

  /// Requests a token, unless a valid one is there. Cancelling the caller ends the wait at once.
  ///
  /// - Throws: ``OAuthError`` if the service refuses; ``NetworkError``; `CancellationError`.
  public func requestAuthorization(_ requirement: Void) async throws {
    _ = try await tokens.token()
  }
}

extension WebServiceCapability: CustomStringConvertible, CustomReflectable {
  /// The name.
  public var description: String { name }

  /// Nothing, since a mirror would show the token.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
