import Synchronization

/// A watch for jobs that escape from an exploration to the global executor.
///
/// The runtime exports a function pointer, the variable `swift_task_enqueueGlobal_hook`, through which a process can
/// observe the jobs of the global executor. Other run loops use the pointer to replace the executor. The watch passes
/// every job on unchanged, and only tests whether the enqueuing thread drives an exploration. If the pointer is missing
/// (on Windows, or with a statically linked runtime) or taken, an escaped job is only detected when its task comes
/// back. In Swift 6.3, waits for real time and the main actor bypass the pointer.
final class GlobalExecutorWatch: Sendable {
  static let shared = GlobalExecutorWatch()

  /// Whether every job for the global executor is observed.
  let isInstalled: Bool

  private let drivers = Mutex<[Platform.Thread: ScheduleExecutor]>([:])

  private init() {
    guard let hook = Self.hook, hook.pointee == nil else {
      isInstalled = false
      return
    }
    hook.pointee = { job, original in
      GlobalExecutorWatch.shared.willEnqueue()
      original(job)
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

  private func willEnqueue() {
    currentDriven?.didEscape()
  }

  // The types as in the runtime's header `swift/Runtime/Concurrency.h`.
  private typealias Original = @convention(thin) (UnownedJob) -> Void
  private typealias Hook = @convention(thin) (UnownedJob, Original) -> Void

  private static var hook: UnsafeMutablePointer<Hook?>? {
    Platform.variable(named: "swift_task_enqueueGlobal_hook", as: Hook?.self)
  }
}
