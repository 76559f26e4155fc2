import Synchronization

/// The threads of one exploration, apart from the threads of the runtime's pool.
///
/// The explorer's own task runs on the driver, as do the jobs of a schedule until a waker is overtaken: the waker's
/// thread is then parked in the middle of its job, and another carrier gets the baton. The crew also knows which wakes
/// are no choices, since a wait for a lock has shown that they happen under a lock.
final class Crew: TaskExecutor {
  private struct State {
    var idle: [Carrier] = []
    var everybody: [Carrier]
    var lockDepths: Set<UInt> = []
    var executor: ScheduleExecutor?
    var usesLocks = false
  }

  /// The thread of the explorer's own task.
  let driver: Carrier

  /// The file that a crash leaves behind.
  let crashTrail = CrashTrail()

  private let state: Mutex<State>
  private let dismissal = Platform.Signal()

  init() {
    driver = Carrier.start { _, order in
      if case .host(let job, let crew) = order { job.runSynchronously(on: crew.asUnownedTaskExecutor()) }
    }
    state = Mutex(State(everybody: [driver]))
    _ = JobKind.isKnown
  }

  /// Starts to watch the steps of the schedules: for wakes under a lock, and for steps that take longer than
  /// `stepTimeout`, which are reported once to `didHang`.
  func startWatch(stepTimeout: Duration, didHang: @escaping @Sendable (ScheduleExecutor) -> Void) {
    Platform.startThread { [dismissal, weak self] in
      var watch = StepWatch(stepTimeout: stepTimeout)
      while !dismissal.wait(atMost: StepWatch.tick) {
        guard let self else { return }
        if let hanging = watch.look(at: self.executor, of: self.state.withLock({ $0.everybody })) { didHang(hanging) }
      }
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    driver.give(.host(UnownedJob(job), self))
  }

  /// The executor of the current schedule.
  var executor: ScheduleExecutor? {
    get { state.withLock { $0.executor } }
    set { state.withLock { $0.executor = newValue } }
  }

  /// Whether the exploration uses explored locks or atomics, so that the driver must not run jobs.
  var usesLocks: Bool {
    get { state.withLock { $0.usesLocks } }
    set { state.withLock { $0.usesLocks = newValue } }
  }

  /// Returns whether wakes at `depth` of the stack are known to happen under a lock.
  func isUnderLock(_ depth: UInt) -> Bool { state.withLock { $0.lockDepths.contains(depth) } }

  /// Remembers that wakes at `depth` of the stack happen under a lock.
  func didFindLock(_ depth: UInt) { state.withLock { _ = $0.lockDepths.insert(depth) } }

  /// Takes an idle carrier, or a new one.
  func takeCarrier() -> Carrier {
    state.withLock { state in
      if let idle = state.idle.popLast() { return idle }
      let carrier = Carrier.start { carrier, order in
        if case .run(let job, let executor) = order { executor.carry(job, on: carrier) }
      }
      state.everybody.append(carrier)
      return carrier
    }
  }

  func didBecomeIdle(_ carrier: Carrier) {
    state.withLock { $0.idle.append(carrier) }
  }

  /// Ends all threads that are not stuck, and removes the file for a crash.
  func dismiss() {
    dismissal.give()
    crashTrail?.remove()
    for carrier in state.withLock({ $0.everybody }) { carrier.give(.leave) }
  }
}

/// A thread of an exploration. One carrier at a time has the baton and runs jobs; all others wait for an order.
final class Carrier: Sendable {
  enum Order: Sendable {
    /// Run the explorer's own job.
    case host(UnownedJob, Crew)
    /// Take the baton, and run the job first.
    case run(ReadyJob, ScheduleExecutor)
    /// Go on with the parked job.
    case goOn
    /// For the driver: look whether the schedule stands still.
    case look
    /// End the thread.
    case leave
  }

  private struct State {
    var orders: [Order] = []
    var file: String?
    var stackBase: UInt = 0
    var stackStart: UInt = 0
  }

  private let state = Mutex(State())
  private let signal = Platform.Signal()

  /// Makes a carrier whose thread performs every order with `perform`, until the order to leave.
  static func start(_ perform: @escaping @Sendable (Carrier, Order) -> Void) -> Carrier {
    let carrier = Carrier()
    Platform.startThread {
      carrier.state.withLock { $0.file = Platform.currentThreadFile }
      while true {
        let order = carrier.take()
        if case .leave = order { return }
        perform(carrier, order)
      }
    }
    return carrier
  }

  /// Whether the carrier's thread sleeps in the kernel; `nil` if that is not known.
  var isSleeping: Bool? { Platform.isSleeping(state.withLock { $0.file }) }

  /// The address on the carrier's stack from which the depth of a job's calls is measured.
  var stackBase: UInt {
    get { state.withLock { $0.stackBase } }
    set {
      state.withLock { state in
        state.stackBase = newValue
        state.stackStart = max(state.stackStart, newValue)
      }
    }
  }

  /// Whether the stack has room for further jobs on top of jobs that never go on.
  var hasRoom: Bool { state.withLock { $0.stackStart - $0.stackBase < Platform.stackSize / 2 } }

  func give(_ order: Order) {
    state.withLock { $0.orders.append(order) }
    signal.give()
  }

  /// Blocks the thread until there is an order.
  func take() -> Order {
    signal.wait()
    return state.withLock { $0.orders.removeFirst() }
  }

  /// Blocks the thread until the parked job goes on.
  ///
  /// A carrier of an abandoned schedule never goes on, and runs jobs of later schedules instead.
  func waitUntilGoingOn() {
    while true {
      switch take() {
      case .goOn: return
      case .run(let job, let executor): executor.carry(job, on: self)
      case .host, .look, .leave: break
      }
    }
  }
}

/// The permits to run an exploration: one for each processor, given in order of arrival.
///
/// Explorations have threads of their own. Without a limit, the explorations of a test run would all compete for the
/// processors at the same time. An exploration that waits for a permit occupies no thread.
final class ExplorationPermits: Sendable {
  static let shared = ExplorationPermits(count: Platform.processorCount)

  private let gate = Gate<Void>()

  init(count: Int) {
    for _ in 0..<max(count, 1) { giveBack() }
  }

  /// Waits for a permit.
  ///
  /// - Throws: `CancellationError` if the task is cancelled before.
  func take() async throws {
    try await gate.word(ignoringCancellation: false)
  }

  func giveBack() {
    gate.say(.success(()))
  }
}
