import Synchronization

/// The threads of one exploration, which are separate from those in the runtime's thread pool.
///
/// The explorer's own task runs on the driver. Unless the exploration uses explored locks or atomics, the jobs of a schedule also run there
/// until a waker is preempted. The waker's thread is then parked in the middle of its job, and another worker gets the run token. If a
/// `LockCollision` shows that a wake happens under a lock, the pool records the stack depth of the wake, and the explorer no longer makes
/// choices at wakes at that depth.
final class ThreadPool: TaskExecutor {
  private struct State {
    var idle: [WorkerThread] = []
    var all: [WorkerThread]
    var lockDepths: Set<UInt> = []
    var executor: ScheduleExecutor?
    var usesLocks = false
    var hasRealSleeps = false
  }

  /// The thread of the explorer's own task.
  let driver: WorkerThread

  /// The file that remains if the process crashes.
  let crashTrail = CrashTrail()

  private let state: Mutex<State>
  private let shutDownSignal = Platform.Signal()

  init() {
    driver = WorkerThread.start { _, order in
      if case .host(let job, let pool) = order { job.runSynchronously(on: pool.asUnownedTaskExecutor()) }
    }
    state = Mutex(State(all: [driver]))
    // The runtime tests start tasks, so they must not run within a step of a schedule.
    _ = (JobKind.isKnown, JobIdentities.areKnown, DefaultActor.isKnown)
  }

  /// Starts watching all schedules for wakes under a lock, and for steps that take longer than `stepTimeout`. `didHang` is called at most
  /// once: when a step takes too long, or as soon as the driver itself is stuck.
  func startWatch(stepTimeout: Duration, didHang: @escaping @Sendable (ScheduleExecutor) -> Void) {
    Platform.startThread { [shutDownSignal, weak self] in
      var watch = StepWatch(stepTimeout: stepTimeout)
      while !shutDownSignal.wait(atMost: StepWatch.tick) {
        guard let self else { return }
        if let hanging = watch.check(self.executor, of: self.state.withLock({ $0.all })) { didHang(hanging) }
      }
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    driver.send(.host(UnownedJob(job), self))
  }

  /// The executor of the current schedule.
  var executor: ScheduleExecutor? {
    get { state.withLock { $0.executor } }
    set { state.withLock { $0.executor = newValue } }
  }

  /// Whether the exploration uses explored locks or atomics. If it does, the driver must not run jobs.
  var usesLocks: Bool {
    get { state.withLock { $0.usesLocks } }
    set { state.withLock { $0.usesLocks = newValue } }
  }

  /// Whether a schedule of the exploration has contained a real-time wait.
  var hasRealSleeps: Bool {
    get { state.withLock { $0.hasRealSleeps } }
    set { state.withLock { $0.hasRealSleeps = newValue } }
  }

  /// Returns whether a lock is known to be held when tasks are woken at the given stack depth.
  func isUnderLock(_ depth: UInt) -> Bool { state.withLock { $0.lockDepths.contains(depth) } }

  /// Records that a lock is held when tasks are woken at the given stack depth.
  func didFindLock(_ depth: UInt) { state.withLock { _ = $0.lockDepths.insert(depth) } }

  /// Returns an idle worker or starts a new one.
  func takeWorker() -> WorkerThread {
    state.withLock { state in
      if let idle = state.idle.popLast() { return idle }
      let worker = WorkerThread.start { worker, order in
        if case .run(let job, let executor) = order { executor.runJobs(job, on: worker) }
      }
      state.all.append(worker)
      return worker
    }
  }

  func didBecomeIdle(_ worker: WorkerThread) {
    state.withLock { $0.idle.append(worker) }
  }

  /// Ends all threads that are not stuck, and removes the crash file.
  func shutDown() {
    shutDownSignal.signal()
    crashTrail?.remove()
    for worker in state.withLock({ $0.all }) { worker.send(.exit) }
  }
}

/// A thread of an exploration. One worker at a time holds the run token and runs jobs, while all others wait for orders.
final class WorkerThread: Sendable {
  enum Order: Sendable {
    /// Run the explorer's own job.
    case host(UnownedJob, ThreadPool)
    /// Take the run token, and start with the given job.
    case run(ReadyJob, ScheduleExecutor)
    /// Continue the parked job.
    case resume
    /// Check whether the schedule can continue. Only the driver gets this order.
    case check
    /// End the thread.
    case exit
  }

  private struct State {
    var orders: [Order] = []
    var file: String?
    var stackBase: UInt = 0
    var stackStart: UInt = 0
  }

  private let state = Mutex(State())
  private let arrivals = Platform.Signal()

  /// Starts a worker whose thread calls `perform` for every order, until the worker is ordered to exit.
  static func start(_ perform: @escaping @Sendable (WorkerThread, Order) -> Void) -> WorkerThread {
    let worker = WorkerThread()
    Platform.startThread {
      worker.state.withLock { $0.file = Platform.currentThreadFile }
      while true {
        let order = worker.nextOrder()
        if case .exit = order { return }
        perform(worker, order)
      }
    }
    return worker
  }

  /// Whether the worker's thread is sleeping in the kernel; `nil` if this is unknown.
  var isSleeping: Bool? { Platform.isSleeping(state.withLock { $0.file }) }

  /// The address on the worker's stack from which the stack depth of a job is measured.
  var stackBase: UInt {
    get { state.withLock { $0.stackBase } }
    set {
      state.withLock { state in
        state.stackBase = newValue
        state.stackStart = max(state.stackStart, newValue)
      }
    }
  }

  /// Whether the stack, which may contain the frames of abandoned jobs, has room for further jobs.
  var hasRoom: Bool { state.withLock { $0.stackStart - $0.stackBase < Platform.stackSize / 2 } }

  func send(_ order: Order) {
    state.withLock { $0.orders.append(order) }
    arrivals.signal()
  }

  /// Blocks the thread until the worker gets an order.
  func nextOrder() -> Order {
    arrivals.wait()
    return state.withLock { $0.orders.removeFirst() }
  }

  /// Blocks the thread until the parked job can continue.
  ///
  /// A worker of an abandoned schedule is never resumed, and runs jobs of later schedules instead.
  func waitUntilResumed() {
    while true {
      switch nextOrder() {
      case .resume: return
      case .run(let job, let executor): executor.runJobs(job, on: self)
      case .host, .check, .exit: break
      }
    }
  }
}

/// The permits for running explorations. There are two permits for each processor, because a processor idles while an exploration hands
/// control from one thread to another. Permits are granted in order of arrival.
///
/// Each exploration has its own threads. Without a limit, all explorations in a test run would compete for the processors. An exploration
/// that is waiting for a permit occupies no thread.
final class ExplorationPermits: Sendable {
  static let shared = ExplorationPermits(count: 2 * Platform.processorCount)

  private let permits = CommandQueue<Void>()

  init(count: Int) {
    for _ in 0..<max(count, 1) { release() }
  }

  /// Waits for a permit.
  ///
  /// - Throws: `CancellationError` if the task is cancelled while it is waiting.
  func acquire() async throws {
    try await permits.next(ignoringCancellation: false)
  }

  func release() {
    permits.send(.success(()))
  }
}
