/// A value that contains the state of the rules about how long runs wait for slots. Time during which the queue is suspended does not
/// count.
///
/// The only rule is ageing: while a run is waiting for a slot, its priority rises by one level after each ageing interval. A stream of runs
/// with higher priorities therefore cannot keep the run from starting. When the run gets a slot, or stops waiting for one, it returns to
/// its own priority. No timer is needed: the order of the waiting runs matters only when a slot is granted, so priorities are raised just
/// before that.
///
/// To add a rule, add its setting and its state here, and apply the rule in `QueueMachine.slotWaitStarted`, `slotWaitEnded`, and
/// `grantSlots`. If the rule needs a timer, add the timer in `QueueCore+Timers.swift`.
struct SlotWaits: Sendable {
  /// The time in nanoseconds after which the priority of a waiting run rises by one level; `nil` if priorities do not rise.
  let ageingInterval: Int64?
  /// The runs that are waiting for a slot and whose priorities can still rise, ordered by the instants at which they rise next.
  private(set) var rising = InstantHeap()
  /// The instant at which the queue was most recently suspended, in nanoseconds.
  private var suspensionStart: Int64 = 0
  /// The total duration of the suspensions that have ended, in nanoseconds.
  private var suspendedTime: Int64 = 0

  init(ageingInterval: Int64? = nil) { self.ageingInterval = ageingInterval }

  init(_ configuration: ProcedureQueue.Configuration) {
    self.init(
      ageingInterval: configuration.ageingInterval.map { max(1, Int64(clamping: $0.attoseconds / 1_000_000_000)) })
  }

  /// Whether any rule measures how long runs wait for slots. If so, the queue passes the instant of each event to the machine
  /// (`QueueMachine.now`).
  var areMeasured: Bool { ageingInterval != nil }

  /// Records that the queue was suspended.
  mutating func suspended(at now: Int64) { suspensionStart = now }

  /// Records that the queue is no longer suspended.
  mutating func resumed(at now: Int64) { suspendedTime += now - suspensionStart }

  /// Subtracts from an instant the total time during which the queue was suspended. The result does not advance while the queue is
  /// suspended.
  func unsuspended(_ now: Int64, isSuspended: Bool) -> Int64 { (isSuspended ? suspensionStart : now) - suspendedTime }

  /// The priority levels: `background`, `low`, `medium`, `high`, and the priority of the main thread on Apple platforms.
  private static let levels: [UInt8] = [9, 17, 21, 25, 33]

  /// Returns the next higher priority level; `nil` if there is none.
  static func level(above priority: UInt8) -> UInt8? { levels.first { $0 > priority } }

  /// Starts an ageing interval for a member that is waiting for a slot at a priority. `instant`, which does not include suspensions, is the
  /// start of the interval.
  mutating func startAgeing(_ member: MemberID, at instant: Int64, from priority: UInt8) {
    guard let interval = ageingInterval, Self.level(above: priority) != nil else { return }
    rising.insert(member, at: Int64(clamping: UInt64(clamping: instant) + UInt64(interval)))
  }

  /// Ends the ageing interval of a member that no longer waits for a slot, or whose priority changed.
  mutating func stopAgeing(_ member: MemberID) { rising.remove(member) }

  /// Ends an ageing interval that has passed. Returns its member and its end; `nil` if no interval has passed.
  mutating func takeDue(at instant: Int64) -> (member: MemberID, end: Int64)? {
    guard let (member, end) = rising.first, end <= instant else { return nil }
    rising.remove(member)
    return (member, end)
  }

  /// Releases the memory when the queue has no runs.
  mutating func releaseMemory() { rising.releaseMemory() }
}
