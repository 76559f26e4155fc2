/// Internal. Lets people be asked one thing at a time: of each kind, one prompt is under way in the whole process.
///
/// A prompt's turn is a category that it holds alone, in the table of the process whatever table a queue has. So all is
/// known of it that is known of exclusion: it comes in order, a prompt inside of a prompt of its kind does not wait for
/// itself, and a circle of prompts and of what the bodies that wait for them hold is refused instead of waited for.
enum Prompts {
  /// What has one prompt at a time.
  struct Kind: Hashable, Sendable, CustomStringConvertible {
    private let type: ObjectIdentifier
    let description: String

    init(_ type: Any.Type) {
      self.type = ObjectIdentifier(type)
      description = "prompts of \(type)"
    }
  }

  /// Calls `operation` when its turn has come. The wait holds no slot; `operation` holds what its caller does.
  ///
  /// Cancelling the caller, or the run that this is a part of, ends the wait at once and is passed on to `operation`.
  ///
  /// - Parameters:
  ///   - kind: What it must not overlap with.
  ///   - name: What errors call it.
  ///   - operation: Asks.
  /// - Returns: What `operation` returns.
  /// - Throws: What `operation` throws; ``ProcedureError/exclusionDeadlock(procedure:circle:)``; the reason of a cancel.
  @concurrent static func takeTurn<R: Sendable>(
    _ kind: Kind, named name: String, _ operation: @escaping @concurrent @Sendable () async throws -> R
  ) async throws -> R {
    let prompt = ProcedureTask(name, operation: operation)
    let kinds = ResourceRequest(categories: [kind], isShared: false).demands
    return try await prompt.changing { traits in
      for demand in kinds { traits.demands.append(demand) }
    }
    .executeAsLevel(())
  }
}
