/// Internal. How the body of an added run is executed, what comes of it, and what is called at its end.
extension DetachedRun {
  /// Executes the body, with all that was carried here for it, and stores what became of it. Its context is bound.
  @inline(__always)
  func execute() async {
    guard let body = body.take() else { executedTwice() }
    guard !bindings.isEmpty else { return await execute(body) }
    await executeBound(body)
  }

  private func executeBound(_ body: @escaping Body) async {
    // What is carried may be the context of whoever added the run.
    let context = ownContext
    await Self.bind(bindings[...]) { await context.run { await self.execute(body) } }
  }

  /// The context of its body, where that is not bound.
  private var ownContext: ProcedureContext { ProcedureContext(scope: self, hold: holdOfBody) }

  /// One function from the worker to the body, since each more on the way costs as much as a visit to the lock.
  @inline(__always)
  private func execute(_ body: @escaping Body) async {
    let limit = limit
    let timeout = hasTimeout ? startTimeout() : nil
    do {
      if let limit, core.hooks == nil { try limit.bodyStarts(self) }
      stored = Stored(try await body(self))
    } catch {
      noteTimeout(error)
      stored = Stored(thrown: error)
    }
    if endProduction() != nil { await settleChildrenInContext() }
    limit?.ended(self)
    if let timeout { core.timers.cancel(timeout) }
  }

  /// From now on it is cancelled when it has taken too long. What comes to do so after its end comes too late, or just in time.
  ///
  /// The clock is asked here, and not for the instant at which the worker has taken the run: in between it lets go of what was
  /// executed before, which is the user's.
  private func startTimeout() -> TimerHeap.ID? {
    guard let duration = traits.contents.limit?.timeout else { return nil }
    return core.timers.schedule(after: duration) { [self] in
      cancel(ProcedureError.timedOut(procedure: identity, duration: duration, hasStarted: true))
    }
  }

  func executedTwice() -> Never { preconditionFailure("\(identity) was executed twice") }

  private func inContext(_ operation: @escaping @Sendable (DetachedRun) async -> Void) async {
    let context = ProcedureContext(scope: self)
    await Self.bind(bindings[...]) { await context.run { await operation(self) } }
  }

  /// Calls `operation` with all bindings in force, the first outermost.
  private static func bind(
    _ bindings: ArraySlice<ContextCarrier.Binding>, _ operation: @escaping @Sendable () async -> Void
  ) async {
    guard let binding = bindings.first else { return await operation() }
    await binding { await bind(bindings.dropFirst(), operation) }
  }

  /// Calls the work, where its types are known: once, by the task that executes the body. (Invariant: the work has these types,
  /// since whoever makes a run with a body that calls this is generic over them, as the work is; see ``DetachedRun``.)
  @inlinable @inline(__always)
  func callBody<Input: Sendable, Output: Sendable>(of _: Output.Type, with input: Input) async throws -> BoxedValue {
    let work = unsafeDowncast(takeWork(), to: ProcedureWork<Input, Output>.self)
    guard core.hooksBodies else { return BoxedValue(try await work(input)) }
    return BoxedValue(try await hooked(work.operation, input))
  }

  /// Calls a body between the hooks of the queue.
  @usableFromInline
  func hooked<Input: Sendable, Output: Sendable>(
    _ operation: @escaping @concurrent @Sendable (Input) async throws -> Output, _ input: Input
  ) async throws -> Output {
    let limited: @concurrent @Sendable (Input) async throws -> Output = { [self] in
      try limit?.bodyStarts(self)
      return try await operation($0)
    }
    return try await core.hooked(identity, limited, input)
  }

  /// Not inlined: its closure captures the run, which would be counted for every run, also for those without children.
  @inline(never)
  private func settleChildrenInContext() async {
    await ownContext.run { await settleChildren() }
  }

  private func settleChildren() async {
    let outcome = storedOutcome
    stored = .nothing
    do {
      let result = Result { () throws in try outcome.get(of: identity) }
      stored = Stored(try await ProcedureContext(scope: self).settleChildren(result))
    } catch {
      stored = Stored(thrown: error)
    }
  }

  /// Evaluates conditions with all that was carried here for the run.
  static func judge(_ conditions: [Condition], _ bindings: [ContextCarrier.Binding]) async -> ConditionVerdict {
    guard !bindings.isEmpty else { return await Condition.judge(conditions) }
    let judgement = Judgement(of: conditions)
    await bind(bindings[...]) { await judgement.evaluate() }
    return judgement.verdict
  }

