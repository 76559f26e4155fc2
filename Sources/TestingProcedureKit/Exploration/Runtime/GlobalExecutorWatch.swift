import Synchronization

/// An object that intercepts the jobs that an exploration enqueues on the global executor, and returns them to the exploration.
///
/// The runtime exports a function pointer, `swift_task_enqueueGlobal_hook`, that a process can set to replace the global executor. When a
/// job is enqueued, the watch checks whether the enqueuing thread is driving an exploration. If it is, the job is added to the ready jobs
/// of the exploration; otherwise, the job is passed on to the runtime. If the pointer is missing (on Windows, or with a statically linked
/// runtime) or another run loop uses it, a job for the global executor is detected only when its task returns to the exploration.
///
/// A second exported pointer, `swift_task_getMainExecutor_hook`, determines which executor the main actor uses. On threads that drive an
/// exploration, the schedule has its own main actor (see `ScheduleMainActor`).
final class GlobalExecutorWatch: Sendable {
  static let shared = GlobalExecutorWatch()

  /// Whether jobs for the global executor can be intercepted.
  let isInstalled: Bool

  /// Whether the exploration can replace the executor of the main actor.
  let controlsMainActor: Bool

  private let drivers = ThreadDrivers()

  /// The schedules that have tasks on the global executor. The list is needed to recognize these tasks when other threads wake them.
  private let schedules = Mutex<[ScheduleExecutor]>([])

  private init() {
    guard UndocumentedParts.areAllowed, let hook = Self.hook, hook.pointee == nil else {
      (isInstalled, controlsMainActor) = (false, false)
      return
    }
    hook.pointee = { job, original in
      let watch = GlobalExecutorWatch.shared
      if let executor = watch.currentDriven {
        watch.didCapture(for: executor)
        executor.enqueue(ReadyJob(job: job, prefersExecutor: false))
      } else if !watch.isTakenBySchedule(job) {
        original(job)
      }
    }
    isInstalled = true
    guard let mainHook = Self.mainHook, mainHook.pointee == nil else {
      controlsMainActor = false
      return
    }
    mainHook.pointee = { original in
      GlobalExecutorWatch.shared.currentDriven.flatMap { $0.mainActorForRuntime } ?? original()
    }
    controlsMainActor = true
  }

  /// Records that `thread` drives `executor`.
  ///
  /// - Returns: The executor that `thread` was driving before. Pass it to `didEndDriving`, which restores it.
  func didBeginDriving(_ executor: ScheduleExecutor, on thread: Platform.Thread) -> ScheduleExecutor? {
    drivers.replace(with: executor, on: thread)
  }

  func didEndDriving(on thread: Platform.Thread, previous: ScheduleExecutor?) {
    _ = drivers.replace(with: previous, on: thread)
  }

  private func didCapture(for executor: ScheduleExecutor) {
    guard executor.didCaptureFirst() else { return }
    schedules.withLock { $0.append(executor) }
  }

  /// Removes a schedule that has ended. The schedule then receives no more jobs from other threads.
  func didEnd(_ executor: ScheduleExecutor) {
    schedules.withLock { $0.removeAll { $0 === executor } }
  }

  /// Enqueues `job` on the schedule to which the job's task belongs. Returns whether a schedule took the job.
  ///
  /// The lock is held until the job has been enqueued, because a schedule that ended before then would never run the job.
  private func isTakenBySchedule(_ job: UnownedJob) -> Bool {
    schedules.withLock { schedules in
      guard !schedules.isEmpty, let id = taskID(of: job), let executor = schedules.first(where: { $0.knows(id) })
      else { return false }
      executor.enqueue(ReadyJob(job: job, prefersExecutor: false))
      return true
    }
  }

  /// Returns the runtime's number for the task of `job`. If `job` serves a single caller of an actor, returns the number for that caller's
  /// task.
  private func taskID(of job: UnownedJob) -> UInt64? {
    guard DefaultActor.isKnown, JobKind.isActor(job) else { return JobIdentities.taskID(of: job) }
    return DefaultActor(servedBy: job).onlyCaller.flatMap(JobIdentities.taskID)
  }

  /// The executor that the calling thread drives; `nil` if it drives none.
  var currentDriven: ScheduleExecutor? {
    drivers.executor(on: .current)
  }

  // These types match those in the runtime's header `swift/Runtime/Concurrency.h`.
  private typealias Original = @convention(thin) (UnownedJob) -> Void
  private typealias Hook = @convention(thin) (UnownedJob, Original) -> Void

  private typealias MainOriginal = @convention(thin) () -> UnownedSerialExecutor
  private typealias MainHook = @convention(thin) (MainOriginal) -> UnownedSerialExecutor

  private static var mainHook: UnsafeMutablePointer<MainHook?>? {
    Platform.variable(named: "swift_task_getMainExecutor_hook", as: MainHook?.self)
  }

  private static var hook: UnsafeMutablePointer<Hook?>? {
    Platform.variable(named: "swift_task_enqueueGlobal_hook", as: Hook?.self)
  }
}

/// The executor of the main actor in one schedule. It runs main-actor code of the exploration on the threads of the exploration.
///
/// Whenever a task switches to the main actor, the runtime calls a function through an exported pointer to get the main actor's executor
/// (see `GlobalExecutorWatch`).
///
/// Invariant: An object that was passed to the runtime is never released, because abandoned tasks refer to the object without retaining it.
final class ScheduleMainActor: SerialExecutor {
  weak let executor: ScheduleExecutor?

  init(_ executor: ScheduleExecutor) {
    self.executor = executor
  }

  /// Adds a job of the main actor. A job that arrives after the schedule has ended is abandoned.
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    executor?.enqueue(ReadyJob(job: job, isolation: .mainActor, prefersExecutor: false))
  }

  /// Returns the executor in the form that the runtime uses, and retains this object forever.
  func seenByRuntime() -> UnownedSerialExecutor {
    _ = Unmanaged.passRetained(self)
    return asUnownedSerialExecutor()
  }
}

/// The schedule executor that each thread is driving.
///
/// The current thread is looked up whenever a task of the process enqueues a job on the global executor. To reduce contention, the threads
/// are spread over several tables. With a single table, the table's lock was the most contended lock when several explorations ran
/// concurrently.
private struct ThreadDrivers {
  private final class Table: Sendable {
    let executors = Mutex<[Platform.Thread: ScheduleExecutor]>([:])
  }

  private let tables = (0..<64).map { _ in Table() }

  func executor(on thread: Platform.Thread) -> ScheduleExecutor? {
    table(of: thread).executors.withLock { $0[thread] }
  }

  /// Sets the executor that a thread drives, and returns the previous one.
  func replace(with executor: ScheduleExecutor?, on thread: Platform.Thread) -> ScheduleExecutor? {
    table(of: thread).executors.withLock { executors in
      let previous = executors[thread]
      executors[thread] = executor
      return previous
    }
  }

  private func table(of thread: Platform.Thread) -> Table { tables[thread.spread(over: tables.count)] }
}
