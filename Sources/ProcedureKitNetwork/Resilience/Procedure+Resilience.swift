import Foundation
public import ProcedureKit

extension Procedure where Input: NetworkRequest {
  /// Returns the procedure with a time limit for each attempt, and with further attempts after failures that may pass.
  ///
  /// ```swift
  /// let load = NetworkDataProcedure("load").resilient()
  /// ```
  ///
  /// The table of ``NetworkResilience`` says what is repeated. A pause holds no slot, and a cancel ends a pause at once. A download that
  /// is repeated goes on where the failed attempt has stopped; see ``NetworkDownloadProcedure/resilient(_:budget:)``.
  ///
  /// - Parameters:
  ///   - resilience: The limits and the rules.
  ///   - budget: The limit for the retries of all callers of one service.
  /// - Returns: The procedure with its retries.
  public func resilient<Payload>(
    _ resilience: NetworkResilience = NetworkResilience(), budget: RetryBudget? = nil
  ) -> ProcedureTask<Input, Output> where Output == HTTPPayloadResponse<Payload> {
    configured { input, procedure in
      let request = input.urlRequest
      return procedure.map { response in
        guard NetworkResilience.isTransient(response.status) else { return response }
        let body = (response.payload as? Data)?.prefix(NetworkError.bodyLimit) ?? Data()
        throw NetworkError(.unacceptableStatus, request, response: response.response, body: body)
      }
      .timeout(resilience.attemptTimeout)
      .retry(resilience.backoff, maxAttempts: resilience.maxAttempts, budget: budget) { error, _ in
        switch resilience.answer(to: error, of: request) {
        case .repeat: .retry
        case .repeatAfter(let pause): .retryAfter(pause)
        case .giveUp: .stop
        }
      }
    }
  }
}
