import Synchronization

/// The parts of a queue: the machine under one lock, and what performs the steps that the machine decides.
///
/// `send` is the only door to the machine. The effects on others are performed after the lock has been left; nothing of a user's is called or
/// released under the lock.
@usableFromInline
final class QueueCore: Sendable {
  /// The queue of procedures without a queue: without limit, on the continuous clock.
  static let unqueued = QueueCore(name: "no queue")

  struct State: Sendable {
    var machine: QueueMachine<Run>
    var room: WaitingRoom
    var groups = WorkerGroups()
    /// The source of random numbers for schedules, in tests.
    var seeds: SplitMix64?
    var isShutDown = false
    /// Whether nobody can add anything more, so that the events end with the last run.
    var isReleased = false
    /// Workers of graphs that wait for the queue to be resumed.
    var resumption: [Wakeup] = []
    /// Whether what comes is cancelled at once.
    var cancelsArrivals = false
    /// The failures of a scope, in order. A scope that fails fast throws the first.
    var failures: [ProcedureFailure] = []
    /// Whether the scope has thrown its failures.
    var isScopeOver = false
    /// Tasks that wait until no run is there.
    var emptyWaiters: [Wakeup] = []
    /// Bodies of this queue that wait until no run is there but such bodies.
    var idleWaiters: [Wakeup] = []
    /// How many bodies, of whatever queue, wait for the idleness of this one or for room.
    var awaitingBodies = 0
    var stall = StallWatch()
    /// The totals of the queue, if they are collected.
    var totals: QueueTotals?
    /// The `ProcedureQueue`, as long as somebody refers to it.
    weak var queue: (any Actor)?
  }

  /// The effects of an event, performed after the lock has been left.
  struct Effects: Sendable {
    var next = QueueMachine<Run>.Next()
    var startsWorker = false
    private(set) var actions: [Action] = []

    enum Action: Sendable {
      case resume(Waiter)
      case call(Wakeup)
      case giveRoom(WaitingRoom.Caller)
      case event(EventEffect)
      case endEvents
      case goOn(Run, RunStep)
      case notify(RunDetails.Listener, ProcedureOutcome<Void>)
      case cancel(Run)
      case spread(@Sendable () -> Void)
      case claimGranted(Run)
      case cancelAll
      case watchForStall

      /// Whether the action leads a run on, which may cause the next action.
      var leadsOn: Bool {
        switch self {
        case .goOn, .notify, .cancel, .spread, .claimGranted, .cancelAll: true
        case .resume, .call, .giveRoom, .event, .endEvents, .watchForStall: false
        }
      }
    }

    mutating func add(_ action: Action) { actions.append(action) }
    mutating func call(_ wakeups: some Sequence<Wakeup>) { for wakeup in wakeups { actions.append(.call(wakeup)) } }
  }

  typealias Interceptor =
    @concurrent @Sendable (
      _ context: ProcedureContext, _ next: @escaping @concurrent @Sendable () async throws -> Void
    ) async throws -> Void

  let name: String
  let time: QueueTime
  let timers: Timers
  @usableFromInline let executor: (any TaskExecutor)?
  let carriers: [ContextCarrier]
  let resources: ResourceTable
  /// The executions that coalesced procedures of the queue share.
  let executions = SharedWorkTable()
  let hooks: ProcedureHooks?
  let interceptor: Interceptor?
  private let failureHandling: FailureHandling
  let broadcaster = EventBroadcaster<ProcedureEvent>()
  let limitsWaiting: Bool
  let stallReport: StallReport?
  let collectsTotals: Bool
  /// The log of the queue; `nil` for that of the process.
  let ownLog: ProcedureLog?
  /// Whether runs are told apart by their keys.
  let usesKeys: Bool
  /// Whether bodies execute as they are: no executor of its own, no hooks and no interceptor.
  @usableFromInline let isPlain: Bool
  private let state: Mutex<State>
  private let gate: Atomic<Bool>

