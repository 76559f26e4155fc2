extension Procedure {
  /// Returns the procedure with a condition: the body is executed only if `condition` is satisfied.
  ///
  /// Adjacent conditions form one level, in which all conditions are evaluated concurrently. A modifier in between that
  /// wraps the procedure (`recover`, for example) begins a new level; an outer level is evaluated before an inner one.
  public func condition(_ condition: Condition) -> ProcedureTask<Input, Output> {
    procedureTask.changing { $0.conditions.append(condition) }
  }

  /// Returns the procedure with a condition: the body is executed only if `evaluate` returns `true`.
  ///
  /// - Parameters:
  ///   - name: The name of the condition in errors, outcomes and logs.
  ///   - evaluate: Returns `true` for a satisfied condition and `false` to ignore the procedure. An error fails the
  ///     procedure.
  /// - Returns: The procedure with the condition.
  public func condition(
    _ name: String, evaluate: @escaping @concurrent @Sendable () async throws -> Bool
  ) -> ProcedureTask<Input, Output> {
    condition(Condition(name, evaluate: evaluate))
  }
}
