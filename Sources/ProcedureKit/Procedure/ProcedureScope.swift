import Synchronization

/// Internal. What stands behind a ``ProcedureContext``: the engine's runs and workers, which know what executes.
///
/// Invariant: subclasses say which lock guards what they store; what this class stores is constant, atomic or has its lock.
@usableFromInline
class ProcedureScope: ContextFrame, @unchecked Sendable {
  /// Where it was started from: the context of the body that runs or awaits it, as long as that has not ended before it.
  final var parent: ProcedureContext? { scopeExtras?.parent }

  private let lazyExtras: LazyObject<ScopeExtras>
  private let production = Atomic(Production.none.rawValue)

  /// What the body has to do with children.
  private enum Production: UInt8 {
    case none
    /// There is a group, which knows whether it admits more.
    case group
    /// The body has ended without one, and there will be none.
    case ended
  }

  @inline(__always)
  init(extras: consuming ScopeExtras? = nil) {
    lazyExtras = LazyObject(extras)
  }

  /// What it has besides; `nil` for most runs.
  final var scopeExtras: ScopeExtras? { lazyExtras.value }

  final var madeScopeExtras: ScopeExtras { lazyExtras.made(makeExtras) }

  /// Makes that, of the class that this scope has it of; in a race it may be for nothing.
  func makeExtras() -> ScopeExtras { ScopeExtras() }

  final override var scope: ProcedureScope { self }

  /// Which run it is.
  var identity: ProcedureIdentity {
    preconditionFailure("\(type(of: self)) has to say what it executes")
  }

  /// Whether it was cancelled otherwise than through the task that executes it.
  var isCancelled: Bool { false }

  /// The reason of a cancel, if there was one and it had one.
  var cancellationReason: (any Error)? { nil }

  /// Cancels it, or what it is part of where it is a worker.
  func cancel(_ reason: (any Error)?) { parent?.cancel(reason) }

  /// Lends the slot, if it holds one, until `regainSlot`: the body is about to wait for something that holds none.
  func lendSlot() {}

  /// What the body has produced, if anything.
  final var children: ChildGroup? {
    production.load(ordering: .acquiring) == Production.group.rawValue ? scopeExtras?.children : nil
  }

  /// Whether something has failed that the body has produced, and it is to end because of that.
  final var isStopping: Bool { children?.isStopping ?? false }

  /// Whether the body has produced something, or produces nothing any more.
  final var hasProduced: Bool { production.load(ordering: .acquiring) != Production.none.rawValue }

  /// What the body will have produced; `nil` if it has ended without having produced anything.
  final func makeChildren() -> ChildGroup? {
    let made = madeScopeExtras.madeChildren {
      ChildGroup(policy: errorPolicy, stopBody: { [weak self] in self?.stopBody() })
    }
    let (isFirst, before) = production.compareExchange(
      expected: Production.none.rawValue, desired: Production.group.rawValue, ordering: .acquiringAndReleasing)
    return isFirst || before == Production.group.rawValue ? made : nil
  }

  /// It has a child, which is to be told of a cancel, and has not started yet: so all children have not ended.
  func childAdmitted() {}

  /// What a failed child does to the body, unless it is told otherwise.
  var errorPolicy: ErrorPolicy { .failFast }

  /// The body has ended: nothing is produced from now on, but by way of what it has produced already.
  ///
  /// - Returns: What it has produced, which has to be settled.
  final func endProduction() -> ChildGroup? {
    let (isOver, _) = production.compareExchange(
      expected: Production.none.rawValue, desired: Production.ended.rawValue, ordering: .acquiringAndReleasing)
    return isOver ? nil : children
  }

  /// Whether the body has ended, and everything that belongs to it.
  var isOver: Bool {
    switch Production(rawValue: production.load(ordering: .acquiring)) {
    case .ended: true
    case .group: scopeExtras?.children?.hasEnded ?? false
    case .some(.none), nil: false
    }
  }

  /// It has ended, after what it was started from: whoever refers to it still does not keep that.
  final func forgetEndedParent() {
    guard let extras = scopeExtras, let parent = extras.parent, parent.scope.isOver else { return }
    extras.replaceParent(by: parent.living)
  }

  /// Whether the body may still produce something.
  var mayProduce: Bool { true }

  /// Tells the body that executes to end, as far as that is possible without cancelling the run.
  func stopBody() {}

  /// Whether a cancel, also of what it is part of, cancels the task that executes it.
  var isCancelledByTask: Bool { false }

  /// Tells of something that the body produces.
  func report(_ kind: ProcedureEvent.Kind) {}

  /// Where it claims what it excludes others from.
  var resourceTable: ResourceTable { parent?.scope.resourceTable ?? .shared }

  /// Its place among those that wait for a slot.
  var linePriority: UInt8 { parent?.scope.linePriority ?? Task.currentPriority.rawValue }

  /// Something of this priority waits for it.
  func raise(to priority: TaskPriority) { parent?.scope.raise(to: priority) }

  /// Its body waits for something on a level inside of it, until `waitEnded`.
  func waitStarted(_ wait: InnerWait) { parent?.scope.waitStarted(wait) }

  func waitEnded(_ wait: InnerWait) { parent?.scope.waitEnded(wait) }

  /// Its number and that of its queue, if it is a run that others can wait for, or for the queue.
  var runNumbers: ResourceLedger.RunNumbers? { nil }

  /// Calls `handler` when it is cancelled otherwise than through the task that executes it; at once if it was before.
  func addCancellationHandler(key: AnyObject, _ handler: @escaping @Sendable () -> Void) {}

  func removeCancellationHandler(key: AnyObject) {}

  /// Ends a loan, and waits until there is a slot again. Cancelling the caller does not shorten the wait.
  func regainSlot() async {}

  /// The same, but a cancel of anything that `context` is part of ends the wait: the body then goes on without a slot.
  func regainSlot(unlessCancelled context: ProcedureContext) async {}

  /// Waits for the slot where a part that was cancelled has not waited for it: what is around that part needs it to go on.
  func waitForSlot(in context: ProcedureContext) async {}

  /// One of two copies has ended, and the other goes on, which may stand in line.
  func copyEnded() {}

  /// The body is about to start something anew: waits while the queue is suspended, or something comes first. A cancel of
  /// anything that `context` is part of ends the wait.
  func takeTurn(in context: ProcedureContext) async {}

  // MARK: Time

  /// The timers of its queue; without one those of the process.
  var timers: Timers { parent?.scope.timers ?? .shared }

  /// Where its schedules take their random numbers from.
  var randomNumbers: RandomNumbers { parent?.scope.randomNumbers ?? .system }

  /// The body waits between two pieces of its work, and holds nothing meanwhile. `pauseEnded` has to follow.
  ///
  /// - Parameter end: How long, if that is known.
  func pauseStarted(until end: ProcedureInstant?) {}

  /// The body has what it needs to go on.
  func pauseEnded() {}

  /// An attempt has failed, and another follows after a pause.
  func attemptFailed(_ attempt: Int, _ error: any Error, retriedAfter delay: Duration) {
    report(.retrying(attempt: attempt, delay: delay, error: error))
  }

  /// The pause is over, and the next attempt starts.
  func attemptStarted() {}
}
