/// Internal. Calls `operation`, and `onCancel` as soon as the current task is cancelled or a run that it belongs to.
///
/// `onCancel` may be called more than once, and while `operation` is called.
nonisolated(nonsending) func withRunCancellationHandler<R>(
  in context: ProcedureContext?, key: AnyObject, operation: nonisolated(nonsending) () async throws -> R,
  onCancel: @escaping @Sendable () -> Void
) async rethrows -> R {
  forEachScope(around: context) { $0.addCancellationHandler(key: key, onCancel) }
  defer { forEachScope(around: context) { $0.removeCancellationHandler(key: key) } }
  return try await withTaskCancellationHandler(operation: operation, onCancel: onCancel)
}

/// Innermost first, up to the first that has a task of its own: a cancel of what is around that reaches it through its task.
private func forEachScope(around context: ProcedureContext?, _ body: (ProcedureScope) -> Void) {
  var next = context
  while let scope = next?.scope {
    body(scope)
    if scope.isCancelledByTask { return }
    next = scope.parent
  }
}
