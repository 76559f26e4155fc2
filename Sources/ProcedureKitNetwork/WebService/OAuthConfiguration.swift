public import Foundation
import ProcedureKit

/// How a ``WebServiceCapability`` gets its tokens, and from where: the client-credentials grant and refreshing in OAuth 2.0 (RFC 6749).
///
/// Neither the secret nor the refresh token appears in a description or in a mirror.
public struct OAuthConfiguration: Sendable {
  /// The token endpoint: an `https` URL, or, for tests, an `http` URL on this machine.
  public var tokenURL: URL
  /// The identifier of the client.
  public var clientID: String
  /// The secret of the client; `nil` for a public client, which can only use a refresh token.
  public var clientSecret: String?
  /// The refresh token that was issued after a person gave consent; `nil` for the client-credentials grant.
  ///
  /// The server may replace the refresh token at each refresh; see ``onNewRefreshToken``.
  public var refreshToken: String?
  /// The scopes to ask for; empty for the server's default.
  public var scopes: [String] = []
  /// Whether the client's credentials are sent in the body of the request, for servers that do not support HTTP Basic authentication.
  public var sendsSecretInBody = false
  /// How long before its expiry a token is renewed.
  public var margin: Duration = .seconds(30)
  /// How a token request is repeated. A refresh is repeated only if the server has not acted on the request, because a server that replaces
  /// refresh tokens accepts each one only once.
  public var resilience = NetworkResilience()
  /// The clock for the lifetimes of tokens, and for the pauses and timeouts of token requests.
  public var clock: any Clock<Duration> = ContinuousClock()
  /// The transport that sends token requests.
  public var transport: any HTTPTransport = DefaultHTTPTransport.shared
  /// Called with each new refresh token before the access token is used, so that you can store the refresh token. The function must return
  /// quickly.
  public var onNewRefreshToken: (@Sendable (String) -> Void)?

  /// Creates a configuration for the client-credentials grant.
  ///
  /// - Parameters:
  ///   - tokenURL: The token endpoint.
  ///   - clientID: The identifier of the client.
  ///   - clientSecret: The secret of the client.
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
  ///   - clientSecret: The secret of the client; `nil` for a public client.
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

  /// Empty, because a mirror would show the secrets.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
