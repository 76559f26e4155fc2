import Synchronization

/// A watch for jobs that leave an exploration for the global executor, which brings them back.
///
/// The runtime exports a function pointer, the variable `swift_task_enqueueGlobal_hook`, through which a process can
/// replace the global executor. The watch tests whether the enqueuing thread drives an exploration: if so, the job joins
/// the ready jobs of the exploration; if not, the runtime gets the job. If the pointer is missing (on Windows, or with a
/// statically linked runtime) or taken by another run loop, a job for the global executor is only detected when its task
/// comes back. In Swift 6.3, waits for real time and the main actor bypass the pointer.
final class GlobalExecutorWatch: Sendable {
  static let shared = GlobalExecutorWatch()

  /// Whether jobs for the global executor can be brought back.
  let isInstalled: Bool

  private let drivers = Mutex<[Platform.Thread: ScheduleExecutor]>([:])

  private init() {
    guard let hook = Self.hook, hook.pointee == nil else {
      isInstalled = false
      return
    }
    hook.pointee = { job, original in
      if let executor = GlobalExecutorWatch.shared.currentDriven {
        executor.enqueue(job)
      } else {
        original(job)
      }
    }
    isInstalled = true
  }

  func didBeginDriving(_ executor: ScheduleExecutor, on thread: Platform.Thread) {
    drivers.withLock { $0[thread] = executor }
  }

  func didEndDriving(on thread: Platform.Thread) {
    _ = drivers.withLock { $0.removeValue(forKey: thread) }
  }

  /// The executor that the calling thread drives; `nil` for other threads.
  var currentDriven: ScheduleExecutor? {
    let thread = Platform.Thread.current
    return drivers.withLock { $0[thread] }
  }

  // The types as in the runtime's header `swift/Runtime/Concurrency.h`.
  private typealias Original = @convention(thin) (UnownedJob) -> Void
  private typealias Hook = @convention(thin) (UnownedJob, Original) -> Void

  private static var hook: UnsafeMutablePointer<Hook?>? {
    Platform.variable(named: "swift_task_enqueueGlobal_hook", as: Hook?.self)
  }
}
