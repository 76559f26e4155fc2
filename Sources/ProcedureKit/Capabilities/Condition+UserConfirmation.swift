extension Condition {
  /// Satisfied when a person agrees: asks, and the procedure is ignored where the answer is no.
  ///
  /// ```swift
  /// let erase = Erase().condition(.userConfirmation("may erase") { await dialog.ask("Erase it all?") })
  /// ```
  ///
  /// Asking is its `prepare` step, made anew for each run: `.silent(.userConfirmation { … })` asks nobody, and since nobody
  /// has agreed then, the procedure is ignored. In the whole process one confirmation is asked for at a time, in order,
  /// and no slot is held meanwhile. `ask` may ask for another one itself, which belongs to it and does not wait.
  ///
  /// - Parameters:
  ///   - name: What errors, outcomes and logs call it.
  ///   - ask: Asks, usually a person. `true`: agreed. `false`: not agreed, the procedure is ignored. Throws: failed. It
  ///     runs in a task that is cancelled when the run is cancelled or another condition has failed, and should take its
  ///     prompt away then; one whose turn has not come is never called.
  /// - Returns: The condition. It fails with ``ProcedureError/exclusionDeadlock(procedure:circle:)`` where another prompt
  ///   waits for what a body around this one holds.
  public static func userConfirmation(
    _ name: String = "user confirmation", ask: @escaping @concurrent @Sendable () async throws -> Bool
  ) -> Condition {
    Condition(name) { prepares in
      guard prepares else { return .ignored(by: name) }
      do {
        return try await Prompts.takeTurn(.confirmations, named: name, ask) ? .satisfied : .ignored(by: name)
      } catch {
        return .failed(condition: name, error: error)
      }
    }
  }
}

extension Prompts.Kind {
  /// What all confirmations are.
  fileprivate static let confirmations = Prompts.Kind(UserConfirmation.self)

  private enum UserConfirmation {}
}
