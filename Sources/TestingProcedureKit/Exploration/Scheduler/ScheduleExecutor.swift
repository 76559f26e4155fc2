import ProcedureKit
import Synchronization

/// The executor of one schedule. It holds back all ready jobs, and runs one job at a time in the order that a chooser determines.
///
/// Only the worker with the run token runs jobs, while all other threads of the pool wait. Therefore, jobs never overlap, and the same
/// choices lead to the same run. A job that makes another task ready can be preempted: its thread is parked within `enqueue`, the job is
/// treated as ready, and another worker gets the run token. If a thread without the run token enqueues a job, that job also runs, but is
/// reported as uncontrolled.
final class ScheduleExecutor: TaskExecutor {
  /// The executor of the exploration to which the calling code belongs; `nil` outside an exploration.
  static var current: ScheduleExecutor? { GlobalExecutorWatch.shared.currentDriven }

  let pool: ThreadPool
  let state: Mutex<ScheduleState>
  private let arrivals = Platform.Signal()
  private let settled = Platform.Signal()
  private let mainActor = Mutex<UnownedSerialExecutor?>(nil)
  private let hasCaptured = Atomic(false)
  private let hasEventualities = Atomic(false)

  /// Whether a trace of the schedule is recorded.
  let isTracing: Bool
  /// The event feeds of the schedule's queues, if a trace is recorded.
  let feeds = Mutex<[QueueFeed]>([])
  /// Whether recorded choices are being repeated. The recorded choices already take wakes under a lock into account.
  let isRepetition: Bool
  /// Whether all jobs run on workers other than the driver.
  let keepsDriverFree: Bool

