import Foundation
import ProcedureKit
import Synchronization

/// An executor that runs blocking work on separate threads.
///
/// Swift runs all tasks on about as many threads as the machine has cores, so a few blocking calls can stop all other tasks. Give the queue
/// of such calls an executor of this type:
///
/// ```swift
/// var configuration = ProcedureQueue.Configuration("disk", maxConcurrentProcedures: 4)
/// configuration.executor = BlockingExecutor("disk", maxThreads: 4)
/// ```
///
/// A thread is started when a job arrives while all existing threads are busy, until there are `maxThreads` threads. If all of them are
/// busy, further jobs wait, and are executed in the order in which they arrived, regardless of their priorities. A body that is suspended
/// at an `await` occupies no thread. Several queues can share one executor.
///
/// Idle threads wait without using the processor. All threads end after the last reference to the executor is released, which can only
/// happen when all of its jobs have been executed.
///
/// See the guide *Blocking work* in `ProcedureKit`.
public final class BlockingExecutor: TaskExecutor {
  private let threads: BlockingThreads

  /// Creates an executor. No thread is started before the first job arrives.
  ///
  /// - Parameters:
  ///   - name: The name of the threads, for debuggers.
  ///   - maxThreads: The maximum number of threads. Choose at least the sum of the widths of the queues that use the executor, because each
  ///     executing body can block one thread. Passing a number below 1 traps.
  public init(_ name: String, maxThreads: Int) {
    require(maxThreads >= 1, "BlockingExecutor \(name.quoted): maxThreads must be at least 1, got \(maxThreads)")
    threads = BlockingThreads(name, maxCount: maxThreads)
  }

  deinit { threads.end() }

  /// Executes a job on one of the threads. Swift calls this function.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    // The closure retains the executor until the job has been executed.
    threads.execute { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}

/// The threads of a ``BlockingExecutor``. Each thread retains this object, but not the executor.
private final class BlockingThreads: Sendable {
  typealias Job = @Sendable () -> Void

  private struct State {
    /// The jobs that no thread has taken yet.
    var waiting = Deque<Job>()
    /// The number of threads that are executing a job.
    var busyCount = 0
    var threadCount = 0

    mutating func takeJob() -> Job? {
      guard let job = waiting.popFirst() else { return nil }
      busyCount += 1
      return job
    }
  }

  private let name: String
  private let maxCount: Int
  private let state = Mutex(State())
  /// Signalled once for each job, and at the end once for each thread.
  private let signal = DispatchSemaphore(value: 0)

  init(_ name: String, maxCount: Int) { (self.name, self.maxCount) = (name, maxCount) }

  func execute(_ job: @escaping Job) {
    let needsThread = state.withLock { state in
      state.waiting.append(job)
      let jobCount = state.busyCount + state.waiting.count
      guard jobCount > state.threadCount, state.threadCount < maxCount else { return false }
      state.threadCount += 1
      return true
    }
    if needsThread { startThread() }
    signal.signal()
  }

  /// Ends the threads. Because each job retains the executor, no job is waiting, and the only job that can still be executing is the one
  /// that released the last reference to the executor.
  func end() {
    for _ in 0..<state.withLock({ $0.threadCount }) { signal.signal() }
  }

  private func startThread() {
    Thread.detachNewThread { [self] in
      // On Linux, the system learns the name only if a running thread sets it.
      Thread.current.name = name
      while executeNextJob() {}
    }
  }

  /// Waits for a job and executes it. Returns `false` if there will be no more jobs.
  private func executeNextJob() -> Bool {
    signal.wait()
    guard let job = state.withLock({ $0.takeJob() }) else { return false }
    #if canImport(ObjectiveC)
      autoreleasepool { job() }
    #else
      job()
    #endif
    state.withLock { $0.busyCount -= 1 }
    return true
  }
}