  /// Lets go of all that only the body needed, and of a value that a cancel overruled: whoever keeps the run does not keep that.
  func releaseBody() {
    (body, work) = (nil, nil)
    if cancellation != nil { stored = .nothing }
    guard let extras else { return }
    // Nobody else looks at this after the run was `evaluating`, also where it has still to leave its queue.
    extras.admission = .free
    if !hasEnding { extras.bindings = [] }
  }

  /// Lets go of what has been called at its end, or will not be.
  func releaseEnding() {
    extras?.hooks = nil
    extras?.bindings = []
  }

  /// Whether nothing of the user's goes with it once it has left its queue and its body is released, and nobody waits for it.
  /// Asked under the lock.
  ///
  /// - Parameter next: The run that its worker goes on with, and which holds what it wants.
  /// - Returns: Whether nothing does.
  func keepsNothing(before next: DetachedRun) -> Bool {
    guard case .void = stored, extras == nil, !mayHaveListeners else { return false }
    guard let resources else { return true }
    // Most are runs of the same procedure: then there is no need to look into what many processors count their references in.
    return next.resources === resources
      || (resources.wholeEntry != nil && next.resources?.wholeEntry === resources.wholeEntry)
  }

  // MARK: The outcome

  /// Stores an outcome that was decided before the body.
  func store(_ decision: PrematureEnd) {
    switch decision {
    case .failed(let error): stored = .other(Stored.Other(.failed(error)))
    case .ignored(let condition): stored = .other(Stored.Other(.ignored(by: condition)))
    }
  }

  /// The outcome. Only once it is decided.
  @usableFromInline
  var outcome: ProcedureOutcome<BoxedValue> {
    if let cancellation { return .cancelled(reason: cancellation.reason) }
    return storedOutcome
  }

  private var storedOutcome: ProcedureOutcome<BoxedValue> {
    if let value = stored.value { return .finished(value) }
    guard case .other(let other) = stored else { preconditionFailure("\(identity) has no outcome yet") }
    return other.outcome
  }

  /// The value; `nil` if it has come to none. Only once that is decided.
  @usableFromInline
  var value: BoxedValue? {
    cancellation == nil ? stored.value : nil
  }

  /// The outcome, of which the value is left out. Only once it is decided.
  var outcomeWithoutValue: ProcedureOutcome<Void> { outcome.withoutValue }

  // MARK: Hooks

  /// Whether something is called when the outcome is decided. Only until that has been called.
  var hasEnding: Bool { hooks != nil || core.hasFinishHooks }

  private var hooks: RunHooks? { extras?.hooks }

  private var hooksOfQueue: FinishHooks<Void>? { core.hooks?.finishHooks(of: identity, Void.self) }

  /// Calls what is to be called before the outcome can be read, in the one task that carries out the ending, and stores what
  /// that makes of it.
  func callWillFinishHooks() async {
    await inContext { run in
      if let failure = await run.hooks?.callWillFinish(boxed: run.outcome) { run.store(.failed(failure)) }
      if let failure = await run.hooksOfQueue?.callWillFinish(run.outcomeWithoutValue) { run.store(.failed(failure)) }
    }
  }

  /// Calls what is to be called once the outcome can be read.
  func callDidFinishHooks() async {
    await inContext { run in
      await run.hooks?.callDidFinish(boxed: run.outcome)
      await run.hooksOfQueue?.callDidFinish(run.outcomeWithoutValue)
    }
  }
}

extension DetachedRun {
  /// What has come of the body: nearly always a value, see ``BoxedValue``. All in one word, since no case has an optional in it.
  enum Stored: Sendable {
    case nothing
    case void
    case box(any AnyObject & Sendable)
    case other(Other)

    final class Other: Sendable {
      let outcome: ProcedureOutcome<BoxedValue>

      init(_ outcome: ProcedureOutcome<BoxedValue>) {
        self.outcome = outcome
      }
    }

    init(_ value: BoxedValue) {
      self = value.box.map(Stored.box) ?? .void
    }

    /// The value, if it has come to one.
    var value: BoxedValue? {
      switch self {
      case .void: BoxedValue(box: nil)
      case .box(let box): BoxedValue(box: box)
      case .nothing, .other: nil
      }
    }

    /// What a body has thrown.
    init(thrown error: any Error) {
      self = .other(Other(ProcedureOutcome(thrown: error)))
    }
  }
}