  init(
    chooser: any ScheduleChooser, pool: ThreadPool, preemptionLimit: Int, timersOvertakeWork: Bool = false,
    isTracing: Bool = false, isRepetition: Bool = false, measuresProcessorTime: Bool = false
  ) {
    self.pool = pool
    self.isTracing = isTracing
    self.isRepetition = isRepetition
    keepsDriverFree = pool.usesLocks
    state = Mutex(
      ScheduleState(
        chooser: chooser, preemptionLimit: preemptionLimit, timersOvertakeWork: timersOvertakeWork,
        isTracing: isTracing))
    state.withLock {
      $0.crashTrail = pool.crashTrail
      $0.measuresProcessorTime = measuresProcessorTime && pool.hasRealSleeps
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    enqueue(UnownedJob(job))
  }

  func enqueue(_ job: UnownedJob) {
    enqueue(ReadyJob(job: job))
  }

  func enqueue(_ job: ReadyJob, endOfSleepOf sleeper: Int? = nil) {
    var job = job
    if job.isolation == nil, DefaultActor.isKnown, JobKind.isActor(job.job),
      let (caller, actor) = DefaultActor.takeCaller(servedBy: job.job, on: self)
    {
      job = ReadyJob(job: caller, isolation: .actor(actor), prefersExecutor: job.prefersExecutor)
    }
    let id = JobIdentities.taskID(of: job.job)
    let isWake = JobKind.isWake(job.job, ofTask: id)
    let thread = Platform.Thread.current
    let name = isTracing && isWake ? Self.currentTaskName : nil
    let calls = isTracing && isWake ? ResumePoint.addressesOfCalls() : []
    noteProcedures()
    var marker: UInt8 = 0
    let address = withUnsafePointer(to: &marker) { UInt(bitPattern: $0) }
    let (isControlled, preemptingJob) = state.withLock { state in
      if !state.isForeign(thread) {
        state.didLearn(name)
        state.didReach(calls)
      }
      let isControlled = state.didEnqueue(job, ofTask: id, on: thread, endOfSleepOf: sleeper, calls: calls)
      guard isControlled, isWake, !state.isTimer, let holder = state.holder else {
        return (isControlled, nil as ScheduleState.Ready?)
      }
      let depth = holder.stackBase &- address
      return (isControlled, state.choosePreemption(at: depth, isUnderLock: !isRepetition && pool.isUnderLock(depth)))
    }
    if !isControlled {
      if let current = Self.current, current !== self { current.didUseOutlivingObject() }
      arrivals.signal()
    }
    if let preemptingJob { park(for: preemptingJob, on: thread) }
  }

  /// The executor of the schedule's main actor.
  var mainActorForRuntime: UnownedSerialExecutor? {
    mainActor.withLock { mainActor in
      if mainActor == nil { mainActor = ScheduleMainActor(self).seenByRuntime() }
      return mainActor
    }
  }

  private static var currentTaskName: String? {
    if #available(macOS 26.0, iOS 26.0, tvOS 26.0, watchOS 26.0, visionOS 26.0, *) { return Task.name }
    return nil
  }

  /// Adds an event of the running task to the trace, if a trace is being recorded. Events on a thread that the schedule does not control
  /// belong to no step, and are ignored.
  func log(_ event: @autoclosure () -> String) {
    guard isTracing else { return }
    let event = event()
    noteProcedures()
    let thread = Platform.Thread.current
    state.withLock { state in
      guard !state.isForeign(thread) else { return }
      state.didLearn(Self.currentTaskName)
      state.log(event)
    }
  }

  /// Records that the running task has used a clock or an executor that does not belong to the schedule.
  func didUseOutlivingObject() {
    state.withLock { $0.didFindUncontrolled(.outlivesSchedule, by: $0.running) }
  }

  /// Parks the running job, passes the run token to `preemptingJob`, and waits until the parked job is chosen.
  func park(for preemptingJob: ScheduleState.Ready, on thread: Platform.Thread) {
    guard let worker = state.withLock({ $0.parking }) else { return }
    switch preemptingJob.work {
    case .job(let job): pool.takeWorker().send(.run(job, self))
    case .parked(let other): other.send(.resume)
    }
    worker.waitUntilResumed()
    state.withLock { $0.didResume(worker, on: thread) }
  }

  /// Runs jobs until no job is ready, or until the schedule has taken `limit` steps. Only the driver calls this function.
  ///
  /// - Returns: Whether no job is ready.
  func runUntilIdle(limit: Int) -> Bool {
    state.withLock { $0.limit = limit }
    while true {
      while (keepsDriverFree ? passRunToken() : runJobs(nil, on: pool.driver)) == .passedOn {
        _ = pool.driver.nextOrder()
      }
      // Another thread may have added a job since the last one ended.
      let (isIdle, canContinue) = state.withLock { ($0.ready.isEmpty, $0.moments < limit && !$0.isEnding) }
      if isIdle || !canContinue { return isIdle }
    }
  }

  /// The reason a worker stops running jobs.
  enum End { case passedOn, idle }

  /// Runs `first`, and then further jobs, until the run token goes to another worker or no job can run.
  @inline(never) @discardableResult
  func runJobs(_ first: ReadyJob?, on worker: WorkerThread) -> End {
    var marker: UInt8 = 0
    worker.stackBase = withUnsafePointer(to: &marker) { UInt(bitPattern: $0) }
    let thread = Platform.Thread.current
    let previous = GlobalExecutorWatch.shared.didBeginDriving(self, on: thread)
    defer { GlobalExecutorWatch.shared.didEndDriving(on: thread, previous: previous) }
    var next: ScheduleState.Next
    if let first {
      state.withLock {
        $0.didTakeRunToken(worker, on: thread)
        $0.noteMoment()
      }
      next = .job(first)
    } else {
      next = state.withLock { $0.next(for: worker, on: thread) }
    }
    while true {
      var ended: ReadyJob?
      var callers: [UnownedJob] = []
      switch next {
      case .job(let job):
        callers = run(job)
        ended = job
      case .advance(let clock): _ = moveToNextDeadline(of: clock)
      case .parked, .nothing, .waiting, .released: return stop(worker, next)
      }
      next = state.withLock { $0.didEnd(ended, on: worker, thread, callers: callers) }
    }
  }

  /// Runs a job.
  ///
  /// - Returns: The callers that arrived at the job's actor while the job was running.
  private func run(_ job: ReadyJob) -> [UnownedJob] {
    let status = isTracing && TaskStatus.isKnown ? state.withLock { $0.status(of: job) } : nil
    let callers = perform(job)
    noteProcedures()
    if status?.hasEnded == true { state.withLock { $0.didEndTask() } }
    if hasEventualities.load(ordering: .relaxed) { environment?.checkEventualities() }
    return callers
  }

  private func perform(_ job: ReadyJob) -> [UnownedJob] {
    let executor = asUnownedTaskExecutor()
    switch job.isolation {
    case .actor(let actor):
      // It is safe to retain the actor only for the job of a task, because the task keeps its actor in memory. Any other job may be the one
      // that destroys the actor, when no references to the actor are left.
      guard JobIdentities.taskID(of: job.job) != nil else { return visit(actor, job) }
      return actor.retained { visit(actor, job) }
    case .mainActor:
      if let mainActorForRuntime {
        job.job.runSynchronously(isolatedTo: mainActorForRuntime, taskExecutor: executor)
      } else {
        job.job.runSynchronously(on: executor)
      }
    case nil: job.job.runSynchronously(on: executor)
    }
    return []
  }

  private func visit(_ actor: DefaultActor, _ job: ReadyJob) -> [UnownedJob] {
    guard actor.lock() else {
      // A thread outside the exploration is running the actor, and also serves the job.
      actor.enqueue(job.job)
      return []
    }
    actor.run(job.job, preferring: job.prefersExecutor ? self : nil)
    return actor.unlock()
  }

  /// Passes the run token to a worker other than the driver, so that this worker runs the next job.
  ///
  /// After a `LockCollision`, several workers may stop, and each of them sends the driver an order to check whether the schedule can
  /// continue. A redundant check finds that another worker already holds the run token.
  private func passRunToken() -> End {
    let thread = Platform.Thread.current
    while true {
      switch state.withLock({ $0.next(for: pool.driver, on: thread) }) {
      case .job(let job):
        let worker = pool.takeWorker()
        state.withLock { $0.willPassRunToken(to: worker) }
        worker.send(.run(job, self))
        return .passedOn
      case .parked(let other):
        other.send(.resume)
        return .passedOn
      case .advance(let clock): asDriver { _ = moveToNextDeadline(of: clock) }
      case .nothing: return .idle
      case .waiting, .released: return .passedOn
      }
    }
  }

  /// Abandons the unfinished jobs of the calling thread and of all parked tasks. Each thread keeps the stack frames of its abandoned job,
  /// and runs jobs of later schedules as long as its stack has room.
  func abandon(on thread: Platform.Thread) -> Never {
    let (own, others, isStuck) = state.withLock { ($0.parking, $0.takeAbandoned(), $0.isStuck) }
    guard let own else { preconditionFailure("\(#function): the thread has no run token") }
    GlobalExecutorWatch.shared.didEndDriving(on: thread, previous: nil)
    for worker in others.filter({ $0 !== own }) + [own] where worker !== pool.driver && worker.hasRoom {
      pool.didBecomeIdle(worker)
    }
    if !isStuck { pool.driver.send(.check) }
    while true { own.waitUntilResumed() }
  }

  private func stop(_ worker: WorkerThread, _ next: ScheduleState.Next) -> End {
    let isDriver = worker === pool.driver
    if !isDriver { pool.didBecomeIdle(worker) }
    switch next {
    case .job, .advance: preconditionFailure("\(#function): a worker cannot stop while a job is ready")
    case .parked(let other): other.send(.resume)
    case .waiting: break
    case .nothing:
      if isDriver { return .idle }
      let isDriverParked = state.withLock { $0.takeParked(pool.driver) }
      pool.driver.send(isDriverParked ? .resume : .check)
    case .released: pool.driver.send(.check)
    }
    return .passedOn
  }

  /// Calls `body` on behalf of the driver, outside any job. The jobs that `body` enqueues are controlled.
  func asDriver<R>(_ body: () -> R) -> R {
    let thread = Platform.Thread.current
    state.withLock { $0.didTakeRunToken(pool.driver, on: thread) }
    let previous = GlobalExecutorWatch.shared.didBeginDriving(self, on: thread)
    defer {
      GlobalExecutorWatch.shared.didEndDriving(on: thread, previous: previous)
      state.withLock { $0.didReleaseRunToken() }
    }
    return body()
  }

  /// Stops recording. After this call, the oldest ready job always runs next.
  func stopRecording() {
    state.withLock { $0.stopRecording() }
  }

  /// Runs the parked jobs of an ending schedule to completion, one at a time.
  func endParked(limit: Int) {
    state.withLock { $0.limit = limit }
    while let worker = state.withLock({ $0.takeParkedForEnding() }) {
      worker.send(.resume)
      repeat { _ = pool.driver.nextOrder() } while state.withLock({ $0.isRunning })
    }
    state.withLock { $0.isEnding = $0.abandonment != nil }
  }

  var environment: ExplorationEnvironment? {
    get { state.withLock { $0.environment } }
    set { state.withLock { $0.environment = newValue } }
  }

  /// Records that the schedule has a task without a preferred executor.
  ///
  /// - Returns: Whether the task is the first such task.
  func didCaptureFirst() -> Bool {
    !hasCaptured.exchange(true, ordering: .relaxed)
  }

  /// Returns whether the task to which the runtime has assigned the number `id` belongs to the schedule.
  func knows(_ id: UInt64) -> Bool { state.withLock { $0.identities.knows(id) } }

  /// Starts checking the conditions passed to `ExplorationEnvironment.eventually` after each job.
  func watchEventualities() { hasEventualities.store(true, ordering: .relaxed) }

  /// Makes the tasks take turns for the rest of the schedule. From then on, only their order is recorded.
  func takeTurns() { state.withLock { $0.takeTurns() } }

  /// The order in which the tasks have run since they began to take turns.
  var turns: [Int] { state.withLock { $0.turns ?? [] } }

  /// The tasks that have not ended, if a trace is being recorded; empty otherwise.
  var stuckTasks: [StuckTask] { state.withLock { $0.stuckTasks } }

  /// The reason for abandoning the schedule; `nil` if all tasks can continue.
  var abandonment: Abandonment? { state.withLock { $0.abandonment } }
  /// Whether the schedule must be run again. This is the case if the exploration turned out to use explored locks or atomics.
  var needsRestart: Bool { state.withLock { $0.needsRestart } }
  /// The first possible deadlock found, which is a cycle in the order in which tasks acquired locks; `nil` if there is none.
  var possibleDeadlock: LockCycle? { state.withLock { $0.locks.possibleDeadlock } }
  /// A description of each lock that is held, and of each task that is waiting for a lock, one per line.
  var lockLines: [String] { state.withLock { $0.locks.lines } }

  var trace: ScheduleTrace? { state.withLock { $0.trace } }
  var record: ScheduleRecord { state.withLock { $0.record } }
  var uncontrolled: [UncontrolledJob] { state.withLock { $0.uncontrolled } }
  var taskCount: Int { state.withLock { $0.identities.count } }
}

extension ScheduleExecutor {
  /// The progress of the running step.
  struct Progress: Equatable {
    /// Whether a job is running, or any worker that was released after a `LockCollision` has yet to finish its job.
    var isRunning: Bool
    var parked: Int
    var events: Int
    /// Whether the step will never end.
    var isStuck: Bool
  }

