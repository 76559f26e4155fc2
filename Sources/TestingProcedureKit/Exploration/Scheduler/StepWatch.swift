/// A watch for steps that do not end, for example because they are waiting for a lock that a parked waker holds.
struct StepWatch {
  /// The time between two checks, in milliseconds.
  static let tick = 4

  /// The number of consecutive checks that must find all threads asleep before parked wakers are resumed.
  private static let longSleep = 8

  /// The number of consecutive checks that must find no progress before parked wakers are resumed even if some thread is not asleep.
  private static let longQuiet = 500

  /// The value that replaces `longQuiet` on systems that do not report whether a thread is asleep.
  private static let longQuietUnknown = 60

  private let stepTimeout: Duration
  private var last: ScheduleExecutor.Progress?
  private var lastExecutor: ScheduleExecutor?
  /// The number of consecutive checks in which there was no progress.
  private var quiet = 0
  /// The number of consecutive checks in which there was no progress and all threads were asleep.
  private var asleep = 0
  private var since = ContinuousClock.now
  private var hasReported = false

  init(stepTimeout: Duration) {
    self.stepTimeout = stepTimeout
  }

  /// Checks the running step.
  ///
  /// - Returns: The executor, if its step has just exceeded the time limit, or if its driver is stuck; otherwise `nil`. At most one call
  ///   returns an executor.
  mutating func check(_ executor: ScheduleExecutor?, of workers: [WorkerThread]) -> ScheduleExecutor? {
    let progress = executor?.progress
    if progress?.isStuck == true, !hasReported {
      hasReported = true
      return executor
    }
    guard let executor, let progress, progress.isRunning, executor === lastExecutor, progress == last else {
      (last, lastExecutor, quiet, asleep, since) = (progress, executor, 0, 0, .now)
      return nil
    }
    quiet += 1
    let sleeping = workers.map(\.isSleeping)
    asleep = sleeping.allSatisfy { $0 == true } ? asleep + 1 : 0
    let longQuiet = sleeping.contains(nil) ? Self.longQuietUnknown : Self.longQuiet
    if progress.parked > 0, asleep >= Self.longSleep || quiet >= longQuiet {
      executor.releaseParked()
      return nil
    }
    guard !hasReported, ContinuousClock.now - since > stepTimeout else { return nil }
    hasReported = true
    return executor
  }
}
