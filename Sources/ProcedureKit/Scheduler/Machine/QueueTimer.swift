/// A timer that a queue keeps pending only while a rule needs it (`QueueCore+Timers.swift`). It contains no lock, clock, or closure.
///
/// The queue schedules and cancels timers without holding its lock, so a timer can be cancelled before it is scheduled, or fire after it is
/// cancelled. Each timer therefore has a number, which makes it possible to recognize a timer that fires late.
struct QueueTimer: Sendable {
  /// The number that identifies the pending timer; `nil` if there is none.
  private var number: UInt64?
  /// The pending timer, once it is scheduled.
  private var id: TimerHeap.ID?
  private var count: UInt64 = 0

  /// Records that a timer is needed. Returns the number that identifies the timer to schedule; `nil` if one is already pending.
  mutating func started() -> UInt64? {
    guard number == nil else { return nil }
    count += 1
    number = count
    return count
  }

  /// Records that the timer was scheduled. Returns whether it is still needed. If it is not, the queue cancels it.
  mutating func scheduled(_ id: TimerHeap.ID, number: UInt64) -> Bool {
    guard self.number == number else { return false }
    self.id = id
    return true
  }

  /// Records that no timer is needed. Returns the timer to cancel; `nil` if none is scheduled.
  mutating func cancelled() -> TimerHeap.ID? {
    number = nil
    return id.take()
  }

  /// Records that a timer fired. Returns `false` if the timer had already been cancelled.
  mutating func fired(number: UInt64) -> Bool {
    guard self.number == number else { return false }
    (self.number, id) = (nil, nil)
    return true
  }
}
