/// A value that decides whether a queue has stalled. It contains no lock, clock, or closure.
///
/// A timer is pending while there are runs that could advance. The queue has stalled if the machine has not changed when the timer fires.
/// After a report, no timer is pending until the machine changes.
struct StallDetector: Sendable {
  /// Whether a timer is needed.
  private var isNeeded = false
  /// The number of the timer; `nil` if there is none.
  private var timerNumber: UInt64?
  /// The timer, once it is scheduled.
  private var timer: TimerHeap.ID?
  private var timerCount: UInt64 = 0
  /// The machine's count of changes when the timer was requested.
  private var seenChanges: UInt64 = 0
  /// The machine's count of changes when a stall was last reported.
  private var reportedChanges: UInt64?

  /// The change that the queue makes to the timer.
  enum Adjustment {
    case none
    case schedule(number: UInt64)
    case cancel(TimerHeap.ID)
  }

  /// The result of the check that is made when the timer fires.
  enum Finding {
    case nothing
    case checkAgain
    case stall
  }

  /// Records that the machine may have changed. Returns whether the caller has to call `adjusted` next, in a separate critical section.
  mutating func changed(canMove: Bool, changes: UInt64) -> Bool {
    let isNeeded = canMove && changes != reportedChanges
    guard isNeeded != self.isNeeded else { return false }
    self.isNeeded = isNeeded
    return true
  }

  /// Records that the queue is about to adjust the timer. Returns whether to schedule the timer, cancel it, or leave it unchanged.
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

  /// Records that the timer was scheduled. Returns whether the timer is still needed. If it is not, the queue cancels the timer.
  mutating func scheduled(_ timer: TimerHeap.ID, number: UInt64) -> Bool {
    guard timerNumber == number else { return false }
    self.timer = timer
    return true
  }

  /// Handles a timer that has fired.
  ///
  /// - Parameters:
  ///   - number: The number of the timer.
  ///   - changes: The machine's count of changes.
  ///   - awaitsTimer: Whether another timer is pending that will advance a run.
  /// - Returns: Whether the queue has stalled or has to be checked again.
  mutating func timerFired(number: UInt64, changes: UInt64, awaitsTimer: Bool) -> Finding {
    guard timerNumber == number else { return .nothing }
    (timerNumber, timer) = (nil, nil)
    guard isNeeded else { return .nothing }
    guard changes == seenChanges, !awaitsTimer else { return .checkAgain }
    reportedChanges = changes
    isNeeded = false
    return .stall
  }
}
