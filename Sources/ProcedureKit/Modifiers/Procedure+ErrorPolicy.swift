extension Procedure {
  /// Returns the procedure with a response to the failure of its children, or, for a graph with other modifiers, of its
  /// nodes. A policy that the graph has itself, by ``ProcedureGraph/errorPolicy(_:)``, comes first.
  ///
  /// With ``ErrorPolicy/failFast``, the default, the first failure ends the procedure. With ``ErrorPolicy/continue``,
  /// the procedure waits for all children and then fails with all errors; see ``ProcedureContext/produce(_:input:)``.
  public func errorPolicy(_ policy: ErrorPolicy) -> ProcedureTask<Input, Output> {
    procedureTask.changing { $0.errorPolicy = policy }
  }
}
