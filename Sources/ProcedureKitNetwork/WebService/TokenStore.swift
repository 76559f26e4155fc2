import Foundation
import ProcedureKit
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The token of a ``WebServiceCapability`` and its renewal. There is one renewal at a time, which all callers wait for.
final class TokenStore: Sendable {
  private struct State {
    var token: BearerToken?
    /// The time at which the token must be renewed, counted from the creation of the store; `nil` for never.
    var end: Duration?
    var refreshToken: String?
    /// How many tokens there have been so far. The number is the key that the runs of one renewal share.
    var renewals = 0
  }

  /// Runs with the same key share one execution. The key retains the store, so that no other store can have the same identity.
  private struct Renewal: Hashable {
    let store: TokenStore
    let number: Int

    static func == (left: Renewal, right: Renewal) -> Bool {
      left.store === right.store && left.number == right.number
    }

    func hash(into hasher: inout Hasher) {
      hasher.combine(ObjectIdentifier(store))
      hasher.combine(number)
    }
  }

  let service: String
  let configuration: OAuthConfiguration
  private let queue: ProcedureQueue
  private let elapsed: @Sendable () -> Duration
  private let state: Mutex<State>

  init(_ service: String, _ configuration: OAuthConfiguration) {
    self.service = service
    self.configuration = configuration
    elapsed = Self.stopwatch(configuration.clock)
    state = Mutex(State(refreshToken: configuration.refreshToken))
    // A separate queue is used because runs that share an execution must use the same resource table, whichever queue the caller runs in.
    var queueConfiguration = ProcedureQueue.Configuration("tokens of \(service)")
    queueConfiguration.clock = configuration.clock
    queueConfiguration.onUnobservedFailure = { _ in }
    queue = ProcedureQueue(queueConfiguration)
  }

  private static func stopwatch<C: Clock>(_ clock: C) -> @Sendable () -> Duration where C.Duration == Duration {
    let start = clock.now
    return { start.duration(to: clock.now) }
  }

  /// The token, if it is currently valid.
  var validToken: BearerToken? {
    let now = elapsed()
    return state.withLock { state in
      guard let token = state.token, state.end.map({ now < $0 }) ?? true else { return nil }
      return token
    }
  }

  /// Returns the token, renewing it if necessary. Cancelling the caller ends the wait at once.
  ///
  /// - Throws: ``OAuthError``; ``NetworkError``; `CancellationError`.
  func token() async throws -> BearerToken {
    while true {
      if let token = validToken { return token }
      if let token = try await renewal(after: state.withLock { $0.renewals }) { return token }
    }
  }

  /// Shares a renewal with all callers that need the same one. Returns `nil` if another renewal has ended in the meantime.
  private func renewal(after number: Int) async throws -> BearerToken? {
    let renewal = ProcedureTask("token of \(service)") { [self] () -> BearerToken? in
      // A renewal may have ended after the caller checked the token and before it read the number, or since then.
      guard validToken == nil, state.withLock({ $0.renewals == number }) else { return nil }
      return try await renew()
    }
    .coalesced(by: Renewal(store: self, number: number))
    // The token request does not count towards the progress of the work that waits for it.
    .progressWeight(0)
    // If the caller is cancelled, a request for client credentials passes to the next waiting caller. A refresh always runs to completion,
    // because the server may already have replaced the refresh token.
    if state.withLock({ $0.refreshToken == nil }) { return try await queue.run(renewal) }
    return try await queue.add(renewal).value
  }

  /// Reports that the service no longer accepts the token.
  func reject(_ token: BearerToken) {
    state.withLock { state in
      if state.token == token { state.token = nil }
    }
  }

  private func renew() async throws -> BearerToken {
    try check()
    let refreshToken = state.withLock { $0.refreshToken }
    var load = NetworkDataProcedure("token request of \(service)")
    load.settings.sizeLimit = 1 << 20
    load.settings.redirects = .never
    load.settings.transport = configuration.transport
    load.settings.reportsProgress = false
    var resilience = configuration.resilience
    // The client-credentials grant has no effect other than issuing a token.
    resilience.isRepeatable = { _ in refreshToken == nil }
    let start = elapsed()
    let request = TokenRequest(configuration: configuration, refreshToken: refreshToken).urlRequest
    let response = try TokenResponse(try await load.resilient(resilience)(request), service: service)
    // Some servers send an empty string if there is no new refresh token.
    if let token = response.refreshToken, !token.isEmpty, refreshToken != nil, token != refreshToken {
      state.withLock { $0.refreshToken = token }
      configuration.onNewRefreshToken?(token)
    }
    state.withLock { state in
      state.token = response.token
      state.end = response.lifetime.map {
        start.addingSaturated(max($0.subtractingSaturated(configuration.margin), $0 / 2))
      }
      state.renewals += 1
    }
    return response.token
  }

  private func check() throws(OAuthError) {
    let (url, isLocal) = (configuration.tokenURL, ["127.0.0.1", "localhost", "::1", "[::1]"])
    guard url.isHTTP, url.scheme?.lowercased() == "https" || isLocal.contains(url.host ?? "") else {
      throw OAuthError(
        .invalidConfiguration, service,
        "\(URLRequest(url: url).address) is no https address, and would reveal the secrets")
    }
  }
}
