import Synchronization

/// The executor of one schedule: holds every ready job, and runs one job at a time in the order of a chooser.
///
/// The explorer drives the executor on its own thread. Jobs therefore never overlap, and equal choices give equal runs.
/// A job from another thread runs as well, but is reported as uncontrolled.
final class ScheduleExecutor: TaskExecutor {
  private struct State {
    var jobs: [UnownedJob] = []
    /// The strands of `jobs`.
    var strands: [Int] = []
    var identities = JobIdentities()
    var record = ScheduleRecord()
    /// The number of recorded steps, and of steps after the recording.
    var steps = 0
    var chooser: any ScheduleChooser
    var isRecording = true
    /// The running strand.
    var running: Int?
    /// The driving thread.
    var driver: Platform.Thread?
    var uncontrolled: [UncontrolledJob] = []
    /// The environment, which holds the executor strongly.
    weak var environment: ExplorationEnvironment?

    mutating func didFindUncontrolled(_ reason: UncontrolledJob.Reason, by strand: Int?) {
      guard isRecording else { return }
      uncontrolled.append(UncontrolledJob(reason: reason, strand: strand, step: record.steps))
    }
  }

  /// The executor of the exploration to which the calling code belongs; `nil` outside of an exploration.
  static var current: ScheduleExecutor? { GlobalExecutorWatch.shared.currentDriven }

  private let state: Mutex<State>
  /// The number of jobs from outside.
  private let arrivals = Milestones()

  init(chooser: any ScheduleChooser) {
    state = Mutex(State(chooser: chooser))
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let task = JobIdentities.task(of: job)
    let thread = Platform.Thread.current
    let isControlled = state.withLock { state in
      let isControlled = state.driver == thread
      if !isControlled { state.didFindUncontrolled(.enqueuedFromOutside, by: nil) }
      state.jobs.append(job)
      state.strands.append(state.identities.strand(ofTask: task, enqueuedBy: isControlled ? state.running : nil))
      return isControlled
    }
    if !isControlled { arrivals.increment() }
  }

  /// Runs jobs until no job is ready, or until `limit` steps in total.
  ///
  /// - Returns: Whether no job is ready.
  func runUntilIdle(limit: Int) -> Bool {
    beginDriving()
    defer { endDriving() }
    let executor = asUnownedTaskExecutor()
    while let job = takeNext(limit: limit) {
      job.runSynchronously(on: executor)
      state.withLock { $0.running = nil }
    }
    return state.withLock { $0.jobs.isEmpty }
  }

  /// Performs `body` as the driver, outside of any job: the jobs that `body` enqueues are controlled.
  func asDriver<R>(_ body: () -> R) -> R {
    beginDriving()
    defer { endDriving() }
    return body()
  }

  /// Stops recording. From now on, the oldest ready job runs.
  func stopRecording() {
    state.withLock { state in
      state.chooser = FirstChooser()
      state.isRecording = false
    }
  }

  var environment: ExplorationEnvironment? {
    get { state.withLock { $0.environment } }
    set { state.withLock { $0.environment = newValue } }
  }

  var record: ScheduleRecord { state.withLock { $0.record } }
  var uncontrolled: [UncontrolledJob] { state.withLock { $0.uncontrolled } }
  var strandCount: Int { state.withLock { $0.identities.count } }

  /// Records that the running strand handed a job to the global executor.
  func didEscape() {
    state.withLock { $0.didFindUncontrolled(.globalExecutor, by: $0.running) }
  }

  private func beginDriving() {
    let thread = Platform.Thread.current
    state.withLock { $0.driver = thread }
    GlobalExecutorWatch.shared.didBeginDriving(self, on: thread)
  }

  private func endDriving() {
    GlobalExecutorWatch.shared.didEndDriving(on: Platform.Thread.current)
    state.withLock { $0.driver = nil }
  }

  private func takeNext(limit: Int) -> UnownedJob? {
    state.withLock { state in
      guard !state.jobs.isEmpty, state.steps < limit else { return nil }
      let index = state.chooser.choose(among: state.strands, step: state.steps)
      state.steps += 1
      let strand = state.strands.remove(at: index)
      if state.isRecording { state.record.didChoose(index, of: state.jobs.count, strand: strand) }
      state.running = strand
      return state.jobs.remove(at: index)
    }
  }
}

extension ScheduleExecutor {
  /// Waits until a job is ready, for at most the real time `patience`.
  ///
  /// Cancelling the task ends the wait.
  ///
  /// - Returns: Whether a job is ready.
  func waitForArrival(atMost patience: Duration) async -> Bool {
    await KitSpawner.wait(atMost: patience) { await self.nextArrival() }
    return state.withLock { !$0.jobs.isEmpty }
  }

  private func nextArrival() async {
    let next = arrivals.count + 1
    guard state.withLock({ $0.jobs.isEmpty }) else { return }
    try? await arrivals.wait(for: next)
  }
}
