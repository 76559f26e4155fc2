/// Ageing: while a run is waiting for a slot, its priority rises by one level after each ageing interval.
///
/// A stream of runs with higher priorities therefore cannot keep it from starting.
///
/// When a run gets a slot, or stops waiting for one, it returns to its own priority. Time during which the queue is suspended does not
/// count.
///
/// No timer is needed. The order of the waiting runs matters only when a slot is granted, so priorities are raised just before that.
extension QueueMachine {
  /// Returns the next higher level of priority; `nil` if there is none.
  ///
  /// The levels are `background`, `low`, `medium`, `high`, and the priority of the main thread on Apple platforms.
  static func level(above priority: UInt8) -> UInt8? {
    switch priority {
    case ..<9: 9
    case ..<17: 17
    case ..<21: 21
    case ..<25: 25
    case ..<33: 33
    default: nil
    }
  }

  /// The current instant, not counting the time during which the queue was suspended.
  var ageingNow: Int64 { (isSuspended ? suspensionStart : now) - suspendedTime }

  /// Starts an ageing interval for a member that is waiting for a slot. `instant` is the start of the interval, measured as in `ageingNow`.
  mutating func startAgeing(_ member: MemberID, at instant: Int64) {
    guard let ageingInterval, Self.level(above: members[Int(member)].waitingPriority) != nil else { return }
    rising.insert(member, priority: 0, order: UInt64(clamping: instant) + UInt64(ageingInterval))
  }

  /// Records that a member stopped waiting for a slot, or that its priority changed. The member returns to its own priority.
  mutating func stopAgeing(_ member: MemberID) {
    members[Int(member)].risenPriority = 0
    if rising.contains(member) { rising.remove(member) }
  }

  /// Raises each waiting member by one level for each ageing interval that has passed since it started to wait or last rose.
  mutating func raiseDueMembers() {
    while let member = rising.first(), rising.order(of: member) <= UInt64(clamping: ageingNow) {
      let due = rising.order(of: member)
      rising.remove(member)
      guard let priority = Self.level(above: members[Int(member)].waitingPriority) else { continue }
      members[Int(member)].risenPriority = priority
      reorder(member)
      // More than one interval may have passed, so the member may rise again in this loop.
      startAgeing(member, at: Int64(clamping: due))
    }
  }
}
