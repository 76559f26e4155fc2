/// Internal. A run in the task that called `run`.
///
/// Invariant: what can change is guarded by the lock of `core`, see ``SlotHolder``.
final class StructuredRun: Run, @unchecked Sendable {
  /// What wants to know when the run is cancelled otherwise than through its task.
  var cancellationHandlers: [ObjectIdentifier: @Sendable () -> Void] = [:]
}

extension ProcedureContext {
  /// Every structured run that this context is part of, innermost first.
  var structuredRuns: [StructuredRun] {
    sequence(first: self, next: \.scope.parent).compactMap { $0.scope as? StructuredRun }
  }
}

/// Internal. Calls `operation`, and `onCancel` as soon as the current task is cancelled or a run that it belongs to.
///
/// `onCancel` may be called more than once, and while `operation` is called.
nonisolated(nonsending) func withRunCancellationHandler<R>(
  in context: ProcedureContext?, key: AnyObject, operation: nonisolated(nonsending) () async throws -> R,
  onCancel: @escaping @Sendable () -> Void
) async rethrows -> R {
  let runs = context?.structuredRuns ?? []
  for run in runs { run.core.addCancellationHandler(to: run, key: key, onCancel) }
  defer { for run in runs { run.core.removeCancellationHandler(from: run, key: key) } }
  return try await withTaskCancellationHandler(operation: operation, onCancel: onCancel)
}
