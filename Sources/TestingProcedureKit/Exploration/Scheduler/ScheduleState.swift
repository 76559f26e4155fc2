import ProcedureKit

/// The state of a schedule, including the ready jobs, the holder of the run token, and the record of all choices.
struct ScheduleState {
  /// The number of consecutive steps after which a task is no longer preferred over others.
  private static let longStretch = 50

  /// A ready job, or a parked job that can continue.
  struct Ready {
    enum Work {
      case job(ReadyJob)
      case parked(WorkerThread)
    }

    var work: Work
    /// Whether the job runs immediately, because its position in the order has no effect. This is the case for a job of the runtime that
    /// only makes a task ready (for `Task.yield`, the task that yields; for a timer, the task that is waiting for it), and for a job with
    /// which the running task changes its executor.
    var isYield = false
    /// The job that is parked; `nil` for a job that has not started.
    var origin: ReadyJob?
    /// The stack depth at which the job is parked.
    var depth: UInt = 0
    /// The position in the order in which jobs became ready.
    var number = 0

    /// The worker of a parked job; `nil` for a job that has not started.
    var parkedWorker: WorkerThread? { if case .parked(let worker) = work { worker } else { nil } }
    var isParked: Bool { parkedWorker != nil }
  }

  /// The next action of a worker.
  enum Next {
    case job(ReadyJob)
    /// Move the clock to the next deadline.
    case advance(VirtualClock)
    /// Pass the run token to a parked worker.
    case parked(WorkerThread)
    /// No job can run.
    case nothing
    /// Another worker holds the run token.
    case waiting
    /// The worker has ended a job that it was continuing without the run token.
    case released
  }

  private(set) var ready: [Ready] = []
  /// The number of entries in `ready` that are yields.
  private var yieldCount = 0
  /// The number of entries that have been added to `ready`.
  private var entryCount = 0
  /// The jobs that are waiting for actors.
  private var actors = ActorQueues()
  /// The numbers of the actors, assigned in the order in which their first jobs became ready.
  private var actorNumbers: [Isolation: Int] = [:]
  /// The number of jobs in which the runtime serves the callers of an actor.
  private(set) var unorderedVisits = 0
  /// The jobs that are waiting in virtual time instead of real time.
  private(set) var sleeps = RealSleeps()
  /// The task of each entry of `ready`.
  private var tasks: [Int] = []
  private(set) var identities = JobIdentities()
  private(set) var record = ScheduleRecord()
  /// The number of steps, including those taken after recording stopped.
  private var steps = 0
  /// The maximum number of steps in the schedule.
  var limit = Int.max
  private var chooser: any ScheduleChooser
  private(set) var isRecording = true
  /// The running task.
  private(set) var running: Int?
  /// The job of the running task.
  private var runningJob: ReadyJob?
  /// The tasks that the runtime has created to end real-time waits.
  private var timers: Set<Int> = []
  /// The task that ran the last step.
  private var lastTask: Int?
  /// The number of consecutive steps of `lastTask`.
  private var stepsInARow = 0
  /// The earliest time at which the running job could have computed the end of a real-time wait.
  private var latestMoment = ThreadMoment()
  /// Whether the processor time of threads is measured. This is the case from the second attempt on, if the exploration contains real-time
  /// waits.
  var measuresProcessorTime = false
  /// Whether the duration of a real-time wait is uncertain. This is the case if the system may have suspended the thread just before the
  /// wait.
  private(set) var hasUnclearSleep = false
  /// The worker that holds the run token.
  private(set) var holder: WorkerThread?
  /// The thread of `holder`.
  private var holderThread: Platform.Thread?
  /// The worker that is about to park.
  private(set) var parking: WorkerThread?
  private(set) var parkedCount = 0
  /// The jobs that are waiting for explored locks, keyed by worker.
  private var waitingJobs: [ObjectIdentifier: ReadyJob] = [:]
  private var preemptionsLeft: Int
  /// The number of events so far. For example, an event occurs when a job starts, ends or becomes ready. If the number does not change for
  /// some time, a step may be stuck.
  private(set) var events = 0
  /// The number of events caused by workers while they held the run token.
  private(set) var holderEvents = 0
  /// The workers that were resumed without the run token after a `LockCollision`.
  private var released: [WorkerThread] = []
  private(set) var hasCollided = false
  var collision: LockCollision?
  /// Whether the schedule is ending. While it is ending, no more jobs are started.
  var isEnding = false
  /// The explored locks.
  var locks = LockTable()
  /// The number of operations on locks and atomics.
  private(set) var operations = 0
  /// The number of operations on locks and atomics since the last switch.
  var operationsInARow = 0
  /// The number of times in this step that the running task seemed to be waiting in a loop.
  var waitsInARow = 0
  /// Whether the schedule must be run again. This is the case if the exploration turned out to use explored locks or atomics.
  var needsRestart = false
  /// The reason for abandoning the schedule; `nil` if it has not been abandoned.
  var abandonment: Abandonment?
  /// Whether the driver itself was abandoned.
  var isStuck = false
  /// The trace of the schedule, if a trace is being recorded.
  private(set) var trace: ScheduleTrace?
  /// The places in the code at which tasks resume, if a trace is being recorded.
  private var sites = TraceSites()
  /// The names of the actors, if a trace is being recorded.
  private var actorNames: [Isolation: String] = [:]
  /// The procedures that each task is executing, if a trace is being recorded.
  private var executing: [Int: [(id: ProcedureID, name: String)]] = [:]
  /// The tasks that have not ended, if a trace is being recorded.
  private var unended: Set<Int> = []
  /// The statuses of the tasks, if a trace is being recorded.
  private var statuses: [Int: TaskStatus] = [:]
  /// The order in which the tasks have run since they began to take turns at the step limit.
  private(set) var turns: [Int]?
  private(set) var uncontrolled: [UncontrolledJob] = []
  /// Whether the clock is allowed to move even though jobs are ready.
  private let timersOvertakeWork: Bool
  /// The number that represents the clock in the order of tasks.
  private var clockTask: Int?
  /// The file that remains if the process crashes.
  var crashTrail: CrashTrail?
  /// The environment. The reference is weak, because the environment retains the executor.
  weak var environment: ExplorationEnvironment?

