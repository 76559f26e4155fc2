extension Procedure {
  /// Returns the procedure with a function that looks for an existing value, such as a cached value or a file that is up to date.
  ///
  /// ```swift
  /// let compile = Compile().reusing("up to date") { source in try await objects.newerThan(source) }
  /// ```
  ///
  /// The function is called when the procedure holds its slot and resources, before the hooks and the body. If it returns a value, the body
  /// is not executed: the procedure finishes with that value, its dependents start, and the event `reused` is published instead of
  /// `willExecute` and `didExecute`.
  ///
  /// - Parameters:
  ///   - name: The reason that appears in events, for example "cached".
  ///   - find: A function that returns the existing value, or `nil` to execute the body. If it throws, the procedure fails. Cancelling the
  ///     procedure cancels the task in which the function runs. A timeout that is applied after this modifier also covers the function.
  /// - Returns: A procedure that reuses existing values.
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
