extension Procedure {
  /// Returns the procedure with a condition: the body is executed only if `condition` is satisfied.
  ///
  /// Adjacent conditions form one layer, in which all conditions are evaluated concurrently. A modifier in between that
  /// wraps the procedure (`recover`, for example) begins a new layer; an outer layer is evaluated before an inner one.
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

extension Procedure {
  /// Returns the procedure with modifiers that depend on the input.
  ///
  /// ```swift
  /// let download = Download().configured { request, procedure in
  ///   procedure.exclusive(request.host).timeout(request.patience)
  /// }
  /// ```
  ///
  /// The function is called once for each start of the layer, when the input is known: by the call that runs or adds the procedure with an
  /// input. If the input comes from dependencies, or the procedure is part of another one, the function is called when the procedure has
  /// its slot. The name, the priority and the key are those of the original procedure, since they are needed before the function is called.
  /// A later modifier wraps the configured procedure.
  ///
  /// - Parameter configure: Returns the procedure to run. The function is called by the caller of `add` or `run`, or by the
  ///   task that drives the procedure, and must return quickly.
  /// - Returns: The procedure that is configured by its input.
  public func configured<P: Procedure>(
    _ configure: @escaping @Sendable (_ input: Input, _ procedure: ProcedureTask<Input, Output>) -> P
  ) -> ProcedureTask<Input, Output> where P.Input == Input, P.Output == Output {
    let task = procedureTask
    return ProcedureTask(configuring: task) { configure($0, task).procedureTask }
  }
}

extension Procedure {
  /// Returns the procedure with a response to the failure of its children or nodes.
  ///
  /// The policy applies to the nodes of a graph that has other modifiers, unless the graph has its own policy, set by
  /// ``ProcedureGraph/onFailure(_:)``.
  ///
  /// With ``FailurePolicy/failFast``, the default, the first failure ends the procedure. With ``FailurePolicy/collect``,
  /// the procedure waits for all children and then fails with all errors; see ``ProcedureContext/produce(_:input:)``.
  public func onFailure(_ policy: FailurePolicy) -> ProcedureTask<Input, Output> {
    procedureTask.changing { $0.failurePolicy = policy }
  }
}
