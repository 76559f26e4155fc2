extension Procedure {
  /// Returns the procedure with a search for an existing value, such as a cached value or a finished file.
  ///
  /// ```swift
  /// let compile = Compile().reusing("up to date") { source in try await objects.newerThan(source) }
  /// ```
  ///
  /// The function is called when the procedure holds its slot and resources, before the hooks and the body. If it returns a
  /// value, the body is not executed: the procedure finishes with the value, its dependents start, and `reused` is published
  /// instead of `willExecute` and `didExecute`.
  ///
  /// - Parameters:
  ///   - name: The reason in events, for example "cached".
  ///   - find: Returns the value, or `nil` to execute the body. An error fails the procedure. Cancelling the procedure cancels the task of
  ///     the function, and a timeout that is written after this modifier also covers the function.
  /// - Returns: The procedure that reuses values.
  public func reusing(
    _ name: String, _ find: @escaping @concurrent @Sendable (Input) async throws -> Output?
  ) -> ProcedureTask<Input, Output> {
    procedureTask.inLayer {
      $0.reuse = ModifierLayer.Reuse(name: name) { input in
        try await find(input as! Input).map(ModifierLayer.Reused.init)
      }
    }
  }
}