  var progress: Progress {
    state.withLock {
      Progress(
        isRunning: $0.running != nil || $0.hasReleased, parked: $0.parkedCount, events: $0.events, isStuck: $0.isStuck)
    }
  }

  /// Resumes all parked jobs. This is necessary if the running job seems to be waiting for a lock that a parked job holds.
  ///
  /// The result of the schedule is discarded. Only `StepWatch` calls this function.
  func releaseParked() {
    let (parked, blocked) = state.withLock { ($0.didCollide(), $0.holderEvents) }
    var culprit: UInt?
    for (worker, depth) in parked.reversed() {
      worker.send(.resume)
      for _ in 0..<25 where culprit == nil {
        _ = Platform.Signal().wait(atMost: 1)
        if state.withLock({ $0.holderEvents }) != blocked { culprit = depth }
      }
    }
    let collision = LockCollision(depth: culprit)
    state.withLock { $0.collision = collision }
    settled.signal()
  }

  /// Returns the lock collision that requires the schedule to be run again; `nil` if there was no collision. After a collision, the
  /// function first waits until all parked jobs have been resumed.
  func awaitCollision() -> LockCollision? {
    guard state.withLock({ $0.hasCollided }) else { return nil }
    settled.wait()
    return state.withLock { $0.collision }
  }

