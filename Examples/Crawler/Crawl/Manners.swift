import Foundation
import ProcedureKit
import ProcedureKitNetwork
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The rules that the crawler follows for one host. They consist of a rate limit, a circuit breaker that stops requests to a failing host,
/// and the pauses that the host requests, up to ten minutes.
final class Manners: Sendable {
  typealias Download = ProcedureTask<URLRequest, HTTPPayloadResponse<URL>>

  private let limiter: RateLimiter
  private let breaker: CircuitBreaker
  private let clock: any Clock<Duration>
  /// The end of the pause that the host requested, measured from the creation of this object.
  private let pauseEnd = Mutex(Duration.zero)
  private let elapsed: @Sendable () -> Duration

  init(host: String, _ limits: Limits, clock: any Clock<Duration> = ContinuousClock()) {
    limiter = RateLimiter(limits.rate, per: .seconds(1), burst: limits.perHost, clock: clock)
    breaker = CircuitBreaker(
      host, failureRatio: 0.9, minimumCalls: 5, window: .seconds(60), cooldown: .seconds(30), clock: clock)
    self.clock = clock
    elapsed = Self.stopwatch(clock)
  }

  private static func stopwatch<C: Clock>(_ clock: C) -> @Sendable () -> Duration where C.Duration == Duration {
    let start = clock.now
    return { start.duration(to: clock.now) }
  }

  /// Returns an attempt that observes the host's pauses and rate limit, and reports the host's failures to the circuit breaker.
  func applied(to attempt: Download) -> Download {
    let call = attempt.map { Result<HTTPPayloadResponse<URL>, any Error>.success($0) }
      .recover { [self] error in
        notePause(of: error)
        // A page that is missing, has moved, or is too long is not a failure of the host, so the circuit breaker ignores it.
        if Self.isFailureOfHost(error) { throw error }
        return .failure(error)
      }
      .circuitBreaker(breaker)
      .map { try $0.get() }
    // While the page was waiting for the rate limiter and for a slot, the host may have asked for a pause in response to another page.
    let check = ProcedureTask("pause") { [self] (request: URLRequest) in
      if pauseRest > .zero { throw PauseBegan() }
      return request
    }
    let admitted = check.then(call)
      .rateLimited(limiter)
      .condition("the host has not requested a pause") { [self] in
        while pauseRest > .zero { try await clock.sleep(for: pauseRest) }
        return true
      }
    return ProcedureTask(attempt.name) { request in
      while true {
        do { return try await admitted(request) } catch is PauseBegan { continue }
      }
    }
  }

  /// An error that ends an attempt if the host requested a pause while the attempt was waiting. The download then has to wait again.
  private struct PauseBegan: Error {}

  /// The time until the pause ends. If there is no pause, the time is zero or negative.
  private var pauseRest: Duration { pauseEnd.withLock { $0 } - elapsed() }

  private func notePause(of error: any Error) {
    guard let pause = Self.pause(of: error) else { return }
    let end = elapsed() + pause
    pauseEnd.withLock { $0 = max($0, end) }
  }

  private static func pause(of error: any Error) -> Duration? {
    (error as? NetworkError)?.response.flatMap { pause(of: $0) }
  }

  /// Returns the pause that a response with status 429 or 503 requests in its `Retry-After` field.
  static func pause(of response: HTTPURLResponse) -> Duration? {
    guard response.statusCode == 429 || response.statusCode == 503 else { return nil }
    return response.retryAfter().map { min($0, longestPause) }
  }

  /// The longest pause that the crawler observes at a host's request. Without this limit, a host could keep the program waiting for a year.
  static let longestPause = Duration.seconds(600)

  private static func isFailureOfHost(_ error: any Error) -> Bool {
    if pause(of: error) != nil || error is Redirection { return false }
    guard let error = error as? NetworkError else { return true }
    switch error.kind {
    case .transferFailed, .incomplete: return true
    case .unacceptableStatus:
      guard let status = error.status else { return true }
      return !status.isClientError || [408, 425, 429].contains(status)
    default: return false
    }
  }
}

/// The ``Manners`` for each host. They are created on first use, because a redirect may lead to any host.
final class HostManners: Sendable {
  private let limits: Limits
  private let clock: any Clock<Duration>
  private let manners = Mutex<[String: Manners]>([:])

  init(_ limits: Limits, clock: any Clock<Duration>) {
    self.limits = limits
    self.clock = clock
  }

  subscript(host: String) -> Manners {
    manners.withLock { manners in
      if let known = manners[host] { return known }
      let new = Manners(host: host, limits, clock: clock)
      manners[host] = new
      return new
    }
  }
}

extension URL {
  /// The host and the port in a normalized form, which can be compared as RFC 3986 requires: `http://A.example.` and `http://a.example:80`
  /// are equal.
  var hostAndPort: String {
    let isDefault = effectivePort == (scheme?.lowercased() == "http" ? 80 : 443)
    return comparableHost + (isDefault ? "" : ":\(effectivePort)")
  }

  /// The address as it is shown to the user, without a user name or password.
  var shown: String {
    var parts = URLComponents(url: self, resolvingAgainstBaseURL: true)
    parts?.user = nil
    parts?.password = nil
    return parts?.string ?? hostAndPort
  }
}