  init(
    name: String, width: Int = .max, isSuspended: Bool = false, clock: any Clock<Duration> = ContinuousClock(),
    executor: (any TaskExecutor)? = nil, carriers: [ContextCarrier] = [], resources: ResourceTable = .shared,
    hooks: ProcedureHooks? = nil, room: WaitingRoom = WaitingRoom(limit: .max, overflow: .refuse),
    turns: KeyTurns = KeyTurns(), seed: UInt64? = nil,
    interceptor: Interceptor? = nil, failures: FailureHandling = .unobserved(nil), stallReport: StallReport? = nil,
    log: ProcedureLog? = nil, collectsTotals: Bool = false
  ) {
    (self.name, self.executor, self.carriers, self.resources) = (name, executor, carriers, resources)
    (self.hooks, self.interceptor, failureHandling) = (hooks, interceptor, failures)
    (self.stallReport, ownLog, self.collectsTotals) = (stallReport, log, collectsTotals)
    time = QueueTime(clock)
    timers = Timers(time: time, executor: executor)
    limitsWaiting = room.isLimited
    usesKeys = turns.isUsed
    isPlain = executor == nil && hooks == nil && interceptor == nil
    gate = Atomic(isSuspended)
    let machine = QueueMachine<Run>(width: width, isSuspended: isSuspended, turns: turns)
    state = Mutex(
      State(
        machine: machine, room: room, seeds: seed.map(SplitMix64.init), totals: collectsTotals ? QueueTotals() : nil))
  }

  deinit {
    for inbox in withState(\.groups.inboxes) { inbox.close() }
    timers.close()
  }

  // MARK: The door

  /// Tells the machine of an event, then performs what follows for others.
  @inline(__always)
  func send<R: Sendable>(_ event: (inout State, inout Effects) -> R) -> R {
    var effects = Effects()
    let reading = isMeasured ? time.readingIfAsked() : nil
    let result = state.withLock { state in
      if reading != nil || state.machine.meters != nil { state.measure(at: reading?.instant) }
      let result = event(&state, &effects)
      if limitsWaiting {
        while let caller = state.room.next(&state.machine) { effects.add(.giveRoom(caller)) }
      }
      if !effects.next.steps.isEmpty || !effects.next.returned.isEmpty { Self.hand(&state, &effects) }
      effects.startsWorker = state.machine.startsWorker()
      if stallReport != nil { watchForStall(&state, &effects) }
      return result
    }
    perform(effects)
    return result
  }

  /// Looks at the state, or changes details of a run. Starts no worker and performs no effects: a change by which a run could start, or
  /// end, goes through `send`.
  func withState<R: Sendable>(_ body: (inout State) -> R) -> R {
    state.withLock { body(&$0) }
  }

  /// Gives each step to the driver of its run.
  private static func hand(_ state: inout State, _ effects: inout Effects) {
    for (member, step) in effects.next.steps {
      guard let run = state.machine[member].payload else { continue }
      hand(step, to: run, &effects)
    }
    for member in effects.next.returned {
      effects.call(state.machine[member].payload?.details?.slotWaiters.takeAll() ?? [])
    }
    (effects.next.steps, effects.next.returned) = ([], [])
  }

  static func hand(_ step: RunStep, to run: Run, _ effects: inout Effects) {
    if run.isDrivenByWorker {
      effects.add(.goOn(run, step))
    } else {
      run.madeDetails.step = step
      if let caller = run.details?.caller.take() { effects.add(.resume(caller)) }
    }
  }

  private func perform(_ effects: borrowing Effects) {
    if effects.startsWorker { startTask { await Worker.work(for: self) } }
    if !effects.actions.isEmpty { perform(effects.actions) }
  }

  /// First what causes nothing else here, then, each after the other, what may cause the next.
  private func perform(_ actions: [Effects.Action]) {
    for action in actions where !action.leadsOn { perform(action) }
    guard actions.contains(where: \.leadsOn) else { return }
    Trampoline.call { for action in actions where action.leadsOn { self.perform(action) } }
  }

  private func perform(_ action: Effects.Action) {
    switch action {
    case .resume(let waiter): waiter.resume()
    case .call(let wakeup): wakeup.call()
    case .giveRoom(let caller):
      if !caller.wakeup.call() { send { state, _ in state.room.reservationEnded(caller.key) } }
    case .event(let effect): effect.perform()
    case .endEvents: broadcaster.close()
    case .goOn(let run, let step): run.goOn(from: step)
    case .notify(let listener, let outcome): listener(outcome)
    case .cancel(let run): run.cancel(nil)
    case .spread(let cancel): cancel()
    case .claimGranted(let run): run.claimGranted()
    case .cancelAll: cancelAll(nil, includesLater: true)
    case .watchForStall: adjustStallTimer()
    }
  }

