/// An async function and how to run it: its name, its priority, and what has to hold before it starts.
///
/// ```swift
/// let greet = ProcedureTask("greet") { (name: String) in "Hello, \(name)!" }
/// let greeting = try await queue.run(greet, input: "kitten")
/// ```
public struct ProcedureTask<Input: Sendable, Output: Sendable>: Procedure {
  /// What errors, events and diagrams call it.
  public internal(set) var name: String {
    get { traits.contents.name }
    set { change { $0.name = newValue } }
  }

  /// Where it stands among those that wait for a slot; `nil` for that of the task that runs or adds it.
  public internal(set) var priority: TaskPriority? {
    get { traits.contents.rawPriority.map(TaskPriority.init) }
    set { change { $0.rawPriority = newValue?.rawValue } }
  }

  @usableFromInline private(set) var work: ProcedureWork<Input, Output>

  /// A procedure from an async function.
  ///
  /// The function executes on the executor of the queue, or on the global one, unless it names an actor itself:
  /// `{ @MainActor in … }`. That is what `@concurrent` says, here and wherever the library takes a function of yours.
  ///
  /// - Parameters:
  ///   - name: What errors, events and diagrams call it.
  ///   - priority: Where it stands among those that wait for a slot; `nil` for that of the task that runs or adds it.
  ///   - operation: The work.
  public init(
    _ name: String = "ProcedureTask", priority: TaskPriority? = nil,
    operation: @escaping @concurrent @Sendable (Input) async throws -> Output
  ) {
    self.init(name: name, priority: priority, operation: operation)
  }

  /// A procedure from an async function without a parameter.
  ///
  /// - Parameters:
  ///   - name: What errors, events and diagrams call it.
  ///   - priority: Where it stands among those that wait for a slot; `nil` for that of the task that runs or adds it.
  ///   - operation: The work.
  public init(
    _ name: String = "ProcedureTask", priority: TaskPriority? = nil,
    operation: @escaping @concurrent @Sendable () async throws -> Output
  ) where Input == Void {
    work = ProcedureWork(
      ProcedureTraits(name: name, priority: priority), .free, nil, { (_: Void) in try await operation() },
      plain: operation)
  }

  /// What any procedure executes, and nothing besides: the start for a type that implements ``Procedure/procedureTask``.
  ///
  /// - Parameter procedure: The procedure whose ``Procedure/execute(_:)`` is called.
  public init<P: Procedure>(executing procedure: P) where P.Input == Input, P.Output == Output {
    self.init(name: procedure.name, priority: nil) { try await procedure.execute($0) }
  }

  init(
    name: String, priority: TaskPriority?, admission: Admission = .free,
    operation: @escaping @concurrent @Sendable (Input) async throws -> Output
  ) {
    work = ProcedureWork(ProcedureTraits(name: name, priority: priority), admission, nil, operation)
  }

  var traits: ProcedureTraits { work.traits }

  var admission: Admission {
    get { work.admission }
    set { work = ProcedureWork(traits, newValue, work.hooks, operation, plain: work.plain) }
  }

  @usableFromInline var operation: @concurrent @Sendable (Input) async throws -> Output {
    get { work.operation }
    set { work = ProcedureWork(traits, admission, work.hooks, newValue) }
  }

  /// Itself.
  @inlinable
  public var procedureTask: ProcedureTask<Input, Output> {
    self
  }

  /// Runs the procedure without a queue: no limit, no events, while its conditions and all its other modifiers hold, but for
  /// ``Procedure/priority(_:)`` and ``Procedure/keyed(by:)``, which only a queue asks for.
  ///
  /// Inside the body of another procedure it is a part of that one. Never executes on the caller's actor. Cancelling the
  /// caller cancels the procedure, and this returns when its body has; a caller that was cancelled before executes nothing,
  /// unless it is the body of another procedure.
  ///
  /// - Parameter input: What the procedure is given.
  /// - Returns: The result.
  /// - Throws: What the body throws; `CancellationError`, or the reason of a cancel; ``ProcedureError`` for what the framework
  ///   decided: a condition that was not satisfied or failed, a timeout, a wait for resources that would never have ended, or
  ///   failures of what it has produced.
  @concurrent public func execute(_ input: Input) async throws -> Output {
    if let context = ProcedureContext.current {
      let inner = context.ofInnerProcedure
      return try await inner.run { try await execute(input, in: inner) }
    }
    let scope = UnqueuedScope(name: name)
    let context = ProcedureContext(scope: scope)
    let result = await context.settled {
      try Task.checkCancellation()
      return try await executeLevel(input, in: context)
    }
    // From here on nothing changes the outcome but a hook that throws.
    let cancel = scope.end(
      unlessBefore: Task.isCancelled ? Cancel(reason: nil) : result.timeout(of: scope.identity.id))
    guard !work.isBare, let hooks else {
      if let cancel { throw cancel.error }
      return try result.get()
    }
    return try await context.run { try await hooks.finish(result, cancel) }
  }

