/// A value that decides whether a queue has stalled. It contains no lock, clock, or closure.
///
/// A timer is pending while there are runs that could advance. The queue has stalled if the machine has not changed when the timer fires.
/// After a stall is reported, no timer is started until the machine changes.
struct StallDetector: Sendable {
  /// The machine's count of changes, and the number of timers that had fired, when the timer was started; `nil` if no timer is pending.
  private var start: (changes: UInt64, firedTimers: Int)?
  /// The machine's count of changes when a stall was last reported.
  private var reportedChanges: UInt64?

  /// Records that the machine may have changed. Returns whether a timer must be pending.
  mutating func changed(canMove: Bool, changes: UInt64, firedTimers: Int) -> Bool {
    let isNeeded = canMove && changes != reportedChanges
    start = isNeeded ? start ?? (changes, firedTimers) : nil
    return isNeeded
  }

  /// Records that the timer fired. Returns whether the queue has stalled.
  ///
  /// The queue has not stalled if another timer is pending, because that timer will advance a run. Nor does it count as stalled if another
  /// timer has fired since the detector's timer was started, because that timer may have resumed a task that has not reached the queue yet.
  mutating func timerFired(changes: UInt64, firedTimers: Int, pendingTimers: Int) -> Bool {
    guard let start = start.take(), changes == start.changes, firedTimers <= start.firedTimers + 1, pendingTimers == 0
    else { return false }
    reportedChanges = changes
    return true
  }
}
