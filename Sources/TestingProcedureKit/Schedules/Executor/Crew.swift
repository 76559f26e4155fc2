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
