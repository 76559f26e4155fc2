import Synchronization

/// Internal. A run that was added to a queue and outlives whoever added it.
///
/// It knows no type but its own: what is called and what comes of it are made by ``ProcedureQueue``, where the types are
/// known, so that no metadata is looked up while it goes its way.
///
/// Invariant: `worker` and `times` are guarded by the lock of `core`; for `extras` see ``RunExtras``. `body`
/// and `work` belong to the worker that executes them, and to whoever ends the run; `work` has the types that `body` asks for,
/// since both come from one function that is generic over them. `stored` is written before the outcome is
/// published, by whoever decides it: the worker that executed the body, or, under the lock, what ended the run before its
/// body; it is not read where a cancel overruled it. Once `isFinished` is true, which is published with release and read with
/// acquire, no more of these changes than `worker`, which is cleared under the lock, and what `releaseBody` lets go of, since
/// nobody else reads it then: `body`, `work`, and what a cancel overruled.
@usableFromInline
final class DetachedRun: Run, @unchecked Sendable {
  /// Executes the work, wherever it is called from; the work in it sees to it itself that it does not stay there.
  @usableFromInline
  typealias Body = @Sendable (DetachedRun) async throws -> BoxedValue

  /// The flags: `finished`, once the outcome can be read; `heard`, once somebody may listen. Whoever sets the second of them
  /// sees the first, so that either the listener is told or it is told that there is nothing to wait for.
  private static let finished: UInt8 = 1
  private static let heard: UInt8 = 2
  var body: Body?
  var work: AnyProcedureWork?
  var stored = Stored.nothing
  /// Whose task executes the body, or evaluates the conditions. (Invariant: only set as long as that task does, which keeps
  /// the worker; so it need not be counted here.)
  unowned(unsafe) var worker: QueueWorker?
  var times = RunTimes()

  @inline(__always)
  init(
    _ work: AnyProcedureWork, core: QueueCore, wanting resources: ResourceDemands?, parent: ProcedureContext? = nil,
    body: @escaping Body
  ) {
    let traits = work.traits
    let limit = traits.contents.limit
    let hasTimeout = limit != nil && limit?.deadline == nil && core.hooks == nil
    let extras =
      parent == nil && (limit == nil || hasTimeout)
      ? nil : RunExtras(startedFrom: parent, limit: hasTimeout ? nil : limit.map(RunLimit.init))
    let priority = traits.contents.rawPriority ?? Task.currentPriority.rawValue
    let isBare = work.hooks == nil && limit?.deadline == nil && !core.hasFinishHooks
    self.body = body
    self.work = work
    super.init(
      work, core: core, wanting: resources, extras: extras, priority: priority,
      marks: [.detached, isBare ? .bare : [], hasTimeout ? .timeout : []])
    if let hooks = work.hooks { madeExtras.hooks = hooks }
    if !core.carriers.isEmpty { madeExtras.bindings = core.carriers.map { $0.capture() } }
  }

  /// What the body calls, once.
  @usableFromInline
  func takeWork() -> AnyProcedureWork {
    guard let taken = work.take() else { executedTwice() }
    return taken
  }

  var bindings: [ContextCarrier.Binding] { extras?.bindings ?? [] }

  /// What it depends on, by the order of the dependencies; `nil` for those that have finished successfully.
  var dependencies: [ProcedureIdentity?] {
    get { extras?.dependencies ?? [] }
    set { madeExtras.dependencies = newValue }
  }

  var missingDependencies: Int {
    get { extras?.missingDependencies ?? 0 }
    set { madeExtras.missingDependencies = newValue }
  }

  /// What it depends on, as it was given, until it is settled.
  var dependencyHandles: [any ProcedureDependency] {
    get { extras?.dependencyHandles ?? [] }
    set { madeExtras.dependencyHandles = newValue }
  }

  /// A dependency has settled.
  ///
  /// - Returns: Which it was; `nil` if that was known.
  func takeDependency(at index: Int) -> ProcedureIdentity? { extras?.dependencies[index].take() }

  var storedLog: EventLog? {
    get { extras?.log }
    set { madeExtras.log = newValue }
  }

  override func stopBody() { core.stopBody(of: self) }

  override var isCancelledByTask: Bool { true }

  override var log: EventLog? { storedLog }

  /// What it still waits for.
  var unsettledDependencies: [ProcedureIdentity] { dependencies.compactMap(\.self) }

  override func refused(by error: ProcedureError) { store(.failed(error)) }

