/// Internal. A run that was added, with all that it needs, in one allocation.
///
/// It knows no type but its own: what is called and what comes of it are made by ``ProcedureQueue``, where the types are
/// known, so that no metadata is looked up while it goes its way.
///
/// Invariant: `stored` is written before the outcome is published, by whoever decides it: the worker that executed the
/// body, or, under the lock of the queue, what ended the run before its body. It is read after that, and not at all where
/// a cancel overruled it. `body` belongs to the worker that executes it, and to whoever ends the run.
@usableFromInline
final class ProcedureRun: DetachedRun, @unchecked Sendable {
  /// Executes the work, wherever it is called from; the work in it sees to it itself that it does not stay there.
  @usableFromInline
  typealias Body = @Sendable (ProcedureRun) async throws -> BoxedValue

  private var body: Body?
  private var stored: ProcedureOutcome<BoxedValue>?
  /// Those of its outermost level.
  private let hooks: (any RunHooks)?

  init(
    _ traits: RunTraits, bindings: [ContextCarrier.Binding], core: QueueCore, parent: ProcedureContext? = nil,
    body: @escaping Body
  ) {
    self.body = body
    hooks = traits.hooks
    super.init(
      name: traits.name, priority: traits.priority ?? Task.currentPriority, admission: traits.admission,
      limit: traits.limit, bindings: bindings, core: core, parent: parent)
  }

  override var hasEnding: Bool { hooks != nil || core.hasFinishHooks }

  /// After the outcome has been decided, in the one task that carries out the ending.
  override func prepareEnding() async {
    if let failure = await hooks?.callWillFinish(of: self) { stored = .failed(failure) }
    if let failure = await hooksOfQueue?.callWillFinish(outcomeWithoutValue) { stored = .failed(failure) }
  }

  override func completeEnding() async {
    await hooks?.callDidFinish(of: self)
    await hooksOfQueue?.callDidFinish(outcomeWithoutValue)
  }

  private var hooksOfQueue: FinishHooks<Void>? { core.hooks?.finishHooks(of: identity, Void.self) }

  /// The outcome. Only once it is decided.
  @usableFromInline
  var outcome: ProcedureOutcome<BoxedValue> {
    if let cancellation { return .cancelled(reason: cancellation.reason) }
    guard let stored else { preconditionFailure("\(identity) has no outcome yet") }
    return stored
  }

  override var outcomeWithoutValue: ProcedureOutcome<Void> { outcome.withoutValue }

  override func store(_ decision: PrematureEnd) {
    switch decision {
    case .failed(let error): stored = .failed(error)
    case .ignored(let condition): stored = .ignored(by: condition)
    }
  }

  override func executeBody() async {
    guard let body = body.take() else { preconditionFailure("\(identity) was executed twice") }
    do {
      if core.hooks == nil { limit?.bodyStarted(self) }
      stored = .finished(try await body(self))
    } catch {
      noteTimeout(error)
      stored = ProcedureOutcome(thrown: error)
    }
    if endProduction() != nil { await settleChildren() }
    limit?.ended(self)
  }

  /// Calls a body between the hooks of the queue.
  @usableFromInline
  func hooked<Input: Sendable, Output: Sendable>(
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
    body = nil
    if cancellation != nil { stored = nil }
  }
}

/// Internal. What a run has to know of a procedure besides its work.
@usableFromInline
struct RunTraits: Sendable {
  let name: String
  let priority: TaskPriority?
  let admission: Admission
  let limit: TimeLimit?
  let hooks: (any RunHooks)?
}

/// Internal. What is called at the end of a run, whatever type its value has.
protocol RunHooks: AnyObject, Sendable {
  func callWillFinish(of run: ProcedureRun) async -> (any Error)?
  func callDidFinish(of run: ProcedureRun) async
}

extension FinishHooks: RunHooks {
  func callWillFinish(of run: ProcedureRun) async -> (any Error)? {
    await callWillFinish(run.outcome.map { $0.unboxed() })
  }

  func callDidFinish(of run: ProcedureRun) async {
    await callDidFinish(run.outcome.map { $0.unboxed() })
  }
}

extension ProcedureTask {
  @usableFromInline var runTraits: RunTraits {
    RunTraits(name: name, priority: priority, admission: admission, limit: limit, hooks: hooks)
  }
}