  init(chooser: any ScheduleChooser, preemptionLimit: Int, timersOvertakeWork: Bool, isTracing: Bool) {
    self.chooser = chooser
    self.timersOvertakeWork = timersOvertakeWork
    preemptionsLeft = preemptionLimit
    if isTracing { trace = ScheduleTrace() }
  }

  /// Adds an event of the running task to the trace.
  mutating func log(_ event: @autoclosure () -> String) {
    guard isRecording, running != nil, trace != nil else { return }
    trace?.add(event())
  }

  /// Adds a procedure's event to the trace, as an event that the running task caused.
  mutating func didReceive(_ event: ProcedureEvent) {
    guard let running else { return }
    switch event.step {
    case .willExecute(let attempt):
      executing[running, default: []].append((event.id, event.name))
      trace?.didBegin(event.name)
      log("begins \"\(event.name)\"\(attempt > 1 ? ", attempt \(attempt)" : "")")
    case .didExecute:
      for task in executing.keys { executing[task]?.removeAll { $0.id == event.id } }
      log("ends \"\(event.name)\"")
    case .didCancel: log("\"\(event.name)\" was cancelled")
    default: break
    }
  }

  /// Records the call stack of the running task at a point where the task could be parked.
  mutating func didReach(_ calls: [UInt]) {
    if trace != nil { sites.didReach(calls, holder) }
  }

  /// Records the name of the running task.
  mutating func didLearn(_ name: String?) {
    if let running, let name { trace?.names[running] = name }
  }

  mutating func didFindUncontrolled(_ reason: UncontrolledJob.Reason, by task: Int?) {
    guard isRecording else { return }
    uncontrolled.append(UncontrolledJob(reason: reason, task: task, step: record.steps))
  }

  mutating func stopRecording() {
    chooser = FirstChooser()
    isRecording = false
  }
}

// MARK: - Ready jobs

