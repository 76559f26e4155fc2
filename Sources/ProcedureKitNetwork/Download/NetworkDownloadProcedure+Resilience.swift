public import ProcedureKit

#if canImport(FoundationNetworking)
  public import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

extension NetworkDownloadProcedure {
  /// Returns the procedure with a time limit for each attempt, and with further attempts after failures that may be temporary.
  ///
  /// An attempt continues where the previous one stopped, if the server identifies the version of the file by a strong `ETag` or by
  /// `Last-Modified`, and supports range requests (`Range`, `If-Range`). If the file has changed in the meantime, the download starts from
  /// the beginning. The unfinished file is removed when the last attempt fails, or when the procedure is cancelled. A large download can
  /// therefore complete over several attempts, each of which gets further.
  ///
  /// - Parameters:
  ///   - resilience: The limits and the rules.
  ///   - budget: The limit on the retries of all callers of one service.
  ///   - modify: Returns an attempt with further modifiers; see `resilient(_:budget:each:)` for other procedures.
  /// - Returns: The procedure with its retries.
  public func resilient(
    _ resilience: NetworkResilience = NetworkResilience(), budget: RetryBudget? = nil,
    each modify:
      @escaping @Sendable (ProcedureTask<URLRequest, HTTPPayloadResponse<URL>>) -> ProcedureTask<
        URLRequest, HTTPPayloadResponse<URL>
      > = { $0 }
  ) -> ProcedureTask<URLRequest, HTTPPayloadResponse<URL>> {
    procedureTask.configured { request, _ in
      // There is one file for all attempts of this start. The hook is called before the procedure ends, whatever its outcome.
      let file = PartialFile(for: destination(request), limit: settings.sizeLimit)
      let attempt = ProcedureTask(name) { (request: URLRequest) in try await self.attempt(request, to: file) }
      return attempt.resilient(resilience, budget: budget, each: modify).onWillFinish { _ in file.remove() }
    }
  }
}
