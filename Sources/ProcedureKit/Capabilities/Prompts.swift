/// Internal. The prompts of the process: at most one at a time for each kind.
///
/// A prompt holds an exclusive category in the process-wide table, even if the queue has its own table. The rules of
/// exclusion therefore apply: prompts come in order, a nested prompt of a kind does not wait for the outer prompt, and
/// a deadlock between prompts and resources fails instead of hanging.
enum Prompts {
  /// A group of prompts that do not overlap.
  struct Kind: Hashable, Sendable, CustomStringConvertible {
    let type: TypeCategory
    var description: String { "prompts of \(type)" }
  }

  /// Calls `operation` when no other prompt of `kind` is open. The wait holds no slot; `operation` holds the slot and
  /// resources of the caller.
  ///
  /// Cancelling the caller, or its run, ends the wait at once and cancels `operation`. Errors have the given name.
  ///
  /// - Throws: The error of `operation`; ``ProcedureError/Kind/exclusionDeadlock``; the reason of a cancel.
  @concurrent static func takeTurn<R: Sendable>(
    _ kind: Kind, named name: String, _ operation: @escaping @concurrent @Sendable () async throws -> R
  ) async throws -> R {
    try await ProcedureTask(name, operation: operation).exclusive(kind).executeAsLevel(())
  }
}
