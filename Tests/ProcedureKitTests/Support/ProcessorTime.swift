import Foundation

/// How long the current thread has computed so far: on a busy machine a longer run is interrupted more often.
enum ProcessorTime {
  static var now: Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }

  /// What `work` takes of it.
  static func measure(_ work: () -> Void) -> Duration {
    let start = now
    work()
    return now - start
  }
}
