public import ProcedureKit

#if canImport(FoundationNetworking)
  public import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

extension NetworkDownloadProcedure {
  /// Returns a procedure that limits the duration of each attempt, and retries after failures that may be temporary.
  ///
  /// If possible, an attempt continues where the previous one stopped, so a large download can complete over several attempts. This
  /// requires a server that supports range requests (`Range`, `If-Range`) and identifies the version of the file with a strong `ETag` or
  /// `Last-Modified`. If the file has changed since the previous attempt, the download starts from the beginning. The unfinished file is
  /// removed when the last attempt fails, or when the procedure is cancelled.
  ///
  /// - Parameters:
  ///   - resilience: The time limits and the rules for retries.
  ///   - budget: The retry budget that all callers of a service share.
  ///   - modify: A closure that returns an attempt with additional modifiers. For details, see the modifier `resilient(_:budget:each:)`
  ///     of other network procedures.
  /// - Returns: A procedure that retries the download.
  public func resilient(
    _ resilience: NetworkResilience = NetworkResilience(), budget: RetryBudget? = nil,
    each modify:
      @escaping @Sendable (ProcedureTask<URLRequest, HTTPPayloadResponse<URL>>) -> ProcedureTask<
        URLRequest, HTTPPayloadResponse<URL>
      > = { $0 }
  ) -> ProcedureTask<URLRequest, HTTPPayloadResponse<URL>> {
    procedureTask.configured { request, _ in
      // All attempts of one run share a file. The hook is called before the procedure ends, regardless of the outcome.
      let file = PartialFile(for: destination(request), limit: settings.sizeLimit)
      let attempt = ProcedureTask(name) { (request: URLRequest) in try await self.attempt(request, to: file) }
      return attempt.resilient(resilience, budget: budget, each: modify).onWillFinish { _ in file.remove() }
    }
  }
}
