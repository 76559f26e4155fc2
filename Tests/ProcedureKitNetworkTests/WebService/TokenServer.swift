import Foundation
import LoopbackServer
import ProcedureKitNetwork
import Synchronization
import TestingProcedureKit

/// A service whose resources need a token, and its token endpoint.
final class TokenServer: Sendable {
  private struct State {
    var tokens = 0
    var acceptedTokens: Set<String> = []
  }

  private let state = SharedState()
  let server: LoopbackServer

  private final class SharedState: Sendable {
    let value = Mutex(State())
  }

  /// Starts the service with the `expires_in` of its tokens. The token endpoint responds when the gate is open, or sends the response of
  /// `endpoint`.
  init(
    lifetime: Int? = 3_600, rotates: Bool = false, gate: ServerGate? = nil,
    endpoint: (@Sendable (ServerRequest) -> ServerResponse?)? = nil
  ) throws {
    server = try LoopbackServer { [state] request in
      if request.path == "/token" {
        if let response = endpoint?(request) { return response }
        let number = state.value.withLock { state in
          state.tokens += 1
          state.acceptedTokens.insert("Bearer secret-token-\(state.tokens)")
          return state.tokens
        }
        var fields = [#""access_token":"secret-token-\#(number)""#, #""token_type":"bearer""#]
        if let lifetime { fields.append(#""expires_in":\#(lifetime)"#) }
        if rotates { fields.append(#""refresh_token":"secret-refresh-\#(number)""#) }
        let response = ServerResponse.ok("{\(fields.joined(separator: ","))}")
        return gate.map { response.gated($0) } ?? response
      }
      let token = request.headers["Authorization"] ?? ""
      return state.value.withLock { $0.acceptedTokens.contains(token) }
        ? .ok("a kitten") : .status(401, body: Data("no token".utf8))
    }
  }

  /// Invalidates all tokens of the service.
  func revoke() { state.value.withLock { $0.acceptedTokens = [] } }

  /// The forms that were sent to the token endpoint.
  var forms: [String] { server.requests(to: "/token").map { String(decoding: $0.body, as: UTF8.self) } }

  /// Returns the tokens that were sent for a resource.
  func tokens(_ path: String = "/kitten") -> [String?] { server.requests(to: path).map { $0.headers["Authorization"] } }

  var configuration: OAuthConfiguration {
    standing(
      OAuthConfiguration(tokenURL: server.url("/token"), clientID: "me: & you", clientSecret: "secret-of client"))
  }

  func refreshing() -> OAuthConfiguration {
    standing(OAuthConfiguration(tokenURL: server.url("/token"), clientID: "me", refreshToken: "secret-refresh-0"))
  }

  /// Returns the configuration with a clock that does not move, because on a busy machine, a request could take longer than an attempt may.
  private func standing(_ configuration: OAuthConfiguration) -> OAuthConfiguration {
    var configuration = configuration
    configuration.clock = VirtualClock()
    return configuration
  }
}
