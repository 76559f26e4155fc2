import Foundation
import Synchronization

/// A task executor with one thread that executes jobs and, in between, waits for programs: an event loop.
///
/// The executor is intended for many short programs. On any other executor, when a program ends, it wakes the thread that waits for all
/// programs, and that thread wakes the thread that continues the procedure. Here, both are the same thread:
///
/// ```swift
/// var configuration = ProcedureQueue.Configuration("commands", maxConcurrentProcedures: 8)
/// configuration.executor = try EventLoopExecutor.shared
/// let queue = ProcedureQueue(configuration)
/// ```
///
/// Programs run concurrently, as on every queue. The work of this process does not: *a body on this executor must neither block nor compute
/// for a long time*. While it does, no output of any program is read, on any queue, no program's end is detected, and no other body on this
/// executor continues. Execute such work on another executor:
///
/// ```swift
/// let names = try await withTaskExecutorPreference(globalConcurrentExecutor) { try list(folder) }
/// ```
///
/// Jobs are executed in the order in which they are enqueued, regardless of their priority. The thread exists until the process ends.
public final class EventLoopExecutor: TaskExecutor {
  private struct Jobs {
    var waiting: [UnownedJob] = []
    /// Whether the thread is waiting for programs, or is about to, and must be woken for a job.
    var mustWake = false
  }

  private static let instance = Mutex<EventLoopExecutor?>(nil)

  /// The executor of this process. Its thread starts when the executor is first used, or when the first program is started.
  ///
  /// - Throws: `POSIXError` if the process cannot open any more descriptors.
  public static var shared: EventLoopExecutor {
    get throws {
      try instance.withLock { instance in
        let executor = try instance ?? EventLoopExecutor(makeSet())
        instance = executor
        return executor
      }
    }
  }

  private static func makeSet() throws -> any DescriptorSet {
    #if os(Linux)
      try EpollSet()
    #else
      try PollSet()
    #endif
  }

  /// Reads the outputs of programs, and waits for the programs to end, on the thread of this executor.
  let poller: OutputPoller
  /// The standard input of all programs that are given no input. Opening it once for all of them lets programs start faster.
  let emptyInput: Int32
  private let jobs = Mutex(Jobs())

  /// Starts the thread, which retains the executor.
  ///
  /// - Throws: `POSIXError` if the process cannot open any more descriptors.
  init(_ set: any DescriptorSet) throws {
    emptyInput = open("/dev/null", O_RDONLY | O_CLOEXEC)
    guard emptyInput >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EMFILE) }
    poller = OutputPoller(set)
    let thread = Thread { self.work() }
    thread.name = "event loop"
    thread.start()
  }

  /// Executes a job on the thread, after all earlier jobs. The concurrency runtime calls this function from any thread.
  ///
  /// - Parameter job: The job.
  public func enqueue(_ job: UnownedJob) {
    let mustWake = jobs.withLock { jobs in
      jobs.waiting.append(job)
      defer { jobs.mustWake = false }
      return jobs.mustWake
    }
    if mustWake { poller.wake() }
  }

  private func work() {
    acceptEndSignal()
    while true {
      executeJobs()
      let isIdle = jobs.withLock { jobs in
        jobs.mustWake = jobs.waiting.isEmpty
        return jobs.mustWake
      }
      let keys = poller.next(waits: isIdle)
      // Handling these events enqueues jobs. The thread is already awake, so these jobs need not wake it.
      jobs.withLock { $0.mustWake = false }
      poller.handle(keys)
    }
  }

  /// Executes jobs, and the jobs that they enqueue, for a number of rounds, so that programs are handled even if there are always more
  /// jobs.
  private func executeJobs() {
    let executor = asUnownedTaskExecutor()
    for _ in 0..<16 {
      let round = jobs.withLock { jobs in
        let round = jobs.waiting
        jobs.waiting = []
        return round
      }
      if round.isEmpty { return }
      for job in round { job.runSynchronously(on: executor) }
    }
  }

  /// Lets the system discard the signal that is raised each time a program ends. If the thread that started the program blocks the signal,
  /// as Dispatch threads do, the signal would wake another thread of this process, usually the main thread.
  private func acceptEndSignal() {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGCHLD)
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
  }
}
