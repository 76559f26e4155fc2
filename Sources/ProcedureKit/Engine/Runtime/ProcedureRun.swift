/// Internal. A detached run with an outcome of a known type.
///
/// Invariant: `stored` is written before the outcome is published, by whoever decides it: the worker that executed the
/// body, or, under the lock of the queue, what ended the run before its body. It is read after that, and not at all where
/// a cancel overruled it.
class OutcomeRun<Output: Sendable>: DetachedRun, @unchecked Sendable {
  fileprivate var stored: ProcedureOutcome<Output>?
  /// Those of its outermost level, and of the queue around them.
  private let hooks: FinishHooks<Output>?

  init(
    name: String, priority: TaskPriority, admission: Admission, limit: TimeLimit?, hooks: FinishHooks<Output>?,
    bindings: [ContextCarrier.Binding], core: QueueCore, parent: ProcedureContext?
  ) {
    self.hooks = hooks
    super.init(
      name: name, priority: priority, admission: admission, limit: limit, bindings: bindings, core: core, parent: parent
    )
  }

  final override var hasEnding: Bool { hooks != nil || core.hasFinishHooks }

  /// After the outcome has been decided, in the one task that carries out the ending.
  final override func prepareEnding() async {
    for hooks in allHooks {
      if let failure = await hooks.callWillFinish(outcome) { stored = .failed(failure) }
    }
  }

  final override func completeEnding() async {
    let outcome = outcome
    for hooks in allHooks { await hooks.callDidFinish(outcome) }
  }

  private var allHooks: [FinishHooks<Output>] {
    [hooks, core.hooks?.finishHooks(of: identity, Output.self)].compactMap(\.self)
  }

  /// The outcome. Only once it is decided.
  final var outcome: ProcedureOutcome<Output> {
    if let cancellation { return .cancelled(reason: cancellation.reason) }
    guard let stored else { preconditionFailure("\(identity) has no outcome yet") }
    return stored
  }

  final override var outcomeWithoutValue: ProcedureOutcome<Void> {
    if let cancellation { return .cancelled(reason: cancellation.reason) }
    switch stored {
    case .finished: return .finished(())
    case .failed(let error): return .failed(error)
    case .cancelled(let reason): return .cancelled(reason: reason)
    case .ignored(let condition): return .ignored(by: condition)
    case nil: preconditionFailure("\(identity) has no outcome yet")
    }
  }

  final override func store(_ decision: PrematureEnd) {
    switch decision {
    case .failed(let error): stored = .failed(error)
    case .ignored(let condition): stored = .ignored(by: condition)
    }
  }

  override func releaseBody() {
    super.releaseBody()
    if cancellation != nil { stored = nil }
  }
}

/// Internal. What a detached run is given: a value, or what reads it from the procedures that it depends on.
enum InputSource<Input: Sendable>: Sendable {
  case value(Input)
  case gathered(@Sendable () -> Input)
}

/// Internal. A detached run of a procedure, with all that it needs, in one allocation.
final class ProcedureRun<Input: Sendable, Output: Sendable>: OutcomeRun<Output>, @unchecked Sendable {
  private var input: InputSource<Input>?
  private var operation: (@concurrent @Sendable (Input) async throws -> Output)?

  init(
    _ task: ProcedureTask<Input, Output>, input: InputSource<Input>, priority: TaskPriority,
    bindings: [ContextCarrier.Binding], core: QueueCore, parent: ProcedureContext? = nil
  ) {
    self.input = input
    operation = task.operation
    super.init(
      name: task.name, priority: priority, admission: task.admission, limit: task.limit, hooks: task.hooks,
      bindings: bindings, core: core, parent: parent)
  }

  override func executeBody() async {
    guard let input = input.take(), let operation = operation.take() else {
      preconditionFailure("\(identity) was executed twice")
    }
    do {
      let value =
        switch input {
        case .value(let input): input
        case .gathered(let gather): gather()
        }
      if core.hooks == nil {
        limit?.bodyStarted(self)
        stored = .finished(try await operation(value))
      } else {
        stored = .finished(try await executeHooked(operation, value))
      }
    } catch {
      noteTimeout(error)
      stored = ProcedureOutcome(thrown: error)
    }
    if endProduction() != nil { await settleChildren() }
    limit?.ended(self)
  }

  private func executeHooked(
    _ operation: @escaping @concurrent @Sendable (Input) async throws -> Output, _ input: Input
  ) async throws -> Output {
    let limited: @concurrent @Sendable (Input) async throws -> Output = { [self] in
      limit?.bodyStarted(self)
      return try await operation($0)
    }
    return try await core.hooked(identity, limited, input)
  }

  private func settleChildren() async {
    guard let outcome = stored.take() else { preconditionFailure("\(identity) has no outcome yet") }
    do {
      let result = Result { () throws in try outcome.get(of: identity) }
      stored = .finished(try await ProcedureContext(scope: self).settleChildren(result))
    } catch {
      stored = ProcedureOutcome(thrown: error)
    }
  }

  override func releaseBody() {
    super.releaseBody()
    input = nil
    operation = nil
  }
}
