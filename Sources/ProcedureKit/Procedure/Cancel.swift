/// Internal. The cancel that counts of several, and its reason, if one was given.
struct Cancel: Sendable {
  let reason: (any Error)?

  /// What is thrown where something ends because of it.
  var error: any Error { reason ?? CancellationError() }
}

extension Error {
  /// Whether it says that this run, or a part of it, has timed out.
  func isTimeout(of run: ProcedureID) -> Bool {
    guard let error = self as? ProcedureError else { return false }
    return error.kind == .timedOut && error.procedure.id == run
  }
}

extension Result {
  var isSuccess: Bool {
    if case .success = self { true } else { false }
  }

  /// The cancel that it is, if a part of this run has timed out and nothing was wrapped around that.
  func timeout(of run: @autoclosure () -> ProcedureID) -> Cancel? {
    guard case .failure(let error) = self, error.isTimeout(of: run()) else { return nil }
    return Cancel(reason: error)
  }
}

extension ProcedureContext {
  /// How something was cancelled that is executed in this context.
  ///
  /// - Parameters:
  ///   - result: What it has come to.
  ///   - wasCancelled: Whether the context was cancelled before it began: then a value that it comes to is one, as where a
  ///     cancelled body cleans up.
  /// - Returns: `nil` if it was not.
  func cancel<Output>(of result: Result<Output, any Error>, after wasCancelled: Bool) -> Cancel? {
    if self.wasCancelled, !(wasCancelled && result.isSuccess) { return Cancel(reason: cancellationReason) }
    return result.timeout(of: id)
  }
}
