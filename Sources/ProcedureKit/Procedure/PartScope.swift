import Synchronization

/// Internal. A part of a body that ends by itself: one attempt of several, or what a timeout is around. It can be stopped
/// without what is around it, and ends after all that it has produced.
///
/// Invariant: it adds to ``ProcedureScope`` only constants, and what has its own lock.
final class PartScope: ProcedureScope, @unchecked Sendable {
  private struct State {
    var stop: Cancel?
    var isOver = false
    /// What wants to know when the part is stopped.
    var handlers: [ObjectIdentifier: @Sendable () -> Void] = [:]
  }

  private let surrounding: ProcedureContext
  /// Whether the run is at its pause when this part pauses: not if others are executed meanwhile.
  private let isAlone: Bool
  private let state = Mutex(State())

  init(of context: ProcedureContext, isAlone: Bool = true) {
    surrounding = context
    self.isAlone = isAlone
    super.init(extras: ScopeExtras(startedFrom: context))
  }

  // MARK: Its end

  /// Cancels the part, and nothing around it. The first stop counts, and none after the end.
  func stop(_ reason: (any Error)?) {
    let handlers = state.withLock { state -> [@Sendable () -> Void] in
      guard state.stop == nil, !state.isOver else { return [] }
      state.stop = Cancel(reason: reason)
      return Array(state.handlers.values)
    }
    children?.cancel(reason)
    for handler in handlers { handler() }
  }

  /// The part has come to its end.
  ///
  /// - Throws: The reason, if it was stopped before.
  func end() throws {
    let stop = state.withLock { state in
      state.isOver = true
      return state.stop
    }
    if let stop { throw stop.error }
  }

  override var isCancelled: Bool { state.withLock { $0.stop != nil } }

  override var cancellationReason: (any Error)? { state.withLock { $0.stop?.reason } }

  /// Ends what waits in the part, as a failed child does.
  override func stopBody() {
    for handler in state.withLock({ Array($0.handlers.values) }) { handler() }
  }

  override func addCancellationHandler(key: AnyObject, _ handler: @escaping @Sendable () -> Void) {
    let isStopped = state.withLock { state in
      state.handlers[ObjectIdentifier(key)] = handler
      return state.stop != nil
    }
    if isStopped || children?.isStopping ?? false { handler() }
  }

  override func removeCancellationHandler(key: AnyObject) {
    let handler = state.withLock { $0.handlers.removeValue(forKey: ObjectIdentifier(key)) }
    _ = handler
  }

  // MARK: Otherwise it is what it is a part of

  override var identity: ProcedureIdentity { surrounding.identity }

  override var mayProduce: Bool { !isOver && !state.withLock { $0.isOver } && surrounding.scope.mayProduce }

  override var errorPolicy: ErrorPolicy { surrounding.scope.children?.policy ?? surrounding.scope.errorPolicy }

  override func report(_ kind: ProcedureEvent.Kind) { surrounding.scope.report(kind) }

  override func lendSlot() { surrounding.scope.lendSlot() }

  override func regainSlot() async { await surrounding.scope.regainSlot() }

  override func regainSlot(unlessCancelled context: ProcedureContext) async {
    await surrounding.scope.regainSlot(unlessCancelled: context)
  }

  override func waitForSlot(in context: ProcedureContext) async { await surrounding.scope.waitForSlot(in: context) }

  override func copyEnded() { surrounding.scope.copyEnded() }

  override func takeTurn(in context: ProcedureContext) async { await surrounding.scope.takeTurn(in: context) }

  override func pauseStarted(until end: ProcedureInstant?) {
    if isAlone { surrounding.scope.pauseStarted(until: end) }
  }

  override func pauseEnded() {
    if isAlone { surrounding.scope.pauseEnded() }
  }
}
