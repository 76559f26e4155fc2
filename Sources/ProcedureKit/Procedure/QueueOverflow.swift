/// What becomes of a procedure that is added to a queue on which as many wait to be started as may.
public enum QueueOverflow: Sendable, Hashable {
  /// It is refused: it fails with ``ProcedureError/queueFull(procedure:queue:limit:)``.
  case refuse
  /// It takes the place of the one of the same key that has waited for longest, which is cancelled; where there is none it
  /// is refused. The key is that of ``Procedure/keyed(by:)``; those without one have the same.
  case replaceOldest
  /// It takes the place of the one of the same key that came last, which is cancelled; where there is none it is refused.
  case replaceNewest
}
