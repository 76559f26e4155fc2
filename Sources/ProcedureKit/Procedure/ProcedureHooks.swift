/// The functions that a queue calls for every procedure, and awaits. A slow hook delays the procedure; see
/// ``ProcedureQueue/Configuration/hooks``.
///
/// The hooks of a queue enclose the hooks of the procedures: the queue's `onWillExecute` is called before the procedure's
/// hook, and all other hooks of the queue are called after the procedure's hooks. The hooks are called for procedures that
/// are run, added or produced on the queue, and for the nodes of graphs that are executed. The hooks are not called for a
/// refused procedure: a procedure is refused by a queue that is shut down or full, or because the producer has ended. To watch without delaying
/// the procedures, use ``ProcedureQueue/events``.
public struct ProcedureHooks: Sendable {
  /// Called when a procedure has a slot, before the body. If the hook throws, the body is not executed, and the procedure fails.
  public var onWillExecute: (@concurrent @Sendable (ProcedureIdentity) async throws -> Void)?
  /// Called when a body has ended, with the outcome of the body. If the hook throws, the procedure fails.
  public var onDidExecute: (@concurrent @Sendable (ProcedureIdentity, ProcedureOutcome<Void>) async throws -> Void)?
  /// Called when a procedure was cancelled, with the reason; after the body, if the body was executing.
  public var onDidCancel: (@concurrent @Sendable (ProcedureIdentity, (any Error)?) async -> Void)?
  /// Called when the outcome is decided, before the outcome can be read. If the hook throws, the procedure fails; a cancelled
  /// procedure stays cancelled.
  public var onWillFinish: (@concurrent @Sendable (ProcedureIdentity, ProcedureOutcome<Void>) async throws -> Void)?
  /// Called when the outcome can be read. The queue is not idle before the hook has returned.
  public var onDidFinish: (@concurrent @Sendable (ProcedureIdentity, ProcedureOutcome<Void>) async -> Void)?

  /// Makes hooks that are all `nil`.
  public init() {}

  /// Whether a hook is called at the end of a run.
  var hasFinishHooks: Bool { onDidCancel != nil || onWillFinish != nil || onDidFinish != nil }
}
