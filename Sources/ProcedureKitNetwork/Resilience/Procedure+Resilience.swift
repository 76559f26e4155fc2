import Foundation
public import ProcedureKit

extension Procedure where Input: NetworkRequest {
  /// Returns a procedure that limits the duration of each attempt, and retries after failures that may be temporary.
  ///
  /// ```swift
  /// let load = NetworkDataProcedure("load").resilient()
  /// let careful = NetworkDataProcedure("load").resilient { attempt in
  ///   attempt.rateLimited(limiter).circuitBreaker(breaker)
  /// }
  /// ```
  ///
  /// The table in ``NetworkResilience`` shows which failures lead to another attempt. The procedure holds no slot during a pause, and
  /// cancelling it ends the pause immediately. A download continues where the failed attempt stopped; see
  /// ``NetworkDownloadProcedure/resilient(_:budget:each:)``.
  ///
  /// - Parameters:
  ///   - resilience: The time limits and the rules for retries.
  ///   - budget: The retry budget that all callers of a service share.
  ///   - modify: A closure that returns an attempt with additional modifiers, for example a circuit breaker or a rate limiter. Time that is
  ///     spent in these modifiers does not count towards the time limit of the attempt. A status that leads to another attempt reaches
  ///     these modifiers as an error. The closure is called when the procedure starts.
  /// - Returns: A procedure that retries the request.
  public func resilient<Payload>(
    _ resilience: NetworkResilience = NetworkResilience(), budget: RetryBudget? = nil,
    each modify: @escaping @Sendable (ProcedureTask<Input, Output>) -> ProcedureTask<Input, Output> = { $0 }
  ) -> ProcedureTask<Input, Output> where Output == HTTPPayloadResponse<Payload> {
    configured { input, procedure in
      let request = input.urlRequest
      let attempt = procedure.map { response in
        guard NetworkResilience.isTransient(response.status) else { return response }
        let body = (response.payload as? Data)?.prefix(NetworkError.bodyLimit) ?? Data()
        throw NetworkError(.unacceptableStatus, request, response: response.response, body: body)
          .hiding(response.credentialHeaders)
      }
      .timeout(resilience.attemptTimeout)
      return modify(attempt).retry(resilience.backoff, maxAttempts: resilience.maxAttempts, budget: budget) {
        error, _ in
        switch resilience.answer(to: error, of: request) {
        case .repeat: .retry
        case .repeatAfter(let pause): .retryAfter(pause)
        case .giveUp: .stop
        }
      }
    }
  }
}
