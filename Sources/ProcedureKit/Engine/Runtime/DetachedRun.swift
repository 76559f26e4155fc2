import Synchronization

/// Internal. A run that was added to a queue and outlives whoever added it.
///
/// Invariant: `worker`, `admission`, `times`, `extras` with all in them, and `cancellation` are guarded by the lock of `core`. What subclasses store of the body belongs to the worker that executes it, and to nobody before and
/// after. Nothing of all that changes once `isFinished` is true, which is published with release and read with acquire.
@usableFromInline
class DetachedRun: Run, @unchecked Sendable {
  /// Who wants to know of the end; made for the first of them.
  private final class Listeners: Sendable {
    struct Contents {
      var waiters: [Waiter] = []
      var dependents: [@Sendable (ProcedureOutcome<Void>) -> Void] = []
    }

    let contents = Mutex(Contents())
  }

  /// What most runs never need.
  private final class Extras {
    var dependencies: [ProcedureIdentity?] = []
    var missingDependencies = 0
    var dependencyHandles: [any ProcedureDependency] = []
    var awaitedRuns: [DetachedRun] = []
    var log: EventLog?
  }

  let priority: TaskPriority
  private let finishedFlag = Atomic(false)
  private let listeners = AtomicLazyReference<Listeners>()
  let bindings: [ContextCarrier.Binding]
  var worker: QueueWorker?
  var times = RunTimes()
  private var extras: Extras?

  init(
    name: String, priority: TaskPriority, admission: Admission, limit: TimeLimit?, bindings: [ContextCarrier.Binding],
    core: QueueCore, parent: ProcedureContext?
  ) {
    self.priority = priority
    self.bindings = bindings
    super.init(name: name, admission: admission, limit: limit, core: core, parent: parent)
  }

  private var madeExtras: Extras {
    if let extras { return extras }
    let made = Extras()
    extras = made
    return made
  }

  /// What it depends on, by the order of the dependencies; `nil` for those that have finished successfully.
  final var dependencies: [ProcedureIdentity?] {
    get { extras?.dependencies ?? [] }
    set { madeExtras.dependencies = newValue }
  }

  final var missingDependencies: Int {
    get { extras?.missingDependencies ?? 0 }
    set { madeExtras.missingDependencies = newValue }
  }

  /// What it depends on, as it was given, until it is settled.
  final var dependencyHandles: [any ProcedureDependency] {
    get { extras?.dependencyHandles ?? [] }
    set { madeExtras.dependencyHandles = newValue }
  }

  /// A dependency has settled.
  ///
  /// - Returns: Which it was; `nil` if that was known.
  final func takeDependency(at index: Int) -> ProcedureIdentity? { extras?.dependencies[index].take() }

  /// What its body waits for at this moment.
  final var awaitedRuns: [DetachedRun] { extras?.awaitedRuns ?? [] }

  final func noteAwaitedRun(_ run: DetachedRun) { madeExtras.awaitedRuns.append(run) }

  /// - Returns: The reference that was forgotten, to be let go of outside of the lock.
  final func forgetAwaitedRun(_ run: DetachedRun) -> DetachedRun? {
    guard let extras, let index = extras.awaitedRuns.lastIndex(where: { $0 === run }) else { return nil }
    return extras.awaitedRuns.remove(at: index)
  }

  final var storedLog: EventLog? {
    get { extras?.log }
    set { madeExtras.log = newValue }
  }

  final override func stopBody() { core.stopBody(of: self) }

  final override var isCancelledByTask: Bool { true }

  final override var awaitableRun: UInt64? { id.number }

  final override var detachedRun: DetachedRun? { self }

  final override var log: EventLog? { storedLog }

  /// What it still waits for.
  var unsettledDependencies: [ProcedureIdentity] { dependencies.compactMap(\.self) }

  /// The outcome, of which the value is left out. Only once it is decided.
  var outcomeWithoutValue: ProcedureOutcome<Void> {
    preconditionFailure("\(type(of: self)) has to know its outcome")
  }

