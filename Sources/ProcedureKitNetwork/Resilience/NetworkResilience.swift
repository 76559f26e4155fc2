public import Foundation
public import ProcedureKit

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// The rules for repeating a request after a failure that may be temporary.
///
/// | what happens | what follows |
/// |---|---|
/// | no connection or a lost connection, a body that ends early, or no result within ``attemptTimeout`` | another attempt, after a pause |
/// | the status 408, 429, or 500 … 599 | another attempt, after `Retry-After` or a pause |
/// | another status, for example 404 | the response is the result |
/// | an untrusted certificate, a body that is too long, too many redirects, … | the error is thrown |
///
/// The last error is thrown when ``maxAttempts`` attempts have failed, or when the server asks for a longer pause than
/// ``longestRetryAfter``. If the failure is a status, the error is a ``NetworkError`` of the kind
/// ``NetworkError/Kind-swift.struct/unacceptableStatus``.
///
/// A request that ``isRepeatable`` does not allow is repeated only if the server has not acted on it: no connection was made, or the status
/// is 408, 429 or 503.
public struct NetworkResilience: Sendable {
  /// How long one attempt may take; a duration that is not positive means no limit.
  public var attemptTimeout: Duration = .seconds(8)
  /// The largest number of attempts, including the first; at least 1.
  public var maxAttempts = 3
  /// The pauses before further attempts, unless the server asks for a different pause.
  public var backoff: Schedule = .exponential(from: .milliseconds(500)).capped(at: .seconds(30)).jittered()
  /// The longest pause that a server may ask for with `Retry-After`. If the server asks for a longer one, there are no further attempts.
  public var longestRetryAfter: Duration = .seconds(60)
  /// Returns whether a request may be carried out twice. By default, this is allowed for the idempotent methods of RFC 9110, and for
  /// requests with an `Idempotency-Key`.
  public var isRepeatable: @Sendable (URLRequest) -> Bool = { request in
    let method = (request.httpMethod ?? "GET").uppercased()
    return ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"].contains(method)
      || request.value(forHTTPHeaderField: "Idempotency-Key") != nil
  }
  /// Returns the current date, which is used for a `Retry-After` that is a date if the response has no `Date`.
  public var now: @Sendable () -> Date = { Date() }

  /// Creates the rules in the table, with 3 attempts of up to 8 seconds each.
  public init() {}
}

extension NetworkResilience {
  /// Internal. What follows a failed attempt.
  enum Answer: Equatable {
    /// Another attempt, after the next pause of ``backoff``.
    case `repeat`
    /// Another attempt, after the pause that the server asks for.
    case repeatAfter(Duration)
    case giveUp
  }

  /// Internal. Whether another attempt may succeed after this status.
  static func isTransient(_ status: HTTPStatusCode) -> Bool {
    status == 408 || status == 429 || status.isServerError
  }

  /// Internal. Decides what follows the error of an attempt.
  func answer(to error: any Error, of request: URLRequest) -> Answer {
    if (error as? ProcedureError)?.kind == .timedOut { return isRepeatable(request) ? .repeat : .giveUp }
    guard let error = error as? NetworkError else { return .giveUp }
    switch error.kind {
    case .unacceptableStatus:
      guard let response = error.response, let status = error.status, Self.isTransient(status) else { return .giveUp }
      guard [408, 429, 503].contains(status) || isRepeatable(request) else { return .giveUp }
      return answer(to: response)
    case .incomplete: return isRepeatable(request) ? .repeat : .giveUp
    case .transferFailed:
      if let code = error.code, Self.lastingCodes.contains(code) { return .giveUp }
      let isUnsent = error.code.map { Self.unsentCodes.contains($0) } ?? false
      return isUnsent || isRepeatable(request) ? .repeat : .giveUp
    default: return .giveUp
    }
  }

  private func answer(to response: HTTPURLResponse) -> Answer {
    guard let pause = RetryAfter.pause(of: response, now: now) else { return .repeat }
    if pause > longestRetryAfter { return .giveUp }
    // A request to repeat at once is left to the back-off, because a failing server should not be asked again without a pause.
    return pause > .zero ? .repeatAfter(pause) : .repeat
  }

  /// No connection was made.
  private static let unsentCodes: Set<URLError.Code> = [
    .cannotConnectToHost, .cannotFindHost, .dnsLookupFailed, .notConnectedToInternet,
  ]

  /// Another attempt would fail in the same way.
  private static let lastingCodes: Set<URLError.Code> = [
    .serverCertificateHasBadDate, .serverCertificateUntrusted, .serverCertificateHasUnknownRoot,
    .serverCertificateNotYetValid, .clientCertificateRejected, .clientCertificateRequired, .badURL,
    .userAuthenticationRequired,
  ]
}
