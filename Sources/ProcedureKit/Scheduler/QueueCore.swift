import Synchronization

/// The parts of a queue: the machine under one lock, and what performs the steps that the machine decides.
///
/// There are three ways to what the lock guards:
///
/// - `send` tells the machine of an event, and performs the effects on others after the lock has been left.
/// - `update` changes the states of runs by which no run can start or end.
/// - `read` reads, and can change nothing.
///
/// No code of a user is called, and no object of a user is released, under the lock.
///
/// `package` for `ProcedureKitRemote`.
@usableFromInline
package final class QueueCore: Sendable {
  /// The queue of procedures without a queue: without limit, on the continuous clock.
  static let unqueued = QueueCore(name: "no queue")

  /// What the lock guards. It cannot be copied, so that no part of it leaves the lock.
  struct State: ~Copyable, Sendable {
    var machine: QueueMachine
    /// The runs, and the states of all runs of the queue.
    var runs = RunTable()
    var limiter: AdmissionLimiter
    var groups = WorkerGroups()
    /// The source of random numbers for schedules, in tests.
    var seeds: SplitMix64?
    var isShutDown = false
    /// Whether nobody can add anything more, so that the events end with the last run.
    var isReleased = false
    /// Workers of graphs that wait for the queue to be resumed.
    var resumption: [OneShotSignal] = []
    /// Whether what comes is cancelled at once.
    var cancelsAdmitted = false
    /// The failures of a scope, in order. A scope that fails fast throws the first.
    var failures: [ProcedureFailure] = []
    /// Whether the scope has thrown its failures.
    var isScopeOver = false
    /// Tasks that wait until no run is there.
    var emptyWaiters: [OneShotSignal] = []
    /// Bodies of this queue that wait until no run is there but such bodies.
    var idleWaiters: [OneShotSignal] = []
    /// How many bodies, of whatever queue, wait for the idleness of this one or for room.
    var awaitingBodies = 0
    var stall = StallDetector()
    /// The totals of the queue, if they are collected.
    var totals: QueueTotals?
    /// The `ProcedureQueue`, as long as somebody refers to it.
    weak var queue: (any Actor)?
  }

  /// The effects of an event, performed after the lock has been left.
  struct Effects: Sendable {
    var next = QueueMachine.Next()
    var startsWorker = false
    private(set) var actions: [Action] = []

    enum Action: Sendable {
      case resume(Waiter)
      case call(OneShotSignal)
      case giveRoom(AdmissionLimiter.Caller)
      case event(EventEffect)
      case endEvents
      case advance(Run, RunStep)
      case notify(RunDetails.Listener, ProcedureOutcome<Void>)
      case cancel(Run)
      case propagate(@Sendable () -> Void)
      case claimGranted(Run)
      case cancelAll
      case watchForStall

      /// Whether the action leads a run on, which may cause the next action.
      var advancesRun: Bool {
        switch self {
        case .advance, .notify, .cancel, .propagate, .claimGranted, .cancelAll: true
        case .resume, .call, .giveRoom, .event, .endEvents, .watchForStall: false
        }
      }
    }

    mutating func add(_ action: Action) { actions.append(action) }
    mutating func call(_ signals: some Sequence<OneShotSignal>) {
      for signal in signals { actions.append(.call(signal)) }
    }
  }

  typealias Interceptor =
    @concurrent @Sendable (
      _ context: ProcedureContext, _ next: @escaping @concurrent @Sendable () async throws -> Void
    ) async throws -> Void

  let name: String
  let time: QueueClock
  package let timers: Timers
  @usableFromInline let executor: (any TaskExecutor)?
  let carriers: [ContextCarrier]
  let resources: ResourceTable
  /// The executions that coalesced procedures of the queue share.
  let executions = SharedWorkTable()
  let hooks: ProcedureHooks?
  let interceptor: Interceptor?
  let failureHandling: FailureHandling
  let broadcaster = EventBroadcaster<ProcedureEvent>()
  let limitsWaiting: Bool
  let stallReport: StallReport?
  let collectsTotals: Bool
  /// The log of the queue; `nil` for that of the process.
  let ownLog: ProcedureLog?
  /// Whether runs are told apart by their keys.
  let usesKeys: Bool
  /// Whether bodies execute as they are: no executor of its own, no hooks and no interceptor.
  @usableFromInline let hasNoHooks: Bool
  let state: Mutex<State>
  let gate: Atomic<Bool>

  init(
    name: String, width: Int = .max, isSuspended: Bool = false, clock: any Clock<Duration> = ContinuousClock(),
    executor: (any TaskExecutor)? = nil, carriers: [ContextCarrier] = [], resources: ResourceTable = .shared,
    hooks: ProcedureHooks? = nil, limiter: AdmissionLimiter = AdmissionLimiter(limit: .max, overflow: .refuse),
    fairQueue: FairQueue = FairQueue(), seed: UInt64? = nil,
    interceptor: Interceptor? = nil, failures: FailureHandling = .unobserved(nil), stallReport: StallReport? = nil,
    log: ProcedureLog? = nil, collectsTotals: Bool = false
  ) {
    (self.name, self.executor, self.carriers, self.resources) = (name, executor, carriers, resources)
    (self.hooks, self.interceptor, failureHandling) = (hooks, interceptor, failures)
    (self.stallReport, ownLog, self.collectsTotals) = (stallReport, log, collectsTotals)
    time = QueueClock(clock)
    timers = Timers(time: time, executor: executor)
    limitsWaiting = limiter.isLimited
    usesKeys = fairQueue.isUsed
    hasNoHooks = executor == nil && hooks == nil && interceptor == nil
    gate = Atomic(isSuspended)
    let machine = QueueMachine(width: width, isSuspended: isSuspended, fairQueue: fairQueue)
    state = Mutex(
      State(
        machine: machine, limiter: limiter, seeds: seed.map(SplitMix64.init),
        totals: collectsTotals ? QueueTotals() : nil))
  }

  deinit {
    for inbox in read({ $0.groups.inboxes }) { inbox.close() }
    timers.close()
  }

  // MARK: The lock

  /// Tells the machine of an event, then performs what follows for others.
  @inline(__always)
  func send<R: Sendable>(_ event: (inout State, inout Effects) -> R) -> R {
    var effects = Effects()
    let reading = isMeasured ? time.lazyReading() : nil
    let result = state.withLock { state in
      if reading != nil || state.machine.meters != nil { state.measure(at: reading?.instant) }
      let result = event(&state, &effects)
      if limitsWaiting {
        while let caller = state.limiter.takeNextCaller(&state.machine) { effects.add(.giveRoom(caller)) }
      }
      if !effects.next.steps.isEmpty || !effects.next.returned.isEmpty { Self.deliver(&state, &effects) }
      effects.startsWorker = state.machine.startsWorker()
      if stallReport != nil { watchForStall(&state, &effects) }
      return result
    }
    perform(effects)
    return result
  }

  /// Changes the states of runs. Starts no worker and performs no effects: a change by which a run could start, or end, goes through `send`.
  func update<R: Sendable>(_ change: (inout RunTable) -> R) -> R {
    state.withLock { change(&$0.runs) }
  }

  /// Reads the state.
  func read<R: Sendable>(_ body: (borrowing State) -> R) -> R {
    state.withLock { body($0) }
  }

  /// Gives each step to the driver of its run.
  private static func deliver(_ state: inout State, _ effects: inout Effects) {
    for (member, step) in effects.next.steps {
      guard let run = state.runs[member] else { continue }
      deliver(step, to: run, &state.runs, &effects)
    }
    for member in effects.next.returned {
      guard let run = state.runs[member] else { continue }
      effects.call(state.runs[run].changeDetails { $0.slotWaiters.takeAll() } ?? [])
    }
    (effects.next.steps, effects.next.returned) = ([], [])
  }

  /// Gives a step to the driver of a run. A run that waits, or has advanced already, gets none.
  static func deliver(_ step: RunStep, to run: Run, _ runs: inout RunTable, _ effects: inout Effects) {
    if step == .wait || step == .stale { return }
    if run.isDrivenByWorker {
      effects.add(.advance(run, step))
    } else {
      runs[run].details.step = step
      if let driver = runs[run].details.driver.take() { effects.add(.resume(driver)) }
    }
  }

  private func perform(_ effects: borrowing Effects) {
    if effects.startsWorker { startTask { await Worker.work(for: self) } }
    if !effects.actions.isEmpty { perform(effects.actions) }
  }

  /// First what causes nothing else here, then, each after the other, what may cause the next.
  private func perform(_ actions: [Effects.Action]) {
    for action in actions where !action.advancesRun { perform(action) }
    guard actions.contains(where: \.advancesRun) else { return }
    Trampoline.call { for action in actions where action.advancesRun { self.perform(action) } }
  }

  private func perform(_ action: Effects.Action) {
    switch action {
    case .resume(let waiter): waiter.resume()
    case .call(let signal): signal.signal()
    case .giveRoom(let caller):
      if !caller.signal.signal() { send { state, _ in state.limiter.releaseReservation(caller.key) } }
    case .event(let effect): effect.perform()
    case .endEvents: broadcaster.close()
    case .advance(let run, let step): run.advance(from: step)
    case .notify(let listener, let outcome): listener(outcome)
    case .cancel(let run): run.cancel(nil)
    case .propagate(let cancel): cancel()
    case .claimGranted(let run): run.claimGranted()
    case .cancelAll: cancelAll(nil, includesLater: true)
    case .watchForStall: adjustStallTimer()
    }
  }

  /// Starts a task of the queue.
  func startTask(_ operation: @escaping @Sendable () async -> Void) {
    let (inbox, isNew) = send { state, _ in state.groups.joined() }
    inbox.send(
      .add { [self] in
        await operation()
        send { state, _ in state.groups.left(inbox) }?.close()
      })
    if isNew { Spawner.startGroup(from: inbox, executor: executor) }
  }

  /// Returns a generator for one use of a schedule, which calls functions of the user's and so cannot share one under the lock.
  func makeGenerator() -> any RandomNumberGenerator {
    send { state, _ in state.seeds?.next() }.map(SplitMix64.init) ?? SystemRandomNumberGenerator()
  }

  // MARK: Admission

  /// A run comes. Returns the next step of the run.
  @inline(__always)
  func admitted(
    _ run: Run, priority: UInt8, needs: QueueMachine.Needs, order: UInt64 = 0, isNested: Bool = false,
    _ state: inout State, _ effects: inout Effects
  ) -> RunStep {
    let (member, step) = state.machine.admitted(
      .init(
        priority: priority, needs: needs, isDrivenByWorker: run.isDrivenByWorker,
        usesSlotOfParent: run.slotOwner !== run, isNested: isNested, takesRoom: run.isAddedByUser,
        order: order, key: usesKeys && run.slotOwner === run ? state.machine.fairQueue.joined(run.keyID) : -1),
      partOf: run.isReported ? -1 : state.runs[run.reported].member, &effects.next)
    state.runs.insert(run, at: member)
    return step
  }
}
