import Foundation

/// How long the current thread has computed so far: on a busy machine a longer run is interrupted more often.
enum ProcessorTime {
  static var now: Duration {
    // The members of `timespec` belong to a module that nobody can import, depending on what else is compiled.
    var time = (seconds: 0, nanoseconds: 0)
    // Invariant: a `timespec` is these two integers, on all platforms of 64 bits; the pointer does not leave the call.
    withUnsafeMutablePointer(to: &time) { pointer in
      _ = pointer.withMemoryRebound(to: timespec.self, capacity: 1) { clock_gettime(CLOCK_THREAD_CPUTIME_ID, $0) }
    }
    return .seconds(time.seconds) + .nanoseconds(time.nanoseconds)
  }

  /// What `work` takes of it.
  static func measure(_ work: () -> Void) -> Duration {
    let start = now
    work()
    return now - start
  }
}