extension ScheduleState {
  /// Adds a ready job. If the job ends a real-time wait, `sleeper` is the task that was waiting. If a trace is being recorded, `calls` is
  /// the call stack of the code that made the job ready.
  ///
  /// - Returns: Whether the job comes from the thread with the run token.
  mutating func didEnqueue(
    _ job: ReadyJob, ofTask id: UInt64?, on thread: Platform.Thread, endOfSleepOf sleeper: Int? = nil,
    calls: [UInt] = []
  ) -> Bool {
    let isControlled = hasCollided || holderThread == thread
    if holderThread == thread { holderEvents += 1 }
    if isControlled { events += 1 } else { didFindUncontrolled(.enqueuedFromOutside, by: nil) }
    let known = identities.count
    let task = identities.number(ofTask: id, enqueuedBy: isControlled ? running ?? sleeper : nil)
    if let sleeper, task != sleeper {
      trace?.names[task] = "timer of \(sleeper)"
      timers.insert(task)
    }
    let isOwn = isControlled && task == running
    if isControlled, !isOwn {
      if task >= known, isRecording { record.didStart(task, by: running ?? 0) }
      noteMoment()
      didWake(task, isStart: task >= known, calls)
    }
    if isRecording, trace != nil, JobKind.isTask(job.job, ofTask: id) { watch(job, task) }
    let isYield =
      job.isolation == nil && JobKind.isYield(job.job, ofTask: id) || timers.contains(task)
      || isOwn && Self.isHop(job, ofTask: id, from: runningJob)
    let entry = Ready(work: .job(job), isYield: isYield)
    if let isolation = job.isolation {
      actors.add(numbered(entry), ofTask: task, isCall: isOwn, priority: job.job.priority.rawValue, to: isolation)
      makeReady(on: isolation)
    } else {
      if Self.isVisit(job, ofTask: id) { unorderedVisits += 1 }
      add(entry, task)
    }
    return isControlled
  }

  /// Returns whether `job` serves the callers of an actor in the order that the runtime determines. If the kinds of jobs or the numbers of
  /// tasks are unknown, every job without a known task is assumed to do so.
  private static func isVisit(_ job: ReadyJob, ofTask id: UInt64?) -> Bool {
    JobKind.isKnown && JobIdentities.areKnown ? JobKind.isActor(job.job) : id == nil
  }

  /// Returns whether `job` belongs to the running task, and was enqueued by the running job without a suspension.
  ///
  /// The runtime enqueues a job again in order to change the executor of a task that has no preferred executor. In an exploration, the
  /// change has no effect.
  private static func isHop(_ job: ReadyJob, ofTask id: UInt64?, from runningJob: ReadyJob?) -> Bool {
    guard id != nil, let runningJob, !job.prefersExecutor, job.isolation == runningJob.isolation else { return false }
    return job.isolation != nil || !runningJob.prefersExecutor
  }

  /// Whether the running task is a timer of the runtime.
  var isTimer: Bool { running.map(timers.contains) ?? false }

  private mutating func didWake(_ task: Int, isStart: Bool, _ calls: [UInt]) {
    guard isRecording, trace != nil else { return }
    if isStart { sites.willCreate(task, calls) }
    guard let running else { return }
    trace?.add(isStart ? "starts task \(task)" : "wakes task \(task)", calls: calls)
    trace?.wakes.append(
      ScheduleTrace.Wake(step: record.steps, waker: running, task: task, isStart: isStart))
  }

  /// Marks as ready the jobs that an actor could run next.
  private mutating func makeReady(on isolation: Isolation) {
    for (entry, task) in actors.makeReady(on: isolation) { insert(entry, task) }
  }

  /// Adds the callers that arrived at an actor while one of its jobs was running or parked.
  private mutating func addCallers(of actor: DefaultActor, _ callers: [UnownedJob], on thread: Platform.Thread) {
    for caller in callers {
      let job = ReadyJob(job: caller, isolation: .actor(actor), prefersExecutor: false)
      _ = didEnqueue(job, ofTask: JobIdentities.taskID(of: caller), on: thread)
    }
  }

  /// Adds a job that would otherwise wait in real time.
  ///
  /// - Returns: Whether the job comes from the thread with the run token.
  mutating func didSleep(_ job: ReadyJob, until deadline: VirtualClock.Instant, on thread: Platform.Thread) -> Bool {
    let isControlled = hasCollided || holderThread == thread
    if !isControlled { didFindUncontrolled(.enqueuedFromOutside, by: nil) }
    log("sleeps until \(deadline)")
    sleeps.insert(job, until: deadline, by: isControlled ? running : nil)
    return isControlled
  }

