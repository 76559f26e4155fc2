extension Condition {
  /// Returns a condition that is satisfied when `capability` is authorized, and otherwise fails, usually with a ``CapabilityError``.
  ///
  /// The `prepare` step requests authorization if necessary, whereas `.authorized(for:…).silenced()` only reads the status. Callers with
  /// equal requests share one answer (see ``Authorize``), and hold no slot while they wait.
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

  /// Returns a condition that is satisfied when a capability without requirements is authorized; see ``authorized(for:_:)``.
  public static func authorized<C: Capability>(for capability: C) -> Condition where C.Status.Requirement == Void {
    authorized(for: capability, ())
  }

  /// Returns a condition that asks the user for confirmation. If the user declines, the procedure is ignored.
  ///
  /// ```swift
  /// let erase = Erase().condition(.userConfirmation("may erase") { await dialog.ask("Erase it all?") })
  /// ```
  ///
  /// The `prepare` step asks the question, once for each run. `.userConfirmation { … }.silenced()` does not ask, so the procedure is
  /// ignored. Within a process, confirmations are requested one at a time, in order of arrival. A run that is waiting for its turn holds no
  /// slot. `ask` can itself request another confirmation, which counts as part of the first one and does not wait for it to end.
  ///
  /// - Parameters:
  ///   - name: The name of the condition in errors, outcomes and logs.
  ///   - ask: A function that asks the user, and returns `true` if the user agrees, or `false` to ignore the procedure. If it throws, the
  ///     procedure fails. The function runs in a task that is cancelled when the run is cancelled, or when the result of another condition
  ///     makes the answer unnecessary; on cancellation, the function should close its prompt. If the run is cancelled before its turn, the
  ///     function is never called.
  /// - Returns: The condition, which fails with ``ProcedureError/Kind/exclusionDeadlock`` if another prompt is waiting for a resource that
  ///   an enclosing body holds.
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
  /// The kind of prompt that all confirmations share.
  fileprivate static let confirmations = Prompts.Kind(type: TypeCategory(UserConfirmation.self))

  private enum UserConfirmation {}
}

/// The prompts in the process. At most one prompt of each kind is shown at a time.
///
/// While a prompt is open, it exclusively holds a category in the process-wide resource table, even if the caller's queue uses a different
/// table. The rules for exclusive categories therefore apply. Prompts are shown in order of arrival, and a nested prompt does not wait for
/// an enclosing prompt of the same kind. A deadlock between prompts and resources is reported as a failure.
enum Prompts {
  /// A kind of prompt. Prompts of the same kind never overlap.
  struct Kind: Hashable, Sendable, CustomStringConvertible {
    let type: TypeCategory
    var description: String { "prompts of \(type)" }
  }

  /// Waits until no other prompt of `kind` is open, and then calls `operation`. The caller holds no slot during the wait, but `operation`
  /// executes with the caller's slot and resources.
  ///
  /// If the caller or its run is cancelled, the wait ends immediately. If `operation` has already started, it is cancelled instead. In
  /// errors, `name` identifies the prompt.
  ///
  /// - Throws: The error that `operation` throws; ``ProcedureError/Kind/exclusionDeadlock`` if waiting would cause a deadlock; the reason
  ///   for the cancellation if the caller is cancelled.
  @concurrent static func takeTurn<R: Sendable>(
    _ kind: Kind, named name: String, _ operation: @escaping @concurrent @Sendable () async throws -> R
  ) async throws -> R {
    try await ProcedureTask(name, operation: operation).exclusive(kind).executeAsLayer(())
  }
}
