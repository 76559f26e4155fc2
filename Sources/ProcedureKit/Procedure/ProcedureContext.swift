/// What a body can learn about the run that it belongs to.
///
/// ```swift
/// let id = ProcedureContext.current?.id
/// ```
public struct ProcedureContext: Sendable {
  /// The run whose body executes in this task or started it; `nil` outside of any procedure.
  ///
  /// Tasks that a body creates see the same run, also after it has ended if they outlive it.
  @TaskLocal public static var current: ProcedureContext?

  @usableFromInline let frame: ContextFrame

  /// That of the body of a run, a worker, or whatever else the scope stands for.
  @usableFromInline
  init(of scope: ProcedureScope) {
    frame = scope
  }

  init(scope: ProcedureScope, hold: ResourceHold? = nil) {
    guard let hold else {
      frame = scope
      return
    }
    frame = InnerFrame(
      scope: scope, attempt: 1, hold: hold, keptHold: scope.parent?.hold, isOutermost: true)
  }

  /// What a part of this level is executed in.
  ///
  /// - Parameters:
  ///   - part: The part.
  ///   - context: Where it is executed.
  ///   - attempt: Which attempt it is.
  ///   - keepsHold: Whether a pause in it keeps what is held around it, since other parts go on meanwhile.
  init(_ part: PartScope, of context: ProcedureContext, attempt: Int, keepsHold: Bool = false) {
    frame = InnerFrame(
      scope: part, attempt: attempt, hold: context.hold, keptHold: keepsHold ? context.hold : context.keptHold,
      isOutermost: false)
  }

  init(_ frame: ContextFrame) {
    self.frame = frame
  }

  /// This context, or the innermost around it of a body that has not ended: for what a task begins that a body has left
  /// behind, which is no part of that body. What was cancelled stays so.
  var living: ProcedureContext? {
    var next: ProcedureContext? = self
    while let context = next, context.scope.isOver, !context.isCancelled { next = context.scope.parent }
    return next
  }

  /// The same context with something more being held.
  func holding(_ hold: ResourceHold) -> ProcedureContext {
    ProcedureContext(
      InnerFrame(scope: scope, attempt: attempt, hold: hold, keptHold: keptHold, isOutermost: isOutermost))
  }

  /// What a procedure is executed in that a body calls, and which knows nothing of how this body is run.
  ///
  /// What is held for the body stays held while that procedure pauses: the body counts on it.
  var ofInnerProcedure: ProcedureContext {
    ProcedureContext(
      InnerFrame(scope: scope, attempt: attempt, hold: hold, keptHold: hold, isOutermost: false))
  }

  var scope: ProcedureScope { frame.scope }

  /// Which attempt this is, counted from 1.
  public var attempt: Int { frame.attempt }

  /// The innermost claim that holds something for this body, or for what it is part of.
  var hold: ResourceHold? { frame.hold }

  /// The innermost claim that is kept during a pause: what is further in is given back meanwhile.
  var keptHold: ResourceHold? { frame.keptHold }

  /// Whether this is the outermost level of a run, so that its attempts are those of the run.
  var isOutermost: Bool { frame.isOutermost }

  /// The context that has to be there where a part of a body is executed.
  static func ofBody(_ name: @autoclosure () -> String) -> ProcedureContext {
    guard let context = current else {
      preconditionFailure("ProcedureTask \"\(name())\": a part of a body is executed outside of any procedure")
    }
    return context
  }

  /// Which run this is, and of which procedure.
  public var identity: ProcedureIdentity {
    scope.identity
  }

  /// Which run this is.
  public var id: ProcedureID {
    identity.id
  }

  /// The procedure's name.
  public var name: String {
    identity.name
  }

  /// Whether this run was cancelled, or one that it is part of; or only the part that this is in, as by a timeout.
  ///
  /// It is also true where the task that asks was cancelled, whatever the run; where something has failed that the body has
  /// produced and whose failure is to end it (``ErrorPolicy/failFast``); and in a node of a graph that starts nothing more.
  ///
  /// A body that ``ProcedureQueue/run(_:input:)`` executes belongs to the caller's task, which only its owner may cancel.
  /// When the queue cancels such a run, the task is not cancelled, and this is how the body can tell.
  public var isCancelled: Bool {
    Task.isCancelled || isAround { $0.isCancelled || $0.isStopping }
  }