  /// Returns the virtual duration of a real-time wait that begins now and would end after `remaining`.
  mutating func virtualDuration(remaining: Duration) -> Duration {
    let (duration, isExact) = RealSleeps.virtualDuration(
      remaining: remaining, elapsed: latestMoment.elapsedSinceClockReading())
    if !isExact { hasUnclearSleep = true }
    return duration
  }

  /// Records that the running job has not yet computed the end of its next real-time wait.
  mutating func noteMoment() {
    latestMoment = ThreadMoment(measuresProcessorTime: measuresProcessorTime)
  }

  /// Removes and returns the jobs whose sleeps end at or before `instant`, or all sleeping jobs if `instant` is `nil`.
  mutating func takeSleeps(through instant: VirtualClock.Instant?) -> [(job: ReadyJob, sleeper: Int?)] {
    sleeps.removeAll(through: instant)
  }

  /// Returns the next time at which a sleep ends.
  func nextDeadline(on clock: VirtualClock) -> VirtualClock.Instant? {
    [clock.nextDeadline, sleeps.nextDeadline].compactMap(\.self).min()
  }

  /// Decides whether a ready job preempts the running job, which has just made a task ready.
  ///
  /// - Parameters:
  ///   - depth: The stack depth at the wake.
  ///   - isUnderLock: Whether wakes at this depth happen under a lock. If they do, no job preempts the running job.
  /// - Returns: The preempting job; `nil` if the running job continues.
  mutating func choosePreemption(at depth: UInt, isUnderLock: Bool) -> Ready? {
    guard isRecording, let running, holder != nil else { return nil }
    let moments = moments
    let isChoice = !isUnderLock && !locks.isUrgent && preemptionsLeft > 0 && moments < limit
    if isChoice { willChoose(among: tasks, or: running) }
    let index = chooser.chooseAtWake(running: running, among: isChoice ? tasks : [], step: moments)
    record.didWake(index, of: isChoice ? tasks.count + 1 : 1, isUnderLock: isUnderLock)
    crashTrail?.didChoose(index)
    guard index > 0 else { return nil }
    preemptionsLeft -= 1
    return preempt(by: index - 1, at: depth)
  }

  /// Parks the running job, and removes and returns the entry at `index`.
  mutating func preempt(by index: Int, at depth: UInt) -> Ready {
    let (task, worker, job) = (running, holder, runningJob)
    let preemptingJob = take(index)
    if let task, let worker {
      add(Ready(work: .parked(worker), origin: job, depth: depth), task)
      parkedCount += 1
      parking = worker
    }
    return preemptingJob
  }

  /// Records whether the next choice is between different tasks. If the numbers of tasks are unknown, the jobs are assumed to belong to
  /// different tasks.
  private mutating func willChoose(among tasks: [Int], or other: Int) {
    guard !record.hasChoices else { return }
    if tasks.contains(where: { $0 != other || !JobIdentities.areKnown }) { record.willChooseTask() }
  }

  /// Chooses the next step of `worker`, unless another worker holds the run token.
  mutating func next(for worker: WorkerThread, on thread: Platform.Thread) -> Next {
    guard holder == nil || holder === worker else { return .waiting }
    running = nil
    // In a debug build, each use of `moments` or `racingClock` copies the whole state.
    let moments = moments
    guard !ready.isEmpty, moments < limit, !isEnding else {
      didReleaseRunToken()
      return released.isEmpty ? .nothing : .waiting
    }
    didTakeRunToken(worker, on: thread)
    if yieldCount > 0, let index = ready.firstIndex(where: \.isYield), case .job(let job) = take(index).work {
      return .job(job)
    }
    preferLastTask()
    let clock = timersOvertakeWork ? racingClock : nil
    let alternatives = clock == nil ? tasks : tasks + [clockTask ?? identities.next()]
    var jobs: [ReadyJobDescription] = []
    for (index, task) in alternatives.enumerated() {
      jobs.append(ReadyJobDescription(task: task, actor: actorNumber(of: index)))
    }
    let index = chooser.choose(among: jobs, step: moments)
    if isRecording, alternatives.count > 1 {
      willChoose(among: alternatives, or: alternatives[0])
      record.didChoose(index, of: alternatives.count)
      crashTrail?.didChoose(index)
    }
    if let clock {
      clockTask = alternatives.last
      if index == ready.count {
        didMoveClock()
        return .advance(clock)
      }
    }
    switch take(index).work {
    case .job(let job): return .job(job)
    case .parked(let other):
      willPassRunToken(to: other)
      return .parked(other)
    }
  }

