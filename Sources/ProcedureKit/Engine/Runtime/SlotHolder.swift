import Synchronization

/// Internal. A member of a queue: a run, or a worker of a graph that runs on the queue.
///
/// Invariant: what can change is atomic, or guarded by the lock of `core`; subclasses say what is not.
@usableFromInline
class SlotHolder: ProcedureScope, @unchecked Sendable {
  /// What is known of it from its beginning.
  struct Marks: OptionSet {
    let rawValue: UInt8

    /// It is an added run.
    static let detached = Marks(rawValue: 1)
    /// For a run: something has to be there for its body besides what it wants to hold.
    static let admission = Marks(rawValue: 2)
    /// For an added run: nothing has to happen before its body and after it.
    ///
    /// It may have a timeout, whose timer comes and goes with the body; a deadline counts from before that.
    static let bare = Marks(rawValue: 4)
    /// For an added run: its time is limited by a timeout only, and no hook of the queue comes before the body. Then it has no
    /// `limit`, and the worker that executes the body sees to it.
    static let timeout = Marks(rawValue: 8)
  }

  // In this order the first four take one word, together with what the superclass ends with.
  /// For an added run: whether it has finished, and whether anybody listens.
  final let flags = Atomic<UInt8>(0)
  /// For an added run, the priority with which it was admitted.
  final let priority: UInt8
  private let marks: Marks
  /// Its number in the queue's machine; -1 before it was admitted and after it has left.
  var member: Int32 = -1
  @usableFromInline let core: QueueCore

  @inline(__always)
  init(
    core: consuming QueueCore, extras: consuming RunExtras?, priority: UInt8 = 0, marks: Marks = []
  ) {
    self.core = core
    self.priority = priority
    self.marks = marks
    super.init(extras: extras)
  }

  final var isDetached: Bool { marks.contains(.detached) }

  final var hasAdmission: Bool { marks.contains(.admission) }

  final var isBare: Bool { marks.contains(.bare) }

  final var hasTimeout: Bool { marks.contains(.timeout) }

  /// What it has besides; `nil` for most. (Invariant: that of a member is of this class, as given to `init` or made here.)
  final var extras: RunExtras? { scopeExtras.map { unsafeDowncast($0, to: RunExtras.self) } }

  final var madeExtras: RunExtras { unsafeDowncast(madeScopeExtras, to: RunExtras.self) }

  final override func makeExtras() -> ScopeExtras { RunExtras() }

  final func addWaiter(_ waiter: Waiter) { madeExtras.waiters.append(waiter) }

  final func takeWaiters() -> [Waiter] { extras?.waiters.takeAll() ?? [] }

  final override var isOver: Bool { super.isOver && core.withState { _ in member < 0 } }

  /// Whether its next wake calls `granted` instead of resuming a task: once. Called under the lock.
  func takesCall() -> Bool { false }

  /// Called outside of the lock.
  func granted() {}

  /// Itself, where a worker of the queue executes it: cheaper than a cast. (Invariant: `DetachedRun` is marked so, and nothing else.)
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

  final override func copyEnded() { core.copyEnded(self) }

  final override func takeTurn(in context: ProcedureContext) async {
    await core.takeTurn(self, in: context)
  }

  final override var timers: Timers { core.timers }

  final override var randomNumbers: RandomNumbers { core.randomNumbers }
}
