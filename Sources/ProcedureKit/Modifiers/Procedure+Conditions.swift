extension Procedure {
  /// Returns the procedure with a condition: the body is executed only if `condition` is satisfied.
  ///
  /// Adjacent conditions form one layer and are evaluated concurrently. A modifier between them that wraps the procedure, such as
  /// `recover`, begins a new layer. The conditions of an outer layer are evaluated before the conditions of an inner layer.
  public func condition(_ condition: Condition) -> ProcedureTask<Input, Output> {
    procedureTask.changing { $0.conditions.append(condition) }
  }

  /// Returns the procedure with a condition: the body is executed only if `evaluate` returns `true`.
  ///
  /// - Parameters:
  ///   - name: The name of the condition in errors, outcomes and logs.
  ///   - evaluate: A function that returns `true` if the condition is satisfied, and `false` to ignore the procedure. If it throws, the
  ///     procedure fails.
  /// - Returns: The procedure with the condition.
  public func condition(
    _ name: String, evaluate: @escaping @concurrent @Sendable () async throws -> Bool
  ) -> ProcedureTask<Input, Output> {
    condition(Condition(name, evaluate: evaluate))
  }

  /// Returns the procedure with modifiers that depend on the input.
  ///
  /// ```swift
  /// let download = Download().configured { request, procedure in
  ///   procedure.exclusive(request.host).timeout(request.patience)
  /// }
  /// ```
  ///
  /// The function is called each time the procedure is run or added with an input. If the procedure is retried, the function is called for
  /// each attempt. If the input comes from dependencies, or if the procedure is part of another one, the function is called as soon as the
  /// procedure has its slot. The configured procedure always has the name, the priority and the key of the original procedure, because they
  /// are needed before the function is called. Modifiers that are applied later wrap the configured procedure.
  ///
  /// - Parameter configure: A function that returns the procedure to run. It is called in the task that calls `add` or `run`, or in the
  ///   task that executes the procedure, and must return quickly.
  /// - Returns: The configured procedure.
  public func configured<P: Procedure>(
    _ configure: @escaping @Sendable (_ input: Input, _ procedure: ProcedureTask<Input, Output>) -> P
  ) -> ProcedureTask<Input, Output> where P.Input == Input, P.Output == Output {
    let task = procedureTask
    return ProcedureTask(configuring: task) { configure($0, task).procedureTask }
  }

  /// Returns the procedure with a policy for failures of its children or nodes.
  ///
  /// If the procedure is a graph with modifiers, the policy applies to the nodes, unless the graph sets a separate policy with
  /// ``ProcedureGraph/onFailure(_:)``.
  ///
  /// With ``FailurePolicy/failFast``, the default, the first failure ends the procedure. With ``FailurePolicy/collect``,
  /// the procedure waits for all children and then fails with all errors; see ``ProcedureContext/produce(_:input:)``.
  public func onFailure(_ policy: FailurePolicy) -> ProcedureTask<Input, Output> {
    procedureTask.changing { $0.failurePolicy = policy }
  }
}
