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
func withRunCancellationHandler<R: Sendable>(
  in context: ProcedureContext?, key: AnyObject, operation: () async -> R, onCancel: @escaping @Sendable () -> Void
) async -> R {
  let runs = context?.structuredRuns ?? []
  for run in runs { run.core.addCancellationHandler(to: run, key: key, onCancel) }
  let result = await withTaskCancellationHandler(operation: operation, onCancel: onCancel)
  for run in runs { run.core.removeCancellationHandler(from: run, key: key) }
  return result
}