  /// Records that `worker` has run `job` to completion. If `job` is `nil`, the worker has moved the clock. The array `callers` contains the
  /// callers that arrived at the job's actor while the job was running.
  mutating func didEnd(
    _ job: ReadyJob?, on worker: WorkerThread, _ thread: Platform.Thread, callers: [UnownedJob] = []
  ) -> Next {
    events += 1
    if let isolation = job?.isolation {
      if case .actor(let actor) = isolation { addCallers(of: actor, callers, on: thread) }
      actors.didEnd(on: isolation)
      makeReady(on: isolation)
    }
    if !actors.busy.isEmpty {
      for actor in actors.busyDefaultActors { addCallers(of: actor, actor.takeCallers(), on: thread) }
    }
    if let index = released.firstIndex(where: { $0 === worker }) {
      released.remove(at: index)
      return .released
    }
    holderEvents += 1
    return next(for: worker, on: thread)
  }

  /// The clock, if it is allowed to move at this step even though jobs are ready; otherwise `nil`. On average, this is the case at one step
  /// in eight.
  private var racingClock: VirtualClock? {
    guard timersOvertakeWork, isRecording, (UInt64(steps) &* 0x9E37_79B9_7F4A_7C15) >> 61 == 0 else { return nil }
    return environment.flatMap { nextDeadline(on: $0.clock) == nil ? nil : $0.clock }
  }

  private mutating func didMoveClock() {
    steps += 1
    events += 1
    record.didRun(clockTask ?? 0)
    trace?.didRun(clockTask ?? 0, step: record.steps)
    trace?.add("the clock moves")
  }

  /// Moves a ready job of the task that ran last to the front, so that the simplest choice is to continue that task.
  ///
  /// A task that keeps yielding loses this preference after a while.
  private mutating func preferLastTask() {
    guard isRecording, let last = lastTask, stepsInARow < Self.longStretch,
      let index = tasks.firstIndex(of: last), index > 0
    else { return }
    tasks.insert(tasks.remove(at: index), at: 0)
    ready.insert(ready.remove(at: index), at: 0)
  }

  /// The number of steps and operations so far, which choosers use as a measure of time.
  var moments: Int { steps + operations }

  mutating func didOperate() {
    operations += 1
    operationsInARow += 1
    events += 1
    holderEvents += 1
    if isRecording { record.didOperate() }
  }

  /// Notifies the chooser that the running task seems to be waiting in a loop.
  mutating func didSpin() {
    if let running { chooser.didSpin(running) }
  }

  /// Records that the entry at `index` has to run before the running task continues. A replay then runs that entry first, too.
  mutating func recordForcedWake(_ index: Int) {
    guard isRecording, let running else { return }
    _ = chooser.chooseAtWake(running: running, among: [], step: moments)
    record.didWake(index + 1, of: 1, isUnderLock: true)
    crashTrail?.didChoose(index + 1)
  }

  /// Chooses the entry to run next, because the running task is waiting for a lock.
  ///
  /// - Parameter forced: The position of the only possible entry; `nil` if every entry is possible.
  /// - Returns: The position of the entry.
  mutating func chooseNext(forced: Int?) -> Int {
    let index = forced ?? chooser.choose(among: tasks, step: moments)
    guard tasks.count > 1 else { return index }
    if forced != nil { _ = chooser.choose(among: tasks, step: moments) }
    if forced != nil { record.willForceChoice() } else { willChoose(among: tasks, or: tasks[0]) }
    record.didChoose(index, of: forced == nil ? tasks.count : 1)
    crashTrail?.didChoose(index)
    return index
  }

  /// Removes and returns the entry at `index` because `worker` has to wait for a lock.
  mutating func takeBeforeWaiting(_ index: Int, _ worker: WorkerThread) -> Ready {
    waitingJobs[ObjectIdentifier(worker)] = runningJob
    let entry = take(index)
    parkedCount += 1
    parking = worker
    return entry
  }

