#if canImport(CloudKit)
  import CloudKit
  public import ProcedureKit

  extension Procedure {
    /// Returns the procedure with retries after temporary CloudKit failures.
    ///
    /// These are a lost network connection, a busy zone or service, rate limiting, and a temporarily unavailable account. The delay is the
    /// one that the service requests, or otherwise the delay from the schedule. A ``PartialCloudFailure`` is not retried, because records
    /// that have been saved must not be saved again.
    ///
    /// - Parameters:
    ///   - schedule: The delays that are used if the service does not request one.
    ///   - maxAttempts: The largest number of attempts, including the first.
    /// - Returns: The procedure with its retries.
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
