extension Procedure {
  /// Returns the procedure with modifiers that depend on the input.
  ///
  /// ```swift
  /// let download = Download().configured { request, procedure in
  ///   procedure.exclusive(request.host).timeout(request.patience)
  /// }
  /// ```
  ///
  /// The function is called once for each start of the level, when the input is known: by the call that runs or adds the
  /// procedure with an input, and where the input comes from dependencies, or the procedure is a part of another one, when the
  /// procedure has its slot. The name, the priority and the key are those of the procedure before, since they are needed
  /// earlier. A later modifier wraps the configured procedure.
  ///
  /// - Parameter configure: Returns the procedure to run. The function is called by the caller of `add` or `run`, or by the
  ///   task that drives the procedure, and must return soon.
  /// - Returns: The procedure that is configured by its input.
  public func configured<P: Procedure>(
    _ configure: @escaping @Sendable (_ input: Input, _ procedure: ProcedureTask<Input, Output>) -> P
  ) -> ProcedureTask<Input, Output> where P.Input == Input, P.Output == Output {
    let task = procedureTask
    return ProcedureTask(configuring: task) { configure($0, task).procedureTask }
  }
}
