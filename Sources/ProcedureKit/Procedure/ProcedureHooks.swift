/// What is called for every procedure of a queue: awaited, and so able to delay it; see
/// ``ProcedureQueue/init(_:maxConcurrentProcedures:isSuspended:clock:executor:maxWaitingProcedures:overflow:contextCarriers:resources:hooks:seed:)``.
///
/// The hooks of a queue are outside of those of its procedures: `onWillExecute` is called before theirs, all others after
/// theirs. They are called for what is run, added or produced on the queue; not for the nodes of graphs, nor for what is
/// refused: by a queue that has been shut down or is full, or because what was to produce it had ended. To watch without
/// delaying anything there is ``ProcedureQueue/events``.
public struct ProcedureHooks: Sendable {
  /// Called when a procedure has its slot, before its body. If it throws, the body is not executed, and the procedure fails.
  public var onWillExecute: (@concurrent @Sendable (ProcedureIdentity) async throws -> Void)?
  /// Called when a body has ended, with what it has come to. If it throws, the procedure fails.
  public var onDidExecute: (@concurrent @Sendable (ProcedureIdentity, ProcedureOutcome<Void>) async throws -> Void)?
  /// Called when a procedure was cancelled, after its body if that was executing, with the reason.
  public var onDidCancel: (@concurrent @Sendable (ProcedureIdentity, (any Error)?) async -> Void)?
  /// Called when the outcome is decided, before anybody can read it. If it throws, the procedure fails; a cancel stays one.
  public var onWillFinish: (@concurrent @Sendable (ProcedureIdentity, ProcedureOutcome<Void>) async throws -> Void)?
  /// Called when the outcome can be read. The queue is not idle before it has returned.
  public var onDidFinish: (@concurrent @Sendable (ProcedureIdentity, ProcedureOutcome<Void>) async -> Void)?

  /// Hooks of which each is left out that is not given.
  public init() {}

  /// Whether something is called at the end of a run.
  var hasFinishHooks: Bool { onDidCancel != nil || onWillFinish != nil || onDidFinish != nil }
}
