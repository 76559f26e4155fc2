public import ProcedureKit

#if canImport(FoundationNetworking)
  public import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

extension NetworkDownloadProcedure {
  /// Returns the procedure with a time limit for each attempt, and with further attempts after failures that may pass.
  ///
  /// An attempt continues where the previous one has stopped, if the server identifies the version of the file by a strong
  /// `ETag` or `Last-Modified` and serves parts (`Range`, `If-Range`). If the file has changed in the meantime, the download starts from the
  /// beginning. The unfinished file is removed when the last attempt has failed, and when the procedure is cancelled. So a large download
  /// may need more attempts, each of which gets further.
  ///
  /// - Parameters:
  ///   - resilience: The limits and the rules.
  ///   - budget: The limit for the retries of all callers of one service.
  ///   - modify: Returns an attempt with further modifiers; see `resilient(_:budget:each:)` of other procedures.
  /// - Returns: The procedure with its retries.
  public func resilient(
    _ resilience: NetworkResilience = NetworkResilience(), budget: RetryBudget? = nil,
    each modify:
      @escaping @Sendable (ProcedureTask<URLRequest, HTTPPayloadResponse<URL>>) -> ProcedureTask<
        URLRequest, HTTPPayloadResponse<URL>
      > = { $0 }
  ) -> ProcedureTask<URLRequest, HTTPPayloadResponse<URL>> {
    procedureTask.configured { request, _ in
      // One file for all attempts of this start; the hook is called before the procedure ends, with every outcome.
      let file = PartialFile(for: destination(request), limit: settings.sizeLimit)
      let attempt = ProcedureTask(name) { (request: URLRequest) in try await self.attempt(request, to: file) }
      return attempt.resilient(resilience, budget: budget, each: modify).onWillFinish { _ in file.remove() }
    }
  }
}
