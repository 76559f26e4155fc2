extension Procedure {
  /// Returns the procedure with a condition, which is evaluated before it starts.
  ///
  /// Conditions that are written one after another are evaluated concurrently. `false` lets the run end as ignored, a thrown error as failed.
  ///
  /// - Parameter condition: The condition.
  /// - Returns: The procedure with the condition.
  public func condition(_ condition: Condition) -> ProcedureTask<Input, Output> {
    procedureTask.changing { $0.conditions.append(condition) }
  }

  /// Returns the procedure with a condition, which is evaluated before it starts.
  ///
  /// - Parameters:
  ///   - name: The name in errors and snapshots.
  ///   - evaluate: `true` lets the procedure start, `false` lets the run end as ignored, a thrown error as failed.
  /// - Returns: The procedure with the condition.
  public func condition(
    _ name: String, evaluate: @escaping @concurrent @Sendable () async throws -> Bool
  ) -> ProcedureTask<Input, Output> {
    condition(Condition(name, evaluate: evaluate))
  }
}
