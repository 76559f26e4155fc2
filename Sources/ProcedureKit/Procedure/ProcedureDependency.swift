/// Something that a procedure can wait for before it starts: a handle, or what else has an outcome.
public protocol ProcedureDependency: Sendable {
  /// The name in errors: "depends on …".
  var identity: ProcedureIdentity { get }

  /// Calls `notify` exactly once: at once if the outcome is known, as soon as it is otherwise.
  ///
  /// - Parameter notify: Told the outcome without its value. Cheap, and never blocks.
  func whenFinished(_ notify: @escaping @Sendable (ProcedureOutcome<Void>) -> Void)

  /// Something of this priority waits for it: it should not have to wait itself for anything of a lower one.
  ///
  /// - Parameter priority: A handle's run is moved up to it in the order of its queue. Default: does nothing.
  func raise(to priority: TaskPriority)
}

extension ProcedureDependency {
  /// Does nothing.
  public func raise(to priority: TaskPriority) {}
}