  /// Executes it in the body that `context` belongs to; what it produces belongs to that as well.
  private func execute(_ input: Input, in context: ProcedureContext) async throws -> Output {
    guard !work.isBare, let hooks else { return try await executeLevel(input, in: context) }
    let wasCancelled = context.wasCancelled
    let result: Result<Output, any Error>
    do {
      result = .success(try await executeLevel(input, in: context))
    } catch {
      result = .failure(error)
    }
    return try await hooks.finish(result, context.cancel(of: result, after: wasCancelled))
  }

  private func executeLevel(_ input: Input, in context: ProcedureContext) async throws -> Output {
    guard let deadline = limit?.deadline else { return try await executeAdmitted(input, in: context) }
    let remaining = deadline.remaining
    guard remaining > .zero else {
      throw ProcedureError.timedOut(
        procedure: ProcedureIdentity(id: context.id, name: name), duration: .zero, hasStarted: false)
    }
    let start = BodyStart()
    return try await context.executePart(within: remaining, name: name, startingAt: start) {
      try await executeAdmitted(input, in: .ofBody(name), telling: start)
    }
  }

  private func executeAdmitted(
    _ input: Input, in context: ProcedureContext, telling start: BodyStart? = nil
  ) async throws -> Output {
    if !admission.conditions.isEmpty {
      let wasCancelled = context.isCancelled
      try await context.requireConditions(admission.conditions, name: name)
      if !wasCancelled { try context.requireNotCancelled() }
    }
    return try await context.holding(admission.resources, name: name) {
      start?.bodyStarts()
      return try await foldingTimeout().operation(input)
    }
  }

  /// Whether nothing has to happen around the operation besides the conditions.
  var isPlain: Bool { work.isBare && admission.resources == nil }

  /// Executes all of the procedure as a part of the current body.
  @concurrent func executeInCurrentContext(_ input: Input) async throws -> Output {
    try await execute(input, in: .ofBody(name))
  }

  /// Executes all of the procedure as all that the current body is: a node, an attempt or a copy. What it has produced has ended
  /// when hooks are told of its end.
  @concurrent func executeAsBody(_ input: Input) async throws -> Output {
    let context = ProcedureContext.ofBody(name)
    guard !work.isBare, let hooks else { return try await executeLevel(input, in: context) }
    let wasCancelled = context.wasCancelled
    let result = await context.settled { try await executeLevel(input, in: context) }
    return try await hooks.finish(result, context.cancel(of: result, after: wasCancelled))
  }

  /// The same level, with its timeout around the operation alone, so that what is written next is outside of it.
  func foldingTimeout() -> ProcedureTask {
    guard let limit, let timeout = limit.timeout else { return self }
    let (name, operation) = (name, operation)
    return changing { task in
      task.limit = limit.deadline.map { TimeLimit(timeout: nil, deadline: $0) }
      task.operation = { input in
        try await ProcedureContext.ofBody(name).executePart(within: timeout, name: name) { try await operation(input) }
      }
    }
  }

  /// What is called when the outermost level comes to its end.
  var hooks: FinishHooks<Output>? {
    get { work.hooks as? FinishHooks<Output> }
    set { work = ProcedureWork(traits, admission, newValue, operation, plain: work.plain) }
  }

  /// How long the outermost level may take.
  var limit: TimeLimit? {
    get { traits.contents.limit }
    set { change { $0.limit = newValue } }
  }

  private mutating func change(_ change: (inout ProcedureTraits.Contents) -> Void) {
    var contents = traits.contents
    change(&contents)
    work = ProcedureWork(ProcedureTraits(contents), admission, work.hooks, operation, plain: work.plain)
  }

  /// The same procedure with something changed.
  func changing(_ change: (inout ProcedureTask) -> Void) -> ProcedureTask {
    var task = self
    change(&task)
    return task
  }
}

extension ProcedureTask: CustomStringConvertible {
  /// The procedure as people read it: its name in quotation marks.
  public var description: String {
    "ProcedureTask \"\(name)\""
  }
}
