#if canImport(CloudKit)
  import CloudKit
  public import ProcedureKit

  extension Procedure {
    /// Returns a procedure that is retried after temporary CloudKit failures.
    ///
    /// Temporary failures are a lost network connection, a busy or unavailable zone or service, rate limiting, a temporarily unavailable
    /// account, and any other failure for which the service requests a delay. Before a retry, the procedure waits for the delay that the
    /// service requests. If the service requests none, the schedule determines the delay. A ``PartialCloudFailure`` is not retried, because
    /// a retry would save the successful records again.
    ///
    /// - Parameters:
    ///   - schedule: The delays to use when the service does not request a delay.
    ///   - maxAttempts: The maximum number of attempts, including the first.
    /// - Returns: A procedure that is retried.
    public func cloudRetry(
      _ schedule: Schedule = .exponential(from: .seconds(1)).capped(at: .seconds(60)).jittered(), maxAttempts: Int = 5
    ) -> ProcedureTask<Input, Output> {
      retry(schedule, maxAttempts: maxAttempts) { error, _ in
        guard let error = error as? CKError else { return .stop }
        if let seconds = error.retryAfterSeconds { return .retryAfter(.seconds(seconds)) }
        switch error.code {
        case .networkFailure, .networkUnavailable, .serviceUnavailable, .requestRateLimited, .zoneBusy,
          .accountTemporarilyUnavailable:
          return .retry
        default: return .stop
        }
      }
    }
  }
#endif
