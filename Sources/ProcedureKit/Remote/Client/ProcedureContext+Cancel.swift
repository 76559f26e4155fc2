extension ProcedureContext {
  /// Throws the reason of a cancel, if the procedure was cancelled.
  func requireNotCancelled() throws {
    if isCancelled { throw cancellationReason ?? CancellationError() }
  }
}