  /// Adds a task that has waited for a lock to the ready jobs again.
  mutating func addParked(_ worker: WorkerThread, task: Int, depth: UInt) {
    let job = waitingJobs.removeValue(forKey: ObjectIdentifier(worker))
    add(Ready(work: .parked(worker), origin: job, depth: depth), task)
  }

  /// Removes and returns all parked and waiting workers.
  mutating func takeAllParked() -> [(worker: WorkerThread, depth: UInt)] {
    let parked = ready.compactMap { entry in entry.parkedWorker.map { (worker: $0, depth: entry.depth) } }
    let rest = zip(ready, tasks).filter { entry, _ in !entry.isParked }
    (ready, tasks) = (rest.map(\.0), rest.map(\.1))
    parkedCount = 0
    return parked + locks.takeWaiting().map { ($0.worker, $0.point.depth) }
  }

  private mutating func add(_ entry: Ready, _ task: Int) {
    insert(numbered(entry), task)
  }

  private mutating func numbered(_ entry: Ready) -> Ready {
    var entry = entry
    entryCount += 1
    entry.number = entryCount
    return entry
  }

  /// Inserts an entry before the entries that became ready later.
  private mutating func insert(_ entry: Ready, _ task: Int) {
    var index = ready.count
    while index > 0, ready[index - 1].number > entry.number { index -= 1 }
    ready.insert(entry, at: index)
    tasks.insert(task, at: index)
    if entry.isYield { yieldCount += 1 }
  }

  private mutating func remove(at index: Int) -> Ready {
    tasks.remove(at: index)
    let entry = ready.remove(at: index)
    if entry.isYield { yieldCount -= 1 }
    return entry
  }

  /// Removes and returns the entry at `index`. The task of this entry runs next.
  private mutating func take(_ index: Int) -> Ready {
    steps += 1
    events += 1
    let task = tasks[index]
    if isRecording {
      let isSwitch = record.switchesBeforeStep > 0
      record.didRun(task, at: actorNumber(of: index), rank: tasks[..<index].count { $0 == task })
      if trace != nil { willTrace(ready[index], task, isSwitch: isSwitch) }
    } else if turns != nil {
      turns?.append(task)
    }
    stepsInARow = task == lastTask ? stepsInARow + 1 : 0
    operationsInARow = 0
    waitsInARow = 0
    lastTask = task
    running = task
    let entry = remove(at: index)
    if entry.isParked { parkedCount -= 1 }
    if !entry.isYield { noteMoment() }
    if case .job(let job) = entry.work {
      runningJob = job
      if let isolation = job.isolation { didStart(entry.number, on: isolation) }
    } else {
      runningJob = entry.origin
    }
    return entry
  }

  /// Adds a step to the trace.
  private mutating func willTrace(_ entry: Ready, _ task: Int, isSwitch: Bool) {
    let job = if case .job(let job) = entry.work { job } else { entry.origin }
    let actor = job.flatMap { actorName(of: $0) }
    let (chain, creation) = sites.takeSites(of: entry.work, task)
    trace?.didRun(
      task, step: record.steps, isSwitch: isSwitch, actor: actor, procedure: executing[task]?.last?.name, chain: chain,
      creation: creation)
  }

  /// Returns the name of the actor on which `job` runs; `nil` if there is none, or if the actor may no longer be in memory.
  private mutating func actorName(of job: ReadyJob) -> String? {
    guard let isolation = job.isolation, case .actor(let actor) = isolation else {
      return job.isolation == .mainActor ? "MainActor" : nil
    }
    guard JobIdentities.taskID(of: job.job) != nil else { return nil }
    let type = actor.typeName
    // Another actor may have had the same address.
    if let known = actorNames[isolation], known == type || known.hasPrefix(type + " ") { return known }
    let count = actorNames.values.count { $0 == type || $0.hasPrefix(type + " ") }
    actorNames[isolation] = count == 0 ? type : "\(type) \(count + 1)"
    return actorNames[isolation]
  }

  /// Returns the number that identifies the actor that the entry at `index` visits; `nil` if it visits none.
  private mutating func actorNumber(of index: Int) -> Int? {
    guard index < ready.count, case .job(let job) = ready[index].work, let isolation = job.isolation else { return nil }
    if let number = actorNumbers[isolation] { return number }
    actorNumbers[isolation] = actorNumbers.count
    return actorNumbers.count - 1
  }