  /// Executes the body, with its context and all that was carried here for it.
  ///
  /// - Parameter hold: What it holds meanwhile.
  final func execute(holding hold: ResourceClaim?) async {
    guard bindings.isEmpty else { return await inContext(holding: hold) { await $0.executeBody() } }
    await ProcedureContext(scope: self, hold: hold).run { await executeBody() }
  }

  /// Calls what is to be called before the outcome can be read, and stores what that makes of it.
  final func callWillFinishHooks() async {
    await inContext { await $0.prepareEnding() }
  }

  /// Calls what is to be called once the outcome can be read.
  final func callDidFinishHooks() async {
    await inContext { await $0.completeEnding() }
  }

  private func inContext(
    holding hold: ResourceClaim? = nil, _ operation: @escaping @Sendable (DetachedRun) async -> Void
  ) async {
    let context = ProcedureContext(scope: self, hold: hold)
    await Self.bind(bindings[...]) { await context.run { await operation(self) } }
  }

  /// Whether something is called when the outcome is decided.
  var hasEnding: Bool { false }

  func prepareEnding() async {}

  func completeEnding() async {}

  /// Evaluates conditions with all that was carried here for the run.
  static func judge(_ conditions: [Condition], _ bindings: [ContextCarrier.Binding]) async -> ConditionVerdict {
    guard !bindings.isEmpty else { return await Condition.judge(conditions) }
    let judgement = CancellableWork<ConditionVerdict>()
    await bind(bindings[...]) { await judgement.execute { await Condition.judge(conditions) } }
    return judgement.result
  }

  /// Calls `operation` with all bindings in force, the first outermost.
  private static func bind(
    _ bindings: ArraySlice<ContextCarrier.Binding>, _ operation: @escaping @Sendable () async -> Void
  ) async {
    guard let binding = bindings.first else { return await operation() }
    await binding { await bind(bindings.dropFirst(), operation) }
  }

  /// Executes the body and stores what became of it.
  func executeBody() async {
    preconditionFailure("\(type(of: self)) has to have a body")
  }

  /// Stores an outcome that was decided before the body.
  func store(_ decision: PrematureEnd) {
    preconditionFailure("\(type(of: self)) has to store its outcome")
  }

  final override func refused(by error: ProcedureError) { store(.failed(error)) }

  /// Lets go of all that only the body needed, and of a value that a cancel overruled.
  func releaseBody() {
    admission = .free
  }

  // MARK: The end, and who waits for it

  @usableFromInline
  final var isFinished: Bool {
    finishedFlag.load(ordering: .acquiring)
  }

  /// Publishes the outcome. `notifyListeners` has to follow, outside of all locks.
  func publishOutcome() {
    finishedFlag.store(true, ordering: .releasing)
  }

  /// Whether anything depends on it, as far as is known at this moment.
  var hasDependents: Bool {
    listeners.load()?.contents.withLock { !$0.dependents.isEmpty } ?? false
  }

  func notifyListeners() {
    // Whoever comes from now on sees that the outcome is there: of two who write before the fence and read after it what
    // the other has written, at least one sees it.
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    guard let listeners = listeners.load() else { return }
    let contents = listeners.contents.withLock { contents in
      let all = contents
      contents = Listeners.Contents()
      return all
    }
    for waiter in contents.waiters { waiter.resume() }
    guard !contents.dependents.isEmpty else { return }
    let outcome = outcomeWithoutValue
    for notify in contents.dependents { notify(outcome) }
  }

  /// Adds a listener, unless the run has finished. Says whether it did.
  private func listen(_ add: (inout Listeners.Contents) -> Void) -> Bool {
    let listeners = listeners.load() ?? listeners.storeIfNil(Listeners())
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    return listeners.contents.withLock { contents in
      // Asked once, under the lock: whoever notifies takes it after the outcome has been published.
      if isFinished { return false }
      add(&contents)
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
    let context = ProcedureContext.current
    if context?.scope === self, core.isExecuting(self, in: withUnsafeCurrentTask { $0 }) {
      fatalError("\(identity) awaits its own outcome, inside its body: that can never come")
    }
    guard let context else { return await suspendUntilFinished() }
    let lender = context.slotHolder
    lender?.lendSlot()
    await awaited(in: context) {
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
  var cancelled: Int64 = -1
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
