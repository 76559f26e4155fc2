/// Internal. What stands behind a ``ProcedureContext``: the engine's runs and workers, which know what executes.
///
/// Invariant: subclasses say which lock guards what they store; this class stores only a constant.
class ProcedureScope: @unchecked Sendable {
  /// Where it was started from: the context of the body that runs or awaits it.
  let parent: ProcedureContext?

  init(parent: ProcedureContext?) {
    self.parent = parent
  }

  /// Which run it is; `part` tells the nodes of a graph apart that one worker executes.
  func identity(of part: Int32) -> ProcedureIdentity {
    preconditionFailure("\(type(of: self)) has to say what it executes")
  }

  /// Whether it was cancelled otherwise than through the task that executes it.
  var isCancelled: Bool { false }

  /// The reason of a cancel, if there was one and it had one.
  var cancellationReason: (any Error)? { nil }

  /// Cancels it, or what it is part of where it is a worker.
  func cancel(_ reason: (any Error)?) { parent?.cancel(reason) }

  /// Lends the slot, if it holds one, until `regainSlot`: the body is about to wait for something that holds none.
  func lendSlot() {}

  /// Where it claims what it excludes others from.
  var resourceTable: ResourceTable { parent?.scope.resourceTable ?? .shared }

  /// Its number, if it is a run that others can wait for.
  var awaitableRun: UInt64? { nil }

  /// Calls `handler` when it is cancelled otherwise than through the task that executes it; at once if it was before.
  func addCancellationHandler(key: AnyObject, _ handler: @escaping @Sendable () -> Void) {}

  func removeCancellationHandler(key: AnyObject) {}

  /// Ends a loan, and waits until there is a slot again. Cancelling the caller does not shorten the wait.
  func regainSlot() async {}
}