  /// Waits until a job is ready, a task has begun a real-time wait, `patience` has passed in real time, or the calling task is cancelled.
  ///
  /// - Returns: Whether a job is ready, or a real-time wait can be ended by moving the clock.
  func waitForArrival(atMost patience: Duration) -> Bool {
    let end = ContinuousClock.now + patience.saturated
    while state.withLock({ $0.ready.isEmpty && $0.sleeps.nextDeadline == nil }), ContinuousClock.now < end,
      !Task.isCancelled
    {
      _ = arrivals.wait(atMost: 5)
    }
    return state.withLock { !$0.ready.isEmpty || $0.sleeps.nextDeadline != nil }
  }
}

// MARK: - Time

extension ScheduleExecutor {
  /// Delays `job` in virtual time. In real time, the delay would end after `remaining`.
  func sleep(_ job: UnownedJob, remaining: Duration) {
    pool.hasRealSleeps = true
    let duration = state.withLock { $0.virtualDuration(remaining: remaining) }
    sleep(job, for: duration)
  }

  /// Delays `job` in virtual time.
  func sleep(_ job: UnownedJob, for duration: Duration) {
    guard UndocumentedParts.areAllowed else {
      Platform.perform(after: duration) { self.enqueue(job) }
      return
    }
    guard let now = environment?.clock.now else { return enqueue(job) }
    let thread = Platform.Thread.current
    let isControlled = state.withLock {
      $0.didSleep(ReadyJob(job: job, prefersExecutor: false), until: now.advanced(by: duration), on: thread)
    }
    if !isControlled { arrivals.signal() }
  }

