import Synchronization

/// Notices jobs that escape from an exploration to the global executor.
///
/// The runtime lets a process look at what it enqueues there through a function pointer that it exports, the variable
/// `swift_task_enqueueGlobal_hook` (it is how other run loops take that executor's place). The watch passes every job
/// on unchanged; it only asks whether the thread that enqueues is driving an exploration just now. Where the pointer
/// cannot be found (on Windows, or with a statically linked runtime) or is taken, escaped jobs are noticed only when
/// they come back. Waits for real time and the main actor pass it by in Swift 6.3.
final class GlobalExecutorWatch: Sendable {
  static let shared = GlobalExecutorWatch()

  /// Whether every job that leaves for the global executor is noticed.
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

  /// The executor that the calling thread is driving, if it is driving one.
  var currentDriven: ScheduleExecutor? {
    let thread = Platform.Thread.current
    return drivers.withLock { $0[thread] }
  }

  private func willEnqueue() {
    currentDriven?.didEscape()
  }

  // As the runtime's header `swift/Runtime/Concurrency.h` declares it.
  private typealias Original = @convention(thin) (UnownedJob) -> Void
  private typealias Hook = @convention(thin) (UnownedJob, Original) -> Void

  private static var hook: UnsafeMutablePointer<Hook?>? {
    Platform.variable(named: "swift_task_enqueueGlobal_hook", as: Hook?.self)
  }
}
