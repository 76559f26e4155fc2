import Foundation
import Synchronization

/// How long the current thread has computed so far: on a busy machine a longer run is interrupted more often.
public enum ProcessorTime {
  /// The processor time of the current thread.
  public static var now: Duration {
    // The members of `timespec` belong to a module that nobody can import, depending on what else is compiled.
    var time = (seconds: 0, nanoseconds: 0)
    // Invariant: a `timespec` is these two integers, on all platforms of 64 bits; the pointer does not leave the call.
    withUnsafeMutablePointer(to: &time) { pointer in
      _ = pointer.withMemoryRebound(to: timespec.self, capacity: 1) { clock_gettime(CLOCK_THREAD_CPUTIME_ID, $0) }
    }
    return .seconds(time.seconds) + .nanoseconds(time.nanoseconds)
  }

  /// The processor time that `work` takes.
  public static func measure(_ work: () -> Void) -> Duration {
    let start = now
    work()
    return now - start
  }
}

/// Executes tasks in one thread at a time, and adds up the processor time they take, without that of other tests.
public final class MeteredExecutor: TaskExecutor {
  private let queue = DispatchQueue(label: "metered")
  private let sum = Mutex(Duration.zero)

  /// Makes an executor that has executed nothing.
  public init() {}

  /// The processor time of all tasks so far.
  public var processorTime: Duration { sum.withLock { $0 } }

  /// Executes a job after those that were enqueued before.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { [self] in
      let time = ProcessorTime.measure { job.runSynchronously(on: asUnownedTaskExecutor()) }
      sum.withLock { $0 += time }
    }
  }
}
