/// Internal. What a queue does when it has stalled.
struct StallReport: Sendable {
  /// How long nothing may move.
  let timeout: Duration
  /// Called outside of all locks.
  let tell: @Sendable (QueueCore) -> Void
}

/// Internal. Decides when a queue has stalled: a value without lock, clock or closure.
///
/// A timer looks at the queue while there are runs that could move. The queue has stalled if nothing has moved between two
/// looks. After a report there is no timer until something moves.
struct StallDetector: Sendable {
  /// Whether a timer is needed.
  private var isNeeded = false
  /// The number of the timer; `nil` without one.
  private var timerNumber: UInt64?
  /// The timer, once it has been scheduled.
  private var timer: TimerHeap.ID?
  private var timerCount: UInt64 = 0
  /// The changes of the machine at the latest look, and at the latest report.
  private var seenChanges: UInt64 = 0
  private var reportedChanges: UInt64?

  /// A change for the timer.
  enum Adjustment {
    case none
    case schedule(number: UInt64)
    case cancel(TimerHeap.ID)
  }

  /// The result of a look.
  enum Finding {
    case nothing
    case lookAgain
    case stall
  }

  /// Something may have changed. Whether the timer has to be adjusted.
  mutating func changed(canMove: Bool, changes: UInt64) -> Bool {
    let isNeeded = canMove && changes != reportedChanges
    guard isNeeded != self.isNeeded else { return false }
    self.isNeeded = isNeeded
    return true
  }

  /// The timer is adjusted to the need.
  mutating func adjusted(changes: UInt64) -> Adjustment {
    if isNeeded, timerNumber == nil {
      timerCount += 1
      timerNumber = timerCount
      seenChanges = changes
      return .schedule(number: timerCount)
    }
    guard !isNeeded, timerNumber != nil else { return .none }
    timerNumber = nil
    return timer.take().map { .cancel($0) } ?? .none
  }

  /// The timer was scheduled. Whether it is still needed.
  mutating func scheduled(_ timer: TimerHeap.ID, number: UInt64) -> Bool {
    guard timerNumber == number else { return false }
    self.timer = timer
    return true
  }

  /// The timer has gone off.
  ///
  /// - Parameters:
  ///   - number: The number of the timer.
  ///   - changes: The changes of the machine.
  ///   - awaitsTimer: Whether another timer is pending, which will move something.
  /// - Returns: Whether the queue has stalled.
  mutating func timerWentOff(number: UInt64, changes: UInt64, awaitsTimer: Bool) -> Finding {
    guard timerNumber == number else { return .nothing }
    (timerNumber, timer) = (nil, nil)
    guard isNeeded else { return .nothing }
    guard changes == seenChanges, !awaitsTimer else { return .lookAgain }
    reportedChanges = changes
    isNeeded = false
    return .stall
  }
}
