extension Procedure {
  /// The same procedure with another answer to the failure of something that it has produced.
  ///
  /// - Parameter policy: By default the first failure ends it; with `continue` it fails with all of them when all have ended.
  /// - Returns: The procedure with that policy; see ``ProcedureContext/produce(_:input:)``.
  public func errorPolicy(_ policy: ErrorPolicy) -> ProcedureTask<Input, Output> {
    procedureTask.wrappingOperation { operation, input in
      if let context = ProcedureContext.current { context.scope.makeChildren()?.setPolicy(policy) }
      return try await operation(input)
    }
  }
}
