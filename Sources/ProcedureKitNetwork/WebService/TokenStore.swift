import Foundation
import ProcedureKit
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The store that holds and renews the token of a ``WebServiceCapability``. At most one renewal is in progress at a time, and all callers
/// wait for it.
final class TokenStore: Sendable {
  private struct State {
    var token: BearerToken?
    /// The time at which the token must be renewed, measured from the creation of the store; `nil` if the token never has to be renewed.
    var end: Duration?
    var refreshToken: String?
    /// The number of tokens that have been issued so far. Runs that request a renewal with the same number share one execution.
    var renewals = 0
  }

  /// The key of a renewal. Runs with the same key share one execution. The key retains the store, so no other store can get the same
  /// identity while the key exists.
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
    // A separate queue is used because runs that share an execution must use the same resource table, regardless of the callers' queues.
    var queueConfiguration = ProcedureQueue.Configuration("tokens for \(service)")
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

  /// Returns the token, renewing it if necessary. If the caller is cancelled, the wait ends immediately.
  ///
  /// - Throws: ``OAuthError`` if the service does not issue a token; ``NetworkError`` if the token request fails; `CancellationError` if
  ///   the caller is cancelled.
  func token() async throws -> BearerToken {
    while true {
      if let token = validToken { return token }
      if let token = try await renewal(after: state.withLock { $0.renewals }) { return token }
    }
  }

  /// Renews the token, once for all callers that pass the same `number`. Returns `nil` if the token has been renewed since the caller
  /// checked it.
  private func renewal(after number: Int) async throws -> BearerToken? {
    let renewal = ProcedureTask("token for \(service)") { [self] () -> BearerToken? in
      // Another renewal may have ended since the caller checked the token, before or after the caller read the number.
      guard validToken == nil, state.withLock({ $0.renewals == number }) else { return nil }
      return try await renew()
    }
    .coalesced(by: Renewal(store: self, number: number))
    // The token request does not count towards the progress of the procedures that are waiting for it.
    .progressWeight(0)
    // If the caller is cancelled, the next waiting caller takes over a client-credentials request. A refresh always runs to completion,
    // because the server may already have replaced the refresh token.
    if state.withLock({ $0.refreshToken == nil }) { return try await queue.run(renewal) }
    return try await queue.add(renewal).value
  }

  /// Discards a token that the service no longer accepts.
  func reject(_ token: BearerToken) {
    state.withLock { state in
      if state.token == token { state.token = nil }
    }
  }

  private func renew() async throws -> BearerToken {
    try check()
    let refreshToken = state.withLock { $0.refreshToken }
    var load = NetworkDataProcedure("token request for \(service)")
    load.settings.sizeLimit = 1 << 20
    load.settings.redirects = .never
    load.settings.transport = configuration.transport
    load.settings.reportsProgress = false
    var resilience = configuration.resilience
    // The client-credentials grant has no effect other than issuing a token.
    resilience.isRepeatable = { _ in refreshToken == nil }
    let start = elapsed()
    let request = TokenRequest(configuration: configuration, refreshToken: refreshToken)
    // The error page of a failing server may repeat the request with its secrets, so the page must not become part of an error.
    let attempt = load.map { NetworkResilience.isTransient($0.status) ? $0.map { _ in Data() } : $0 }
    let response = try TokenResponse(
      try await attempt.resilient(resilience)(request.urlRequest), to: request, service: service)
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
        "\(URLRequest(url: url).address) is not an https address, so secrets would be sent unencrypted")
    }
  }
}
