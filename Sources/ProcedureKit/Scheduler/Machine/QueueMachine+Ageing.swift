/// Ageing: a run that is waiting for a slot rises by one level of priority each time it has waited for the ageing interval. A stream of runs
/// of higher priority can therefore not keep it from starting.
///
/// A run that gets a slot, or no longer waits for one, has its own priority again. Time during which the queue is suspended does not count.
///
/// No timer is needed. The order of the waiting runs matters only when a slot is granted, so the runs that are due rise just before that.
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

  /// Records that a member has its current level, and waits for a slot, since an instant of `ageingNow`.
  mutating func startAgeing(_ member: MemberID, at instant: Int64) {
    guard let ageingInterval, Self.level(above: members[Int(member)].waitingPriority) != nil else { return }
    rising.insert(member, priority: 0, order: UInt64(clamping: instant) + UInt64(ageingInterval))
  }

  /// Records that a member no longer waits for a slot, or that its priority has changed. The member has its own priority again.
  mutating func stopAgeing(_ member: MemberID) {
    members[Int(member)].risenPriority = 0
    if rising.contains(member) { rising.remove(member) }
  }

  /// Raises the waiting members that are due by one level for each interval that they have waited.
  mutating func raiseDueMembers() {
    while let member = rising.first(), rising.order(of: member) <= UInt64(clamping: ageingNow) {
      let due = rising.order(of: member)
      rising.remove(member)
      guard let priority = Self.level(above: members[Int(member)].waitingPriority) else { continue }
      members[Int(member)].risenPriority = priority
      reorder(member)
      // A long time can have passed since then, so the member may rise again at once.
      startAgeing(member, at: Int64(clamping: due))
    }
  }
}