  /// Records that a job of an actor is starting. The actor's other jobs are not ready until this job ends.
  private mutating func didStart(_ number: Int, on isolation: Isolation) {
    actors.didStart(number, on: isolation)
    for index in ready.indices.reversed() {
      if case .job(let job) = ready[index].work, job.isolation == isolation { _ = remove(at: index) }
    }
  }
}

// MARK: - Stuck tasks

extension ScheduleState {
  private mutating func watch(_ job: ReadyJob, _ task: Int) {
    guard statuses[task] == nil, !unended.contains(task), TaskStatus.isKnown else { return }
    unended.insert(task)
    let status = TaskStatus(job.job)
    if status.isCounted { statuses[task] = status }
  }

  /// Returns the status of the task to which `job` belongs, just before `job` runs; `nil` if the job does not belong to a task.
  func status(of job: ReadyJob) -> TaskStatus? {
    guard isRecording, JobKind.isTask(job.job, ofTask: JobIdentities.taskID(of: job.job)) else { return nil }
    return running.flatMap { statuses[$0] } ?? TaskStatus(job.job)
  }

  /// Records that the running task has ended.
  mutating func didEndTask() {
    if let running { unended.remove(running) }
  }

  /// The tasks that have not ended, if a trace is being recorded; empty otherwise.
  var stuckTasks: [StuckTask] {
    guard let trace else { return [] }
    return unended.filter { statuses[$0]?.hasEnded != true }.sorted().map { trace.stuck($0) }
  }

  /// Lets the tasks take turns and records their order.
  mutating func takeTurns() {
    stopRecording()
    chooser = RoundRobinChooser()
    turns = []
  }
}

// MARK: - The run token

extension ScheduleState {
  /// Returns whether `thread` holds the run token.
  func isHolding(_ thread: Platform.Thread) -> Bool { holder != nil && holderThread == thread }

  /// Returns whether a thread other than `thread` holds the run token. Code on `thread` is then not part of the current step.
  func isForeign(_ thread: Platform.Thread) -> Bool { holder != nil && holderThread != thread }

  mutating func didTakeRunToken(_ worker: WorkerThread, on thread: Platform.Thread) {
    holder = worker
    holderThread = thread
  }

  /// Records that the run token is being passed to `worker`.
  mutating func willPassRunToken(to worker: WorkerThread) {
    (holder, holderThread) = (worker, nil)
  }

  /// Whether a worker is running a job.
  var isRunning: Bool { holder != nil || hasReleased }

  /// Whether any worker that was released after a `LockCollision` has yet to finish its job.
  var hasReleased: Bool { !released.isEmpty }

  mutating func didReleaseRunToken() {
    (holder, holderThread, running) = (nil, nil, nil)
  }

  /// Abandons the worker with the run token.
  mutating func didAbandon() {
    parking = holder
    didReleaseRunToken()
  }

  /// Records that a parked worker continues. The worker gets the run token, unless it was released after a `LockCollision`.
  mutating func didResume(_ worker: WorkerThread, on thread: Platform.Thread) {
    guard !released.contains(where: { $0 === worker }) else { return }
    didTakeRunToken(worker, on: thread)
    noteMoment()
  }

  /// Removes the parked job of `worker` from the ready jobs, and passes the run token to `worker`, even if the schedule is ending.
  ///
  /// - Returns: Whether the worker was parked.
  mutating func takeParked(_ worker: WorkerThread) -> Bool {
    guard let index = ready.firstIndex(where: { $0.parkedWorker === worker }) else { return false }
    _ = take(index)
    willPassRunToken(to: worker)
    return true
  }

  /// Removes and returns a parked worker of a schedule that is ending. No more jobs are started after this call.
  mutating func takeParkedForEnding() -> WorkerThread? {
    isEnding = true
    for entry in ready {
      if case .parked(let worker) = entry.work, takeParked(worker) { return worker }
    }
    return nil
  }

  /// Releases all parked workers, because the running job is waiting for a lock that one of them holds.
  mutating func didCollide() -> [(worker: WorkerThread, depth: UInt)] {
    stopRecording()
    hasCollided = true
    let parked = takeAllParked()
    released += parked.map(\.worker)
    return parked
  }
}