  /// Starts a task of the queue.
  func startTask(_ operation: @escaping @Sendable () async -> Void) {
    let (inbox, isNew) = withState { $0.groups.joined() }
    inbox.put(
      .add { [self] in
        await operation()
        withState { $0.groups.left(inbox) }?.close()
      })
    if isNew { Spawner.startGroup(from: inbox, executor: executor) }
  }

  /// Returns a generator for one use of a schedule, which calls functions of the user's and so cannot share one under the lock.
  func makeGenerator() -> any RandomNumberGenerator {
    withState { $0.seeds?.next() }.map(SplitMix64.init) ?? SystemRandomNumberGenerator()
  }

  // MARK: Coming

  /// A run comes. Returns the next step of the run.
  @inline(__always)
  func arrived(
    _ run: Run, priority: UInt8, needs: QueueMachine<Run>.Needs, order: UInt64 = 0, isPart: Bool = false,
    _ state: inout State, _ effects: inout Effects
  ) -> RunStep {
    let (member, step) = state.machine.arrived(
      .init(
        payload: run, priority: priority, needs: needs, isDrivenByWorker: run.isDrivenByWorker,
        usesSlotOfParent: run.slotOwner !== run, isPart: isPart, takesRoom: run.isAddedByUser,
        order: order, key: usesKeys && run.slotOwner === run ? state.machine.turns.joined(run.keyID) : -1),
      partOf: run.isReported ? -1 : run.reported.member, &effects.next)
    run.member = member
    return step
  }

  // MARK: The queue as a whole

  func suspend() {
    send { state, effects in
      for run in state.machine.suspended() { run.giveBackClaim(&effects) }
      gate.store(true, ordering: .releasing)
    }
  }

  func resume() {
    send { state, effects in resumed(&state, &effects) }
  }

  private func resumed(_ state: inout State, _ effects: inout Effects) {
    state.machine.resumed(&effects.next)
    gate.store(false, ordering: .releasing)
    effects.call(state.resumption.takeAll())
  }

  /// Waits while the queue is suspended: a graph that executes starts no further node (Q2).
  func waitWhileSuspended(_ run: Run) async {
    while gate.load(ordering: .acquiring), !run.isToldToStop {
      let wakeup = Wakeup()
      let isSuspended = withState { state in
        guard state.machine.isSuspended else { return false }
        state.resumption.append(wakeup)
        return true
      }
      guard isSuspended else { return }
      _ = await run.withSlotReleased { await run.wait(at: wakeup) }
    }
  }

  /// Whether the queue is suspended, without the lock.
  var isGated: Bool { gate.load(ordering: .relaxed) }

  /// The last reference to the queue has gone: it goes on if it was suspended, since nobody could resume it, and its events end with its last run.
  func release() {
    send { state, effects in
      state.isReleased = true
      resumed(&state, &effects)
      Self.wakeIfIdle(&state, &effects)
    }
  }

  func events(bufferingNewest newest: Int) -> AsyncStream<ProcedureEvent> {
    broadcaster.subscribe(limit: eventLimit(newest: newest)).stream { [name] in
      await ProcedureContext.lendingSlot(forEventOf: name, $0)
    }
  }
  func eventLimit(newest: Int) -> EventLimit<ProcedureEvent> {
    EventLimit(newest: newest) { [name] in .gap($0, before: $1, on: name) }
  }
  func changeWidth(to width: Int) { send { state, effects in state.machine.widthChanged(to: width, &effects.next) } }
  var width: Int { withState { $0.machine.width } }
  var isSuspended: Bool { withState { $0.machine.isSuspended } }

  /// The runs that are there, in the order of their admission.
  func runs() -> [Run] {
    withState { state in state.machine.present.compactMap { state.machine[$0].payload } }
  }

  /// Cancels every run at once: none of them starts because another one has ended by that.
  func cancelAll(_ reason: (any Error)?, includesLater: Bool = false) {
    cancelRuns(includesLater: includesLater) { _, _ in Cancel(reason: reason) }
  }

  /// Cancels at once the runs for which `choose`, called under the lock, returns a cancel.
  func cancelRuns(includesLater: Bool = false, _ choose: (Run, QueueMachine<Run>.Member) -> Cancel?) {
    let reading = time.reading()
    send { state, effects in
      if includesLater { state.cancelsArrivals = true }
      for member in state.machine.present {
        let entry = state.machine[member]
        guard let run = entry.payload, run.isReported, let cancel = choose(run, entry) else { continue }
        run.mark(cancel.reason, at: reading, &state, &effects)
      }
    }
  }