  // MARK: The end, and who waits for it

  @usableFromInline
  var isFinished: Bool {
    flags.load(ordering: .acquiring) & Self.finished != 0
  }

  /// Publishes the outcome. `notifyListeners` has to follow, outside of all locks.
  func publishOutcome() {
    flags.bitwiseOr(Self.finished, ordering: .acquiringAndReleasing)
  }

  /// Whether anything depends on it, as far as is known at this moment.
  var hasDependents: Bool {
    guard mayHaveListeners else { return false }
    return extras?.listeners.withLock { !$0.dependents.isEmpty } ?? false
  }

  /// Whether anybody may listen. If not, and the outcome has been published, nobody will.
  var mayHaveListeners: Bool { flags.load(ordering: .acquiring) & Self.heard != 0 }

  func notifyListeners() {
    guard mayHaveListeners, let extras else { return }
    let all = extras.listeners.withLock { listeners in
      let all = listeners
      listeners = RunExtras.Listeners()
      return all
    }
    for waiter in all.waiters { waiter.resume() }
    guard !all.dependents.isEmpty else { return }
    let outcome = outcomeWithoutValue
    for notify in all.dependents { notify(outcome) }
  }

  /// Adds a listener, unless the run has finished. Says whether it did.
  private func listen(_ add: (inout RunExtras.Listeners) -> Void) -> Bool {
    let extras = madeExtras
    flags.bitwiseOr(Self.heard, ordering: .acquiringAndReleasing)
    return extras.listeners.withLock { listeners in
      // Asked once, under the lock: whoever notifies takes it after the outcome has been published.
      if isFinished { return false }
      add(&listeners)
      return true
    }
  }

  /// Calls `notify` once: at once if the run has finished, as soon as it has otherwise.
  func whenFinished(_ notify: @escaping @Sendable (ProcedureOutcome<Void>) -> Void) {
    if isFinished || !listen({ $0.dependents.append(notify) }) { notify(outcomeWithoutValue) }
  }

  /// Returns when the run has finished. Cancelling the caller changes nothing.
  ///
  /// A body that waits here lends its queue its slot.
  @usableFromInline
  func waitUntilFinished() async {
    guard !isFinished else { return }
    guard let context = ProcedureContext.current else { return await suspendUntilFinished() }
    if context.isInside(self), core.isExecuting(self, in: withUnsafeCurrentTask { $0 }) {
      fatalError("\(identity) awaits its own outcome, inside its body: that can never come")
    }
    let lender = context.slotHolder
    lender?.lendSlot()
    await context.awaiting(.run(self)) {
      // What a body has produced is a part of it, and is cancelled with it.
      guard parent != nil else { return await suspendUntilFinished() }
      await withRunCancellationHandler(in: context, key: self) {
        await suspendUntilFinished()
      } onCancel: {
        if context.isInside(self.parent?.scope) { self.cancel(context.cancellationReason) }
      }
    }
    await lender?.regainSlot()
  }

  private func suspendUntilFinished() async {
    await Waiter.suspend { waiter in listen { $0.waiters.append(waiter) } }
  }
}

/// Internal. Why a run ends without its body having been executed, where it was not cancelled.
enum PrematureEnd: Sendable {
  case failed(any Error)
  case ignored(by: String)
}

/// Internal. When what happened to a run, in nanoseconds of its queue's clock; -1 for what did not.
struct RunTimes {
  var attached: Int64 = -1
  var started: Int64 = -1
  var ended: Int64 = -1
}

extension ProcedureContext {
  /// Whether a body is this one, or has it as a part.
  fileprivate func isInside(_ scope: ProcedureScope?) -> Bool {
    sequence(first: self, next: \.scope.parent).contains { $0.scope === scope }
  }

  /// The innermost member of this queue that this body is part of.
  func slotHolder(on core: QueueCore) -> SlotHolder? {
    sequence(first: self, next: \.scope.parent).lazy.compactMap(\.scope.slotHolder).first { $0.core === core }
  }

  /// The innermost member of any queue that this body is part of.
  var slotHolder: SlotHolder? {
    sequence(first: self, next: \.scope.parent).lazy.compactMap(\.scope.slotHolder).first { _ in true }
  }
}

extension ProcedureScope {
  /// The member of a queue behind this scope, if there is one.
  fileprivate var slotHolder: SlotHolder? {
    (self as? SlotHolder) ?? (self as? NodeScope)?.holder
  }
}
