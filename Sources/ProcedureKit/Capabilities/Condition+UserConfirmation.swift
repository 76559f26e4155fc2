extension Condition {
  /// Returns a condition that asks a person, and ignores the procedure if the answer is no.
  ///
  /// ```swift
  /// let erase = Erase().condition(.userConfirmation("may erase") { await dialog.ask("Erase it all?") })
  /// ```
  ///
  /// The question is the `prepare` step, asked anew for each run. `.silent(.userConfirmation { … })` does not ask, so
  /// that the procedure is ignored. The process asks for one confirmation at a time, in order, and no slot is held
  /// meanwhile. `ask` can ask for another confirmation, which is a part of the first and does not wait.
  ///
  /// - Parameters:
  ///   - name: The name in errors, outcomes and logs.
  ///   - ask: Returns `true` for consent, and `false` to ignore the procedure. An error fails the procedure. `ask` runs
  ///     in a task that is cancelled when the run is cancelled or another condition has failed, and should then close
  ///     its prompt. A run that is cancelled before its turn never calls `ask`.
  /// - Returns: The condition. The condition fails with ``ProcedureError/Kind/exclusionDeadlock`` if
  ///   another prompt waits for a resource that an enclosing body holds.
  public static func userConfirmation(
    _ name: String = "user confirmation", ask: @escaping @concurrent @Sendable () async throws -> Bool
  ) -> Condition {
    Condition(name) { prepares, decide in
      guard prepares else { return decide(.ignored(by: name)) }
      do {
        decide(try await Prompts.takeTurn(.confirmations, named: name, ask) ? .satisfied : .ignored(by: name))
      } catch {
        decide(.failed(condition: name, error: error))
      }
    }
  }
}

extension Prompts.Kind {
  /// The kind of all confirmations.
  fileprivate static let confirmations = Prompts.Kind(type: TypeCategory(UserConfirmation.self))

  private enum UserConfirmation {}
}
