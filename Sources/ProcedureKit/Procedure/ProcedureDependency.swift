/// Something that a procedure can wait for before it starts: a handle, or what else has an outcome.
public protocol ProcedureDependency: Sendable {
  /// What errors call it: "depends on …".
  var identity: ProcedureIdentity { get }

  /// Calls `notify` exactly once: at once if the outcome is known, as soon as it is otherwise.
  ///
  /// - Parameter notify: Told the outcome without its value. Cheap, and never blocks.
  func whenFinished(_ notify: @escaping @Sendable (ProcedureOutcome<Void>) -> Void)
}
