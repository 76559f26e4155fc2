import Synchronization

/// Internal. A member of a queue: a run, or a worker of a graph that runs on the queue.
///
/// Invariant: everything that can change is guarded by the lock of `core`, and only `QueueCore` touches it.
@usableFromInline
class SlotHolder: ProcedureScope, @unchecked Sendable {
  /// Its number in the queue's machine; -1 before it was admitted and after it has left.
  var member: Int32 = -1
  /// Whether its next wake calls `granted` instead of resuming a task, because it has no task yet to wait with.
  var isWokenByCall = false
  /// For an added run: whether it has finished, and whether anybody listens.
  final let flags = Atomic<UInt8>(0)
  /// For an added run, the priority with which it was admitted.
  final let priority: UInt8
  /// Whether it is an added run.
  final let isDetached: Bool
  /// For a run: whether something has to be there for its body besides what it wants to hold.
  final let hasAdmission: Bool
  /// For an added run: whether nothing has to happen before its body and after it.
  ///
  /// It may have a timeout, whose timer comes and goes with the body; a deadline counts from before that.
  final let isBare: Bool
  /// For an added run: whether its time is limited by a timeout only, and no hook of the queue comes before the body. Then it has no
  /// `limit`, and the worker that executes the body sees to it.
  final let hasTimeout: Bool
  @usableFromInline let core: QueueCore
  final var extras: RunExtras?

  @inline(__always)
  init(
    core: consuming QueueCore, origin: consuming Origin?, priority: UInt8 = 0, isDetached: Bool = false,
    isBare: Bool = false, hasAdmission: Bool = false, hasTimeout: Bool = false
  ) {
    self.isDetached = isDetached
    self.core = core
    self.priority = priority
    self.isBare = isBare
    self.hasAdmission = hasAdmission
    self.hasTimeout = hasTimeout
    super.init(origin: origin)
  }

  final var madeExtras: RunExtras {
    if let extras { return extras }
    let made = RunExtras()
    extras = made
    return made
  }

  final func addWaiter(_ waiter: Waiter) { madeExtras.waiters.append(waiter) }

  final func takeWaiters() -> [Waiter] { extras?.waiters.takeAll() ?? [] }

  final override var isOver: Bool { super.isOver && core.withState { _ in member < 0 } }

  /// Called outside of the lock.
  func granted() {}

  /// Itself, where a worker of the queue executes it: cheaper than a cast. (Invariant: `isDetached` is set by `DetachedRun`.)
  final var detachedRun: DetachedRun? { isDetached ? unsafeDowncast(self, to: DetachedRun.self) : nil }

  final override var linePriority: UInt8 {
    core.withState { state in member >= 0 ? state[self].priority : TaskPriority.medium.rawValue }
  }

  final override var resourceTable: ResourceTable { core.resources }

  override func lendSlot() {
    core.lend(self)
  }

  override func regainSlot() async {
    await core.regain(self)
  }

  final override func regainSlot(unlessCancelled context: ProcedureContext) async {
    await core.regain(self, unlessCancelled: context)
  }

  final override func waitForSlot(in context: ProcedureContext) async {
    await core.waitForSlot(self, in: context)
  }

  final override func takeTurn(in context: ProcedureContext) async {
    await core.takeTurn(self, in: context)
  }

  final override var timers: Timers { core.timers }

  final override var randomNumbers: RandomNumbers { core.randomNumbers }
}
