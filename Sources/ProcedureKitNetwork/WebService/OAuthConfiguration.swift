public import Foundation
import ProcedureKit

/// The configuration that determines how a ``WebServiceCapability`` obtains its tokens: with the client-credentials grant or with a refresh
/// token (OAuth 2.0, RFC 6749).
///
/// Neither the secret nor the refresh token appears in a description or a mirror.
public struct OAuthConfiguration: Sendable {
  /// The token endpoint, which must be an `https` URL or, for tests, an `http` URL on the local machine.
  public var tokenURL: URL
  /// The client identifier that the authorization server has assigned.
  public var clientID: String
  /// The client secret; `nil` for a public client, which can only use a refresh token.
  public var clientSecret: String?
  /// The refresh token that was issued when the user gave consent; `nil` for the client-credentials grant.
  ///
  /// The server may replace the refresh token whenever it is used; see ``onNewRefreshToken``.
  public var refreshToken: String?
  /// The scopes to request; empty for the server's default.
  public var scopes: [String] = []
  /// Whether the client's credentials are sent in the request body. Set this property to `true` for servers that do not support HTTP Basic
  /// authentication.
  public var sendsSecretInBody = false
  /// The remaining lifetime at which a token is no longer used, so that the next request renews it. A token that is valid for less than
  /// twice this duration is used for half of its lifetime.
  public var margin: Duration = .seconds(30)
  /// The rules for repeating a token request. A refresh is repeated only if the server cannot have acted on it, because a server that
  /// replaces refresh tokens accepts each token only once.
  public var resilience = NetworkResilience()
  /// The clock that measures the lifetimes of tokens, and the pauses and timeouts of token requests.
  public var clock: any Clock<Duration> = ContinuousClock()
  /// The transport that sends token requests.
  public var transport: any HTTPTransport = DefaultHTTPTransport.shared
  /// A closure that receives each new refresh token, so that you can store it. The closure is called before the new access token is used,
  /// and must return quickly.
  public var onNewRefreshToken: (@Sendable (String) -> Void)?

  /// Creates a configuration for the client-credentials grant.
  ///
  /// - Parameters:
  ///   - tokenURL: The token endpoint.
  ///   - clientID: The identifier of the client.
  ///   - clientSecret: The client secret.
  public init(tokenURL: URL, clientID: String, clientSecret: String) {
    self.tokenURL = tokenURL
    self.clientID = clientID
    self.clientSecret = clientSecret
  }

  /// Creates a configuration that uses a refresh token.
  ///
  /// - Parameters:
  ///   - tokenURL: The token endpoint.
  ///   - clientID: The identifier of the client.
  ///   - clientSecret: The client secret; `nil` for a public client.
  ///   - refreshToken: The refresh token.
  public init(tokenURL: URL, clientID: String, clientSecret: String? = nil, refreshToken: String) {
    self.tokenURL = tokenURL
    self.clientID = clientID
    self.clientSecret = clientSecret
    self.refreshToken = refreshToken
  }
}

extension OAuthConfiguration: CustomStringConvertible, CustomReflectable {
  /// The client and the host of the token endpoint.
  public var description: String { "client \(clientID) of \(tokenURL.host ?? "an unknown host")" }

  /// An empty mirror, because children would reveal the secrets.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
