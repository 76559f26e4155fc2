/// Internal. What is called when one level of a procedure comes to its end, in the order in which it was written.
///
/// Invariant: nothing of it changes; see ``RunHooks``.
final class FinishHooks<Output: Sendable>: RunHooks, @unchecked Sendable {
  typealias CancelHook = @concurrent @Sendable ((any Error)?) async -> Void
  typealias WillFinishHook = @concurrent @Sendable (ProcedureOutcome<Output>) async throws -> Void
  typealias DidFinishHook = @concurrent @Sendable (ProcedureOutcome<Output>) async -> Void

  let didCancel: [CancelHook]
  let willFinish: [WillFinishHook]
  let didFinish: [DidFinishHook]

  init(didCancel: [CancelHook] = [], willFinish: [WillFinishHook] = [], didFinish: [DidFinishHook] = []) {
    self.didCancel = didCancel
    self.willFinish = willFinish
    self.didFinish = didFinish
  }

  /// These hooks, and then others.
  static func + (inner: FinishHooks, outer: FinishHooks) -> FinishHooks {
    FinishHooks(
      didCancel: inner.didCancel + outer.didCancel, willFinish: inner.willFinish + outer.willFinish,
      didFinish: inner.didFinish + outer.didFinish)
  }

  /// Calls what is called before the outcome can be read.
  ///
  /// - Returns: The error that the outcome becomes, if a hook has thrown. A cancel stays one.
  func callWillFinish(_ outcome: ProcedureOutcome<Output>) async -> (any Error)? {
    if case .cancelled(let reason) = outcome {
      for hook in didCancel { await hook(reason) }
    }
    var outcome = outcome
    var failure: (any Error)?
    for hook in willFinish {
      do {
        try await hook(outcome)
      } catch  where !outcome.wasCancelled {
        outcome = .failed(error)
        failure = error
      } catch {}
    }
    return failure
  }

  func callDidFinish(_ outcome: ProcedureOutcome<Output>) async {
    for hook in didFinish { await hook(outcome) }
  }

  /// Calls all of them for a level that has come to its end.
  ///
  /// - Parameters:
  ///   - result: What the level has come to.
  ///   - cancel: What counts instead, if it was cancelled.
  /// - Returns: The value of the level.
  /// - Throws: What it has thrown, or what a hook throws; the reason of the cancel.
  func finish(_ result: Result<Output, any Error>, _ cancel: Cancel?) async throws -> Output {
    var result = cancel.map { .failure($0.error) } ?? result
    var outcome = cancel.map { .cancelled(reason: $0.reason) } ?? ProcedureOutcome(result)
    if let failure = await callWillFinish(outcome) {
      result = .failure(failure)
      outcome = .failed(failure)
    }
    await callDidFinish(outcome)
    return try result.get()
  }

  override func callWillFinish(boxed outcome: ProcedureOutcome<BoxedValue>) async -> (any Error)? {
    await callWillFinish(outcome.map { $0.unboxed() })
  }

  override func callDidFinish(boxed outcome: ProcedureOutcome<BoxedValue>) async {
    await callDidFinish(outcome.map { $0.unboxed() })
  }
}
