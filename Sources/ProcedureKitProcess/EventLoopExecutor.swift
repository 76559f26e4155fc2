import Foundation
import Synchronization

/// A task executor that runs an event loop. A single thread executes jobs and, between jobs, waits for programs.
///
/// The executor is intended for many short programs. With any other executor, two threads have to wake up when a program ends: the one that
/// waits for all programs, and then the one that continues the procedure. With this executor, a single thread does both:
///
/// ```swift
/// var configuration = ProcedureQueue.Configuration("commands", maxConcurrentProcedures: 8)
/// configuration.executor = try EventLoopExecutor.shared
/// let queue = ProcedureQueue(configuration)
/// ```
///
/// Programs run concurrently, as on any queue, but the bodies of the procedures do not. *A body on this executor must neither block nor
/// compute for a long time.* While a body does so, all other bodies on this executor are stalled. During this time, the outputs of all
/// programs remain unread, even on other queues, and programs that end go unnoticed. Execute such work on another executor:
///
/// ```swift
/// let names = try await withTaskExecutorPreference(globalConcurrentExecutor) { try list(folder) }
/// ```
///
/// Jobs are executed in the order in which they are enqueued, regardless of their priority. The thread exists until the process ends.
public final class EventLoopExecutor: TaskExecutor {
  private struct Jobs {
    var waiting: [UnownedJob] = []
    /// Whether the thread must be woken for a new job, because it is waiting for programs or is about to wait for them.
    var mustWake = false
  }

  private static let instance = Mutex<EventLoopExecutor?>(nil)

  /// The executor of this process. Its thread starts when this property is first read, or when the first program is started.
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

  /// The poller, which uses this executor's thread to read the outputs of programs and to wait for the programs to end.
  let poller: OutputPoller
  /// The descriptor that serves as standard input for programs that have no input. It is opened only once, which makes programs start
  /// faster.
  let emptyInput: Int32
  private let jobs = Mutex(Jobs())

  /// Creates an executor, and starts its thread, which retains the executor.
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

  /// Executes a job on the thread, after all earlier jobs. The concurrency runtime can call this function from any thread.
  ///
  /// - Parameter job: The job to execute.
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
      // Handling these events enqueues jobs, which need not wake the thread, because it is already awake.
      jobs.withLock { $0.mustWake = false }
      poller.handle(keys)
    }
  }

  /// Executes jobs, and the jobs that they enqueue, for a limited number of rounds. The limit ensures that programs are handled even if
  /// jobs keep enqueuing more jobs.
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

  /// Unblocks SIGCHLD, which is raised each time a program ends, so that the system can discard the signal.
  ///
  /// On Dispatch threads, the signal is blocked. If the thread that started a program blocked the signal, the signal would wake another
  /// thread of this process, usually the main thread.
  private func acceptEndSignal() {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGCHLD)
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
  }
}