  /// The queue takes nothing more; what is there goes on although the queue was suspended.
  func shutDown() {
    send { state, effects in
      state.isShutDown = true
      resumed(&state, &effects)
      for caller in state.room.takeAll(state.machine) { effects.add(.giveRoom(caller)) }
      Self.wakeIfIdle(&state, &effects)
    }
  }

  /// Waits until no run is there. A body of this queue waits until no run is there but those that wait for the same (Q4).
  func waitUntilIdle() async {
    let bodies = ProcedureContext.current?.run.living?.ancestors.filter { $0.core === self } ?? []
    let wakeup = Wakeup()
    send { state, effects in
      for body in bodies where body.member >= 0 { state.machine.idleWaitStarted(body.member) }
      if bodies.isEmpty { state.emptyWaiters.append(wakeup) } else { state.idleWaiters.append(wakeup) }
      Self.wakeIfIdle(&state, &effects)
    }
    if !wakeup.isOver {
      await ProcedureContext.waiting(for: .idle(self), at: wakeup) { await wakeup.waitUntilCalled() }
    }
    withState { state in
      for body in bodies where body.member >= 0 { state.machine.idleWaitEnded(body.member) }
    }
  }

  func wakeIfIdle() {
    send { state, effects in Self.wakeIfIdle(&state, &effects) }
  }

  @inline(__always)
  static func wakeIfIdle(_ state: inout State, _ effects: inout Effects) {
    if state.isReleased || state.isShutDown, state.machine.count == 0 { effects.add(.endEvents) }
    if !state.emptyWaiters.isEmpty, state.machine.count == 0 { effects.call(state.emptyWaiters.takeAll()) }
    if !state.idleWaiters.isEmpty, state.machine.isIdle { effects.call(state.idleWaiters.takeAll()) }
  }

  /// The runs for which a run waits that waits for this queue to be idle.
  func runs(awaitedBy run: Run) -> [Run] {
    let isInside = run.ancestors.contains { $0.core === self }
    return withState { state in
      state.machine.present.compactMap { member in
        let entry = state.machine[member]
        return entry.isPart || (isInside && entry.idleWaits > 0) ? nil : entry.payload
      }
    }
  }

  // MARK: Failures

  var failures: [ProcedureFailure] { withState(\.failures) }

  /// Returns the failures of a scope at its end. Failures after that are unobserved ones.
  func endScope() -> [ProcedureFailure] {
    withState { state in
      state.isScopeOver = true
      return state.failures
    }
  }

  /// A run has an outcome: a scope collects the failures of added runs. Called under the lock.
  @inline(__always)
  func ended(_ run: Run, _ outcome: Run.Outcome, _ state: inout State, _ effects: inout Effects) {
    guard case .failed(let error) = outcome, run.isAddedByUser, case .scope(let policy, _) = failureHandling,
      !state.isScopeOver
    else { return }
    run.setObserved()
    // A dependency in this scope has been collected itself.
    if (error as? ProcedureError)?.kind == .dependencyFailed, !(run.details?.failsFromOutside ?? false) { return }
    if policy == .failFast { effects.add(.cancelAll) }
    state.failures.append(ProcedureFailure(procedure: run.identity, error: error))
  }

  func tellOfUnobserved(_ failure: ProcedureFailure) {
    switch failureHandling {
    case .scope(_, let handler), .unobserved(let handler): handler.map { $0(failure) } ?? logUnobserved(failure)
    }
  }

  // MARK: Priority

  /// Moves a run up, and those that it waits for: its dependencies, its children, and the holders of what it claims (Q7).
  func raise(_ run: Run, to priority: UInt8) {
    let (isClaiming, dependencies, children) = withState { state -> (Bool, [any ProcedureDependency], [Run]) in
      guard run.member >= 0, state.machine.raised(run.member, to: priority) else { return (false, [], []) }
      return (
        state.machine[run.member].phase == .claiming, run.details?.dependencies ?? [],
        run.details.map { $0.children.inOrder } ?? []
      )
    }
    if isClaiming { resources.raise(run, to: priority) }
    guard !(dependencies.isEmpty && children.isEmpty) else { return }
    Trampoline.call {
      for other in dependencies.map(\.ofRun.dependencyRun) + children { other.core.raise(other, to: priority) }
    }
  }
}
