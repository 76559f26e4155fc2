import Foundation
import Synchronization

/// The processor time of threads, which does not include interruptions on a busy machine.
public enum ProcessorTime {
  /// The processor time of the current thread.
  public static var now: Duration {
    // Depending on what else is compiled, the members of `timespec` belong to a module that cannot be imported.
    var time = (seconds: 0, nanoseconds: 0)
    // Invariant: On all 64-bit platforms, a `timespec` consists of these two integers. The pointer does not escape the call.
    withUnsafeMutablePointer(to: &time) { pointer in
      _ = pointer.withMemoryRebound(to: timespec.self, capacity: 1) { clock_gettime(CLOCK_THREAD_CPUTIME_ID, $0) }
    }
    return .seconds(time.seconds) + .nanoseconds(time.nanoseconds)
  }

  /// Returns the processor time that `work` takes.
  public static func measure(_ work: () -> Void) -> Duration {
    let start = now
    work()
    return now - start
  }
}

/// An executor that executes tasks on one thread at a time, and adds up their processor time, without that of other tests.
public final class MeteredExecutor: TaskExecutor {
  private let queue = DispatchQueue(label: "metered")
  private let sum = Mutex(Duration.zero)

  /// Creates an executor that has executed nothing.
  public init() {}

  /// The processor time of all jobs that have been enqueued so far. Waits for the jobs, because a job can wake the caller before it ends.
  public var processorTime: Duration { queue.sync { sum.withLock { $0 } } }

  /// Executes a job after the jobs that were enqueued earlier.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { [self] in
      let time = ProcessorTime.measure { job.runSynchronously(on: asUnownedTaskExecutor()) }
      sum.withLock { $0 += time }
    }
  }
}