  /// Moves the clock to its next deadline or to the end of the next real-time wait, whichever is earlier. The calling thread must hold the
  /// run token.
  ///
  /// - Returns: Whether there was a deadline.
  func moveToNextDeadline(of clock: VirtualClock) -> Bool {
    guard let deadline = state.withLock({ $0.nextDeadline(on: clock) }) else { return false }
    clock.advance(to: max(deadline, clock.now))
    endSleeps(through: deadline)
    return true
  }

  /// Ends the real-time waits whose deadlines are not later than `instant`, or all waits if `instant` is `nil`, and makes their jobs ready.
  ///
  /// - Returns: Whether any waits ended.
  @discardableResult
  func endSleeps(through instant: VirtualClock.Instant?) -> Bool {
    let due = state.withLock { $0.takeSleeps(through: instant) }
    for (job, sleeper) in due { enqueue(job, endOfSleepOf: sleeper) }
    return !due.isEmpty
  }

  /// The number of real-time waits so far.
  var realSleeps: UInt64 { state.withLock { $0.sleeps.count } }
  /// Whether the duration of a real-time wait is uncertain.
  var hasUnclearSleep: Bool { state.withLock { $0.hasUnclearSleep } }
  /// The number of jobs in which the runtime, rather than the explorer, chose the next caller of an actor.
  var unorderedVisits: Int { state.withLock { $0.unorderedVisits } }
}
