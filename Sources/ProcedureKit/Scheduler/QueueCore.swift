import Synchronization

/// The engine of a queue. It protects the machine with a lock and performs the steps that the machine returns.
///
/// There are three ways to access the guarded state:
///
/// - `send` sends an event to the machine and performs the effects of the event after the lock is released.
/// - `update` changes the states of runs. The change must not let any run start or end.
/// - `read` reads the state and cannot change it.
///
/// The core neither calls the user's code nor releases the user's objects while it holds the lock.
///
/// The class is `package` because other modules use it.
@usableFromInline
package final class QueueCore: Sendable {
  /// The core for procedures that run without a queue. It has no limits and uses the continuous clock.
  static let unqueued = QueueCore(ProcedureQueue.Configuration("no queue"))

  /// The state that the lock guards. The type is noncopyable, so the state cannot be used unless the lock is held.
  struct State: ~Copyable, Sendable {
    /// The generator of seeds for schedules; `nil` if the queue has no seed.
    var seeds: SplitMix64?
    var isShutDown = false
    /// Whether the `ProcedureQueue` has been deallocated. If so, the event streams end with the last run.
    var isReleased = false
    /// The signals of graph workers that are waiting until the queue is resumed (Q2).
    var resumption: [OneShotSignal] = []
    /// Whether the queue cancels each run as soon as it is admitted, unless the run is within a shield.
    var cancelsAdmitted = false
    /// The runs that were cancelled because the queue was shut down, in the order of their cancellation; `nil` until a grace period ends.
    var cancelledByShutdown: [CancelledRun]?
    /// The failures in a scope, in the order in which they occurred. A scope that fails fast throws the first one.
    var failures: [ProcedureFailure] = []
    /// Whether the scope has ended. A scope that has ended does not collect failures.
    var isScopeOver = false
    /// The signals of tasks that are waiting until the queue has no runs (Q4).
    var emptyWaiters: [OneShotSignal] = []
    /// The signals of bodies that are waiting for their own queue to become idle.
    ///
    /// The queue is idle once every other run is also waiting for the queue to become idle.
    var idleWaiters: [OneShotSignal] = []
    /// The number of bodies, on any queue, that are waiting for this queue to become idle or to have room.
    var awaitingBodies = 0
    /// The procedure that ended most recently while a body was waiting for the queue to become idle or to have room.
    var latestEnd: ProcedureIdentity?
    /// The timers of the queue itself, one for each `TimedRule`; empty if no rule needs a timer.
    var ruleTimers: ContiguousArray<QueueTimer>
    var stall = StallDetector()
    /// The totals of the queue; `nil` if the queue does not collect totals.
    var totals: QueueTotals?
    /// The collections of runs that have ended, one for each model that shows the queue.
    var ends: [RunEnds] = []
    /// The `ProcedureQueue`; `nil` once it is deallocated.
    weak var queue: (any Actor)?

    // The properties that most events change come last, so that they are not on the cache line of the lock, which waiting threads read.

    var groups = WorkerGroups()
    var limiter: AdmissionLimiter
    /// The table of the unfinished runs, which gives access to the states of all runs on the queue.
    var runs: RunTable
    /// The workers. Runs store their numbers, because counting references to a worker for each run would be slow.
    var workers = Slots<CancellableTask?>()
    var machine: QueueMachine

    /// Returns the worker that executes the body of a run, if any.
    func worker(of run: Run) -> CancellableTask? { runs[run].worker < 0 ? nil : workers[runs[run].worker] }

    /// Removes a worker that has no next run. Returns `nil`, so that a caller can return the result as the worker's next job.
    mutating func workerEnded(_ number: Int32) -> Job? {
      workers[number] = nil
      workers.remove(number)
      return nil
    }

    /// Returns the unfinished runs that satisfy a predicate, in order of admission.
    func unfinishedRuns(where isIncluded: (Run, QueueMachine.Member) -> Bool) -> [Run] {
      machine.present.compactMap { member in runs[member].flatMap { isIncluded($0, machine[member]) ? $0 : nil } }
    }
  }

  /// The record of a run that a shutdown or `cancelWaiting` cancelled. It does not contain the run itself, which would keep other objects
  /// alive.
  struct CancelledRun: Sendable {
    let procedure: ProcedureIdentity
    let key: InternedKey?
    /// Whether the body had been called.
    ///
    /// One critical section starts the body, and another one cancels the run and reads this value. A body that is about to start when the
    /// run is cancelled is therefore either recorded as started or never called.
    let hasStarted: Bool

    /// Creates the record of a run that has just been cancelled. Returns `nil` for a child that a body produced, because such a child is
    /// not reported separately from its parent.
    init?(_ run: Run, _ state: borrowing State) {
      if run.kind == .added, run.parent != nil { return nil }
      (procedure, key, hasStarted) = (run.identity, run.key, run.hasStarted(state))
    }
  }

  /// The effects of an event, which are performed after the lock is released.
  struct Effects: Sendable {
    var next = QueueMachine.Next()
    var startsWorker = false
    private(set) var actions: [Action] = []

    enum Action: Sendable {
      case resume(Waiter)
      case signal(OneShotSignal)
      case giveRoom(AdmissionLimiter.Caller)
      case event(EventEffect)
      case progressEnded(ProgressNode, ProcedureOutcome<Void>)
      case endEvents
      case advance(Run, RunStep)
      case call(@Sendable () -> Void)
      /// Calls a function that the user provided, such as `onStall`. If the function uses the queue, its calls take effect before it
      /// returns.
      case report(@Sendable () -> Void)
      case resumeClaimants(Run)
      case startTimer(of: TimedRule, number: UInt64, after: Duration)
      case cancelTimer(TimerHeap.ID)
      case elementEnded(ResultExchange, Run)
      /// Releases runs that are dependencies or dependents, and with them possibly the last references to the user's objects.
      case release(any Sendable)

      /// Whether the action can advance a run and thereby trigger further actions.
      var advancesRun: Bool {
        switch self {
        case .advance, .call, .resumeClaimants: true
        case .resume, .signal, .giveRoom, .event, .endEvents, .report, .startTimer, .cancelTimer, .elementEnded: false
        case .progressEnded, .release: false
        }
      }
    }

    mutating func add(_ action: Action) { actions.append(action) }
    /// Adds the cancellation of a timer in front of the other actions, so that a task that one of them resumes does not find the timer
    /// pending.
    mutating func cancel(_ timer: TimerHeap.ID) { actions.insert(.cancelTimer(timer), at: 0) }
    mutating func send(_ signals: some Sequence<OneShotSignal>) {
      for signal in signals { actions.append(.signal(signal)) }
    }
  }

  // Two threads slow each other down if one of them writes a cache line that the other one uses. Therefore, the properties that workers
  // read for each run are kept away from the reference count, which `add` writes, and, as far as possible, from the lock.

  /// The settings of the queue. Values that are needed often, or in a different form, are also stored separately.
  let configuration: ProcedureQueue.Configuration
  package let time: QueueClock
  @usableFromInline package let executor: (any TaskExecutor)?
  let broadcaster = EventBroadcaster<ProcedureEvent>()
  @usableFromInline let limitsWaiting: Bool
  /// Whether the queue schedules or limits runs by their keys.
  let usesKeys: Bool
  /// Whether any rule measures how long runs wait for slots. If so, the machine needs the instant of each event.
  let measuresSlotWaits: Bool
  /// Whether a rule of the queue needs a timer (`QueueCore+Timers.swift`).
  let usesTimers: Bool
  /// Whether the queue has an interceptor, which is called around each body.
  let hasInterceptor: Bool
  /// Whether the queue is suspended. Graph workers read this flag before each node, without taking the lock.
  let gate: Atomic<Bool>
  let name: String
  package let timers: Timers
  let resources: ResourceTable
  /// The executions that coalesced procedures on this queue share.
  let executions = SharedWorkTable()
  /// The failure policy of the scope that owns the queue; `nil` if no scope owns it.
  let scopePolicy: FailurePolicy?
  private let state: Mutex<State>

  init(_ configuration: ProcedureQueue.Configuration, scopePolicy: FailurePolicy? = nil) {
    (self.configuration, self.scopePolicy) = (configuration, scopePolicy)
    (name, executor, resources) = (configuration.name, configuration.executor, configuration.resources)
    time = QueueClock(configuration.clock)
    // In real time, the timers do not use the executor, because blocking bodies can occupy all of its threads. In virtual time, they do,
    // because a test that advances its clock waits for the jobs on the executor of that clock.
    timers = Timers(time: time, executor: time.isReal ? nil : executor)
    let (machine, limiter) = (QueueMachine(configuration), AdmissionLimiter(configuration))
    (limitsWaiting, usesKeys, measuresSlotWaits) = (
      limiter.isLimited, machine.fairQueue.isUsed, machine.slotWaits.areMeasured
    )
    usesTimers = Self.usesTimers(configuration)
    hasInterceptor = configuration.interceptor != nil
    gate = Atomic(configuration.isSuspended)
    let ruleTimers: ContiguousArray<QueueTimer> =
      usesTimers ? .init(repeating: QueueTimer(), count: TimedRule.allCases.count) : []
    state = RunTable.locked { runs in
      State(
        seeds: configuration.seed.map(SplitMix64.init), ruleTimers: ruleTimers,
        totals: configuration.collectsTotals ? QueueTotals() : nil, limiter: limiter, runs: runs, machine: machine)
    }
  }

  deinit {
    for group in read({ $0.groups.all }) { group.close() }
    timers.close()
  }

  // MARK: The lock

  /// Sends an event to the machine and performs the effects on other runs after the lock is released.
  ///
  /// Returns the result of `event`, which is usually the next step of the run that the event is about.
  @inline(__always)
  func send<R: Sendable & ~Copyable>(_ event: (inout State, inout Effects) -> R) -> R {
    var effects = Effects()
    let isMeasured = isMeasured
    let reading = isMeasured || measuresSlotWaits ? time.lazyReading() : nil
    let result = state.withLock { state in
      if let reading { state.machine.timePassed(to: time.instant(of: reading).nanoseconds) }
      if isMeasured || state.machine.meters != nil { state.machine.setMeasured(isMeasured) }
      let result = event(&state, &effects)
      effects.startsWorker = state.machine.completeEvent(&effects.next)
      // Each event can make room. Waiting callers get the room before new callers do.
      if limitsWaiting {
        while let caller = state.limiter.takeNextCaller(&state.machine) { effects.add(.giveRoom(caller)) }
      }
      if !effects.next.steps.isEmpty || !effects.next.returned.isEmpty { Self.deliver(&state, &effects) }
      if usesTimers { adjustTimers(&state, &effects) }
      return result
    }
    if effects.startsWorker { startTask { await self.work() } }
    if !effects.actions.isEmpty { perform(effects.actions) }
    return result
  }

  /// Changes the states of runs. This function starts no worker and performs no effects, so a change that lets a run start or end must use
  /// `send` instead.
  func update<R: Sendable>(_ change: (inout RunTable) -> R) -> R {
    state.withLock { change(&$0.runs) }
  }

  /// Reads the state.
  func read<R: Sendable>(_ body: (borrowing State) -> R) -> R {
    state.withLock { body($0) }
  }

  /// Delivers the steps of other runs to their drivers and signals the bodies that no longer wait for their slots.
  private static func deliver(_ state: inout State, _ effects: inout Effects) {
    for (member, step) in effects.next.steps {
      guard let run = state.runs[member] else { continue }
      deliver(step, to: run, &state.runs, &effects)
    }
    for member in effects.next.returned {
      guard let run = state.runs[member] else { continue }
      effects.send(state.runs[run].changeDetails { $0.slotWaiters.takeAll() } ?? [])
    }
    (effects.next.steps, effects.next.returned) = ([], [])
  }

  /// Delivers a step to the driver of a run, unless the step is `wait`, or is `stale` because the event was late.
  ///
  /// | driver of the run | delivery of the step |
  /// |---|---|
  /// | no task (an added run) | by `Run.advance`, after the lock is released |
  /// | its caller's task | by resuming the task in `Run.nextStep`, or by storing the step until the task reads it there |
  static func deliver(_ step: RunStep, to run: Run, _ runs: inout RunTable, _ effects: inout Effects) {
    if step == .wait || step == .stale { return }
    if run.isDrivenByWorker {
      // No task is waiting for the step of an added run, so the run advances after the lock is released.
      effects.add(.advance(run, step))
    } else {
      // The caller's task drives the run. That task is either suspended in `nextStep`, or reads the stored step later.
      runs[run].details.step = step
      if let driver = runs[run].details.driver.take() { effects.add(.resume(driver)) }
    }
  }

  /// Performs the actions that cannot advance a run, and then those that can. Within each group, the order is kept.
  private func perform(_ actions: [Effects.Action]) {
    for action in actions where !action.advancesRun { perform(action) }
    guard actions.contains(where: \.advancesRun) else { return }
    Trampoline.call { for action in actions where action.advancesRun { self.perform(action) } }
  }

  private func perform(_ action: Effects.Action) {
    switch action {
    case .resume(let waiter): waiter.resume()
    case .signal(let signal): signal.signal()
    case .giveRoom(let caller):
      // If the caller has already been cancelled, its reservation is released for the next caller.
      if !caller.signal.signal() { send { state, _ in state.limiter.releaseReservation(caller.key) } }
    case .event(let effect): effect.perform()
    case .progressEnded(let progress, let outcome): progress.ended(outcome)
    case .endEvents: broadcaster.close()
    case .advance(let run, let step): run.advance(from: step)
    case .call(let function), .report(let function): function()
    case .resumeClaimants(let run): run.resumeClaimants()
    case .startTimer(let rule, let number, let duration): startTimer(of: rule, number: number, after: duration)
    case .cancelTimer(let timer): timers.cancel(timer)
    case .elementEnded(let exchange, let run): exchange.send(.finished(run))
    case .release: break
    }
  }

  /// Executes an operation in a new task of the queue, which is a child task of one of the queue's task groups.
  func startTask(_ operation: @escaping @Sendable () async -> Void) {
    let (group, isNew) = send { state, _ in state.groups.joined() }
    group.send(
      .add { [self] in
        await operation()
        send { state, _ in state.groups.left(group) }?.close()
      })
    if isNew { Spawner.startGroup(group, executor: executor) }
  }

  /// Returns a random number generator for one use of a schedule. Schedules call the user's code, so they cannot share a locked generator.
  func makeGenerator() -> any RandomNumberGenerator {
    send { state, _ in state.seeds?.next() }.map(SplitMix64.init) ?? SystemRandomNumberGenerator()
  }

  /// Whether the queue has no executor, or the current task executes on the queue's executor.
  var isExecutorCurrent: Bool {
    guard let executor else { return true }
    return withUnsafeCurrentTask { $0?.unownedTaskExecutor == executor.asUnownedTaskExecutor() }
  }
}
