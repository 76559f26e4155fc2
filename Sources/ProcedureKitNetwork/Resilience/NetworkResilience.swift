public import Foundation
public import ProcedureKit

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// The rules for repeating a request after a failure that may be temporary.
///
/// | what happens | what the procedure does |
/// |---|---|
/// | the connection fails or is lost, a body ends early, or ``attemptTimeout`` expires | makes another attempt, after a pause |
/// | the status is 408, 429, or from 500 to 599 | makes another attempt, after the pause in `Retry-After` or the next one in ``backoff`` |
/// | the response has any other status, for example 404 | returns the response, unless ``TransferSettings/acceptsStatus`` rejects the status |
/// | a certificate is not trusted, a body is too large, there are too many redirects, … | throws the error |
///
/// When ``maxAttempts`` attempts have failed, or when the server asks for a longer pause than ``longestRetryAfter``, the procedure throws
/// the last error. If the last attempt received a retryable status, that error is a ``NetworkError`` of kind
/// ``NetworkError/Kind-swift.struct/unacceptableStatus``.
///
/// If ``isRepeatable`` returns `false` for a request, the request is repeated only if the server cannot have acted on it: either no
/// connection was made, or the status is 408, 429 or 503.
public struct NetworkResilience: Sendable {
  /// The time limit for each attempt. If the duration is not positive, there is no limit.
  public var attemptTimeout: Duration = .seconds(8)
  /// The maximum number of attempts, including the first; at least 1.
  public var maxAttempts = 3
  /// The pauses before retries, unless the server asks for a different pause.
  public var backoff: Schedule = .exponential(from: .milliseconds(500)).capped(at: .seconds(30)).jittered()
  /// The longest pause that is accepted in `Retry-After`. If the server asks for a longer pause, there are no further attempts.
  public var longestRetryAfter: Duration = .seconds(60)
  /// A closure that returns whether a request can safely be sent twice. By default, it returns `true` for the idempotent methods of RFC
  /// 9110, and for requests that have an `Idempotency-Key` field.
  public var isRepeatable: @Sendable (URLRequest) -> Bool = { request in
    let method = (request.httpMethod ?? "GET").uppercased()
    return ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"].contains(method)
      || request.value(forHTTPHeaderField: "Idempotency-Key") != nil
  }
  /// A closure that returns the current date. It is used if `Retry-After` contains a date and the response has no `Date` field.
  public var now: @Sendable () -> Date = { Date() }

  /// Creates the default rules, which allow 3 attempts of up to 8 seconds each.
  public init() {}
}

extension NetworkResilience {
  /// The action to take after a failed attempt.
  enum Answer: Equatable {
    /// Make another attempt, after the next pause in ``backoff``.
    case `repeat`
    /// Make another attempt, after the pause that the server asks for.
    case repeatAfter(Duration)
    case giveUp
  }

  /// Returns whether another attempt may succeed after a response with the given status.
  static func isTransient(_ status: HTTPStatusCode) -> Bool {
    status == 408 || status == 429 || status.isServerError
  }

  /// Returns the action to take after an attempt throws an error.
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
    // If the server asks for no pause at all, `backoff` determines the pause, because a failing server should not be contacted again
    // immediately.
    return pause > .zero ? .repeatAfter(pause) : .repeat
  }

  /// The codes of errors that prevent a connection from being made.
  private static let unsentCodes: Set<URLError.Code> = [
    .cannotConnectToHost, .cannotFindHost, .dnsLookupFailed, .notConnectedToInternet,
  ]

  /// The codes of errors that would occur again in every later attempt.
  private static let lastingCodes: Set<URLError.Code> = [
    .serverCertificateHasBadDate, .serverCertificateUntrusted, .serverCertificateHasUnknownRoot,
    .serverCertificateNotYetValid, .clientCertificateRejected, .clientCertificateRequired, .badURL,
    .userAuthenticationRequired,
  ]
}
