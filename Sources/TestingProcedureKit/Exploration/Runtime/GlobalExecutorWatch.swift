import Synchronization

/// A watch for jobs that leave an exploration for the global executor, which brings them back.
///
/// The runtime exports a function pointer, the variable `swift_task_enqueueGlobal_hook`, through which a process can
/// replace the global executor. The watch tests whether the enqueuing thread drives an exploration: if so, the job joins
/// the ready jobs of the exploration; if not, the runtime gets the job. If the pointer is missing (on Windows, or with a
/// statically linked runtime) or taken by another run loop, a job for the global executor is only detected when its task
/// comes back.
///
/// A second exported pointer, `swift_task_getMainExecutor_hook`, decides which executor is the main actor's. On threads
/// that drive an exploration, the main actor is the schedule's (see `ScheduleMainActor`).
final class GlobalExecutorWatch: Sendable {
  static let shared = GlobalExecutorWatch()

  /// Whether jobs for the global executor can be brought back.
  let isInstalled: Bool

  /// Whether the exploration decides which executor is the main actor's.
  let controlsMainActor: Bool

  private let drivers = Mutex<[Platform.Thread: ScheduleExecutor]>([:])

  /// The schedules with tasks of the global executor, for recognizing such tasks when other threads wake them.
  private let schedules = Mutex<[ScheduleExecutor]>([])

  private init() {
    guard let hook = Self.hook, hook.pointee == nil else {
      (isInstalled, controlsMainActor) = (false, false)
      return
    }
    hook.pointee = { job, original in
      let watch = GlobalExecutorWatch.shared
      if let executor = watch.currentDriven {
        watch.didCapture(for: executor)
        executor.enqueue(job)
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

  /// Notes that `thread` drives `executor`.
  ///
  /// - Returns: The executor that `thread` has driven, which drives again afterwards.
  func didBeginDriving(_ executor: ScheduleExecutor, on thread: Platform.Thread) -> ScheduleExecutor? {
    drivers.withLock { $0.updateValue(executor, forKey: thread) }
  }

  func didEndDriving(on thread: Platform.Thread, previous: ScheduleExecutor?) {
    drivers.withLock { $0[thread] = previous }
  }

  private func didCapture(for executor: ScheduleExecutor) {
    guard executor.didCaptureFirst() else { return }
    schedules.withLock { $0.append(executor) }
  }

  /// Forgets the tasks of a schedule, at its end. Afterwards, the schedule gets no jobs from other threads any more.
  func didEnd(_ executor: ScheduleExecutor) {
    schedules.withLock { $0.removeAll { $0 === executor } }
  }

  /// Gives `job` to the schedule that knows the task of `job`, if there is one.
  ///
  /// The lock is held until the schedule has the job: a schedule that has ended would never run the job.
  private func isTakenBySchedule(_ job: UnownedJob) -> Bool {
    schedules.withLock { schedules in
      guard !schedules.isEmpty, let id = JobIdentities.taskID(of: job),
        let executor = schedules.first(where: { $0.knows(id) })
      else { return false }
      executor.enqueue(job)
      return true
    }
  }

  /// The executor that the calling thread drives; `nil` for other threads.
  var currentDriven: ScheduleExecutor? {
    let thread = Platform.Thread.current
    return drivers.withLock { $0[thread] }
  }

  // The types as in the runtime's header `swift/Runtime/Concurrency.h`.
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

/// The main actor within one schedule: code of the exploration that is isolated to the main actor runs here, on the
/// threads of the exploration.
///
/// The runtime asks for the main actor's executor at every change to the main actor, through an exported function
/// pointer (see `GlobalExecutorWatch`).
///
/// Invariant: an object that the runtime has seen is never released, since tasks that are left behind refer to the
/// object without a reference.
final class ScheduleMainActor: SerialExecutor {
  weak let executor: ScheduleExecutor?

  init(_ executor: ScheduleExecutor) {
    self.executor = executor
  }

  /// Adds a job of the main actor. A job that arrives after the end of the schedule is abandoned.
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    executor?.enqueue(ReadyJob(job: job, isOnMainActor: true))
  }

  /// Returns the executor as the runtime knows it, and keeps the object forever.
  func seenByRuntime() -> UnownedSerialExecutor {
    _ = Unmanaged.passRetained(self)
    return asUnownedSerialExecutor()
  }
}
