extension Procedure {
  /// Returns the procedure with a policy for the failures of the children that its body produces.
  public func errorPolicy(_ policy: ErrorPolicy) -> ProcedureTask<Input, Output> {
    procedureTask.changing { $0.errorPolicy = policy }
  }
}
