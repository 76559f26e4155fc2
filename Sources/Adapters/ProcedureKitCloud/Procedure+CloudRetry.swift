#if canImport(CloudKit)
  import CloudKit
  public import ProcedureKit

  extension Procedure {
    /// Returns the procedure with retries after temporary failures of CloudKit.
    ///
    /// These are a lost network, a busy zone or service, a rate limit, and an account that is temporarily unavailable. The delay is the time that
    /// the service requests, or otherwise the delay of the schedule. A ``PartialCloudFailure`` is not retried, since saved records must not be
    /// saved again.
    ///
    /// - Parameters:
    ///   - schedule: The delays if the service requests none.
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
