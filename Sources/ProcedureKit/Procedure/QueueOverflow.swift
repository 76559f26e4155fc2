/// The response to a procedure that is added to a full queue: as many procedures as allowed, in all or of the key, wait to be
/// started.
public enum QueueOverflow: Sendable, Hashable {
  /// The queue refuses the procedure, which fails with ``ProcedureError/Kind/queueFull``.
  case refuse
  /// The procedure takes the place of the oldest waiting procedure with an equal key. The replaced procedure is cancelled,
  /// with ``ProcedureError/Kind/replaced`` as the reason. Without an equal key among the waiting procedures, the
  /// queue refuses the new procedure. ``Procedure/keyed(by:)`` sets the key; all procedures without a key count as equal.
  case replaceOldest
  /// The procedure takes the place of the newest waiting procedure with an equal key; see ``replaceOldest``.
  case replaceNewest
}
