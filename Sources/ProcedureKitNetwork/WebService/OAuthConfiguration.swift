public import Foundation
import ProcedureKit

/// Where and how a ``WebServiceCapability`` gets its tokens: the client-credentials grant and the refresh of OAuth 2.0 (RFC 6749).
///
/// Neither the secret nor the refresh token appears in a description or in a mirror.
public struct OAuthConfiguration: Sendable {
  /// The token endpoint: an `https` address, or, for tests, an `http` address of this machine.
  public var tokenURL: URL
  /// The identifier of the client.
  public var clientID: String
  /// The secret of the client; `nil` for a public client, which can only refresh.
  public var clientSecret: String?
  /// The refresh token that a person's consent has led to; `nil` for the client-credentials grant.
  ///
  /// The server may replace the refresh token with each refresh; see ``onNewRefreshToken``.
  public var refreshToken: String?
  /// The scopes to ask for; empty for the server's default.
  public var scopes: [String] = []
  /// Whether the credentials of the client go into the body of the request, for servers that know no HTTP Basic authentication.
  public var sendsSecretInBody = false
  /// How long before its end a token is renewed.
  public var margin: Duration = .seconds(30)
  /// How a token request is repeated. A refresh is repeated only if the server has not acted on the request, since a server that
  /// replaces refresh tokens takes the previous one once.
  public var resilience = NetworkResilience()
  /// The clock of the tokens' lifetimes, and of the pauses and timeouts of token requests.
  public var clock: any Clock<Duration> = ContinuousClock()
  /// The means to send token requests.
  public var transport: any HTTPTransport = DefaultHTTPTransport.shared
  /// Called with each new refresh token, before the access token is used, so that the program can store the refresh token. The
  /// function must return soon.
  public var onNewRefreshToken: (@Sendable (String) -> Void)?

  /// Creates a configuration of the client-credentials grant.
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

  /// Creates a configuration that refreshes.
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

  /// Nothing, since a mirror would show the secrets.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