  /// The same, but for what has failed that was produced: that stops a body, and is no cancel.
  var wasCancelled: Bool {
    isAround(\.isCancelled) || (Task.isCancelled && !isAround(\.isStopping))
  }

  /// Whether this is so for the scope, or one around it of which a cancel does not reach it as its own.
  @inline(__always)
  private func isAround(_ predicate: (ProcedureScope) -> Bool) -> Bool {
    var next: ProcedureContext? = self
    while let scope = next?.scope {
      if predicate(scope) { return true }
      next = scope.isCancelledByTask ? nil : scope.parent
    }
    return false
  }

  /// Why this run was cancelled, or one that it is part of; `nil` if it was not, or no reason was given.
  public var cancellationReason: (any Error)? {
    sequence(first: self, next: \.scope.parent).lazy.compactMap(\.scope.cancellationReason).first { _ in true }
  }

  /// Cancels this run, as its handle would: its outcome is `cancelled`, whatever the body does then.
  ///
  /// An added run's task is cancelled. A body that ``ProcedureQueue/run(_:input:)`` or ``ProcedureTask/execute(_:)`` executes
  /// in its caller's task can tell by ``isCancelled``: that task is not cancelled.
  ///
  /// In a node of a graph that is the run of the graph. The first cancel counts; after the body has ended there is nothing
  /// to cancel.
  ///
  /// - Parameter reason: Why; `CancellationError` without one.
  public func cancel(_ reason: (any Error)? = nil) {
    scope.cancel(reason)
  }

  /// Calls `operation` as a part of this run.
  func run<R>(_ operation: () async throws -> R) async rethrows -> R {
    try await Self.$current.withValue(self, operation: operation)
  }

  /// Calls `operation`, which waits for something that may need the slot of the body that this is called in.
  @concurrent static func lendingSlot<R: Sendable>(_ operation: @concurrent @Sendable () async -> R) async -> R {
    guard let scope = current?.scope else { return await operation() }
    scope.lendSlot()
    let result = await operation()
    await scope.regainSlot()
    return result
  }

  /// Waits for what the body has produced, which has come to `result`. No slot is held meanwhile.
  ///
  /// Cancelling the run cancels the children; so does a body that has thrown, unless its policy is to go on, and one that has
  /// timed out: then it counts for nothing what they come to.
  ///
  /// - Returns: The value of the body.
  /// - Throws: What the body has thrown, or what its children have come to.
  func settleChildren<Output>(_ result: Result<Output, any Error>) async throws -> Output {
    // What has settled itself, as a node or an attempt with hooks, counts as it is.
    guard let children = scope.endProduction(), !children.hasEnded else { return try result.get() }
    var error: (any Error)?
    if case .failure(let thrown) = result { error = thrown }
    let timeout = result.timeout(of: id)
    if let timeout {
      children.cancel(timeout.reason)
    } else if error != nil, children.stopsAtFirstFailure {
      children.cancel(nil)
    }
    scope.lendSlot()
    await awaiting(children) {
      await withRunCancellationHandler(in: self, key: children) {
        await children.close()
      } onCancel: {
        children.cancel(cancellationReason)
      }
    }
    await scope.regainSlot()
    if let timeout { throw timeout.error }
    if let error = children.error(besides: error, of: identity) { throw error }
    return try result.get()
  }

  /// Evaluates the conditions of a level that is reached inside a body; no slot is held meanwhile.
  ///
  /// - Throws: ``ProcedureError`` that names this run and, if it is another one, the procedure `name`.
  func requireConditions(_ conditions: [Condition], name: String) async throws {
    guard !conditions.isEmpty else { return }
    let wait = InnerWait(.conditions(conditions.map(\.name)))
    scope.lendSlot()
    scope.waitStarted(wait)
    let verdict = await Condition.judge(conditions)
    scope.waitEnded(wait)
    await scope.regainSlot()
    try Self.require(verdict, of: ProcedureIdentity(id: id, name: name))
  }

  /// - Throws: The error that stands for a verdict other than satisfied.
  static func require(_ verdict: ConditionVerdict, of procedure: ProcedureIdentity) throws {
    switch verdict {
    case .satisfied: return
    case .ignored(let condition): throw ProcedureError.ignored(procedure: procedure, by: condition)
    case .failed(let condition, let error):
      throw ProcedureError.conditionFailed(procedure: procedure, condition: condition, underlying: error)
    }
  }
}
