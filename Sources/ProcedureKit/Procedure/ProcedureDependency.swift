/// A dependency of a procedure: a handle, or any other value with an outcome. The procedure starts after the dependency.
public protocol ProcedureDependency: Sendable {
  /// The name in errors: "depends on …".
  var identity: ProcedureIdentity { get }

  /// Calls `notify` exactly once: immediately if the outcome is known, and otherwise as soon as the outcome is known.
  ///
  /// - Parameter notify: The function to call with the outcome, without the value. The function is cheap and never blocks.
  func whenFinished(_ notify: @escaping @Sendable (ProcedureOutcome<Void>) -> Void)

  /// Raises the dependency to the priority of a waiting procedure, so that work of lower priority does not delay the
  /// dependency.
  ///
  /// - Parameter priority: The priority. The run of a handle moves up in the order of the queue. Default: no effect.
  func raise(to priority: TaskPriority)
}

extension ProcedureDependency {
  /// Has no effect.
  public func raise(to priority: TaskPriority) {}
}
