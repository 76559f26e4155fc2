extension Procedure {
  /// The same procedure, which is executed only if `condition` is satisfied.
  ///
  /// Conditions that are added one after another are of one level: all of them are evaluated at once. What is written
  /// in between and wraps the procedure (`recover`, say) begins a new level, which is evaluated first.
  public func condition(_ condition: Condition) -> ProcedureTask<Input, Output> {
    procedureTask.changing { $0.admission.conditions.append(condition) }
  }

  /// The same procedure, which is executed only if `evaluate` returns `true`.
  ///
  /// - Parameters:
  ///   - name: What errors, outcomes and logs call the condition.
  ///   - evaluate: `true`: satisfied. `false`: not satisfied, the procedure is ignored. Throws: failed.
  /// - Returns: The procedure with that condition.
  public func condition(
    _ name: String, evaluate: @escaping @concurrent @Sendable () async throws -> Bool
  ) -> ProcedureTask<Input, Output> {
    condition(Condition(name, evaluate: evaluate))
  }
}
