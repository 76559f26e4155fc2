import Foundation
public import ProcedureKit

extension Procedure where Input: NetworkRequest {
  /// Returns the procedure with a time limit for each attempt, and with further attempts after failures that may be temporary.
  ///
  /// ```swift
  /// let load = NetworkDataProcedure("load").resilient()
  /// let careful = NetworkDataProcedure("load").resilient { attempt in
  ///   attempt.circuitBreaker(breaker).rateLimited(limiter)
  /// }
  /// ```
  ///
  /// The table in ``NetworkResilience`` shows which failures are repeated. A pause does not hold a slot, and cancellation ends a pause at
  /// once. A repeated download continues where the failed attempt stopped; see ``NetworkDownloadProcedure/resilient(_:budget:each:)``.
  ///
  /// - Parameters:
  ///   - resilience: The limits and the rules.
  ///   - budget: The limit on the retries of all callers of one service.
  ///   - modify: Returns an attempt with further modifiers outside its time limit, for example a circuit breaker, or a rate limiter, whose
  ///     waits do not count towards the limit. These modifiers see a status that is repeated as an error. The function is called when the
  ///     procedure starts.
  /// - Returns: The procedure with its retries.
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
