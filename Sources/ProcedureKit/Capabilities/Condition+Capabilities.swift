extension Condition {
  /// Returns a condition that is satisfied when `capability` is authorized, and otherwise fails with a
  /// ``CapabilityError``.
  ///
  /// The `prepare` step requests authorization if necessary; `.silent(.authorized(for:…))` only reads the status.
  /// Callers with an equal request share one answer (see ``Authorize``), and hold no slot while they wait.
  ///
  /// - Parameters:
  ///   - capability: The capability to test.
  ///   - requirement: The required authorization.
  /// - Returns: The condition.
  public static func authorized<C: Capability>(for capability: C, _ requirement: C.Status.Requirement) -> Condition {
    Condition(
      "\(capability.name) is authorized",
      prepare: { _ = try await AuthorizationRequests.authorize(capability, requirement) },
      evaluate: {
        guard await capability.isAvailable() else { throw CapabilityError.unavailable(capability: capability.name) }
        let status = try await capability.authorizationStatus()
        guard status.meets(requirement) else {
          throw CapabilityError.unauthorized(capability: capability.name, status: status)
        }
        return true
      })
  }

  /// Returns a condition that is satisfied when a capability without a requirement is authorized; see
  /// ``authorized(for:_:)``.
  public static func authorized<C: Capability>(for capability: C) -> Condition where C.Status.Requirement == Void {
    authorized(for: capability, ())
  }
}

extension Condition {
  /// Returns a condition that asks the user, and ignores the procedure if the answer is no.
  ///
  /// ```swift
  /// let erase = Erase().condition(.userConfirmation("may erase") { await dialog.ask("Erase it all?") })
  /// ```
  ///
  /// The question is the `prepare` step, and is asked again for each run. `.silent(.userConfirmation { … })` does not ask, so the procedure
  /// is ignored. The process asks for one confirmation at a time, in order; waiting runs hold no slot. `ask` can ask for another
  /// confirmation, which is part of the first and does not wait.
  ///
  /// - Parameters:
  ///   - name: The name in errors, outcomes and logs.
  ///   - ask: Returns `true` for consent, and `false` to ignore the procedure. An error fails the procedure. `ask` runs
  ///     in a task that is cancelled when the run is cancelled or another condition has failed, and should then close
  ///     its prompt. A run that is cancelled before its turn never calls `ask`.
  /// - Returns: The condition. The condition fails with ``ProcedureError/Kind/exclusionDeadlock`` if another prompt is waiting for a
  ///   resource that an enclosing body holds.
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
  /// The kind that all confirmations share.
  fileprivate static let confirmations = Prompts.Kind(type: TypeCategory(UserConfirmation.self))

  private enum UserConfirmation {}
}

/// Internal. The prompts in the process: at most one at a time for each kind.
///
/// A prompt holds an exclusive category in the process-wide table, even if the queue has its own table. The rules of
/// exclusion therefore apply: prompts are shown in order, a nested prompt of a kind does not wait for the outer prompt, and
/// a deadlock between prompts and resources fails instead of hanging.
enum Prompts {
  /// A group of prompts that do not overlap.
  struct Kind: Hashable, Sendable, CustomStringConvertible {
    let type: TypeCategory
    var description: String { "prompts of \(type)" }
  }

  /// Calls `operation` when no other prompt of `kind` is open. The wait holds no slot; `operation` executes with the slot and
  /// resources of the caller.
  ///
  /// Cancelling the caller, or its run, ends the wait immediately and cancels `operation`. Errors carry the given name.
  ///
  /// - Throws: The error of `operation`; ``ProcedureError/Kind/exclusionDeadlock``; the reason for a cancellation.
  @concurrent static func takeTurn<R: Sendable>(
    _ kind: Kind, named name: String, _ operation: @escaping @concurrent @Sendable () async throws -> R
  ) async throws -> R {
    try await ProcedureTask(name, operation: operation).exclusive(kind).executeAsLayer(())
  }
}
