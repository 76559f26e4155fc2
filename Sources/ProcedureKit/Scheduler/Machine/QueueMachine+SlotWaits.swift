/// The state of the rules about how long runs wait for slots. Time during which the queue is suspended does not count.
///
/// To add a rule, add its setting and its state here, and apply the rule in `QueueMachine.slotWaitStarted`, `slotWaitEnded`, and
/// `slotWillBeGranted`. If the rule needs a timer, add the timer in `QueueCore+Timers.swift`.
struct SlotWaits: Sendable {
  /// The time in nanoseconds after which the priority of a waiting run rises by one level; `nil` if priorities do not rise.
  let ageingInterval: Int64?
  /// The runs that are waiting for a slot and whose priorities can still rise, ordered by the instants at which they rise next.
  var rising = InstantHeap()
  /// The instant at which the queue was most recently suspended, in nanoseconds.
  var suspensionStart: Int64 = 0
  /// The total duration of the suspensions that have ended, in nanoseconds.
  var suspendedTime: Int64 = 0

  init(ageingInterval: Int64? = nil) { self.ageingInterval = ageingInterval }

  init(_ configuration: ProcedureQueue.Configuration) {
    self.init(
      ageingInterval: configuration.ageingInterval.map { max(1, Int64(clamping: $0.attoseconds / 1_000_000_000)) })
  }

  /// Whether any rule measures how long runs wait for slots. If so, the queue passes the instant of each event to the machine
  /// (`QueueMachine.now`).
  var areMeasured: Bool { ageingInterval != nil }

  /// Releases the memory when the queue has no runs.
  mutating func releaseMemory() { rising.releaseMemory() }
}

extension QueueMachine {
  /// Records that a member started waiting for a slot, and for nothing else. Rules about such waits take effect here.
  ///
  /// The run is waiting for its first slot if it is in `ready` and `Member.hasStarted` is `false`. In `ready` with `hasStarted`, it is waiting
  /// to execute its body again. In every other phase, its body, or a hook that precedes the body, is waiting to reacquire the slot (Q3).
  ///
  /// A nested run belongs to a body that has already started. Nevertheless, unless it uses the slot of that body, it can be waiting for its
  /// first slot.
  @inline(__always) mutating func slotWaitStarted(_ member: MemberID) {
    if meters != nil { meters?.enqueued(member, at: now) }
    if slotWaits.areMeasured { startAgeing(member, at: unsuspendedNow) }
  }

  /// Records that a member stopped waiting because it got a slot, no longer needs one, or now waits for a slot of another key. The rules
  /// that `slotWaitStarted` applied to the wait no longer apply.
  @inline(__always) mutating func slotWaitEnded(_ member: MemberID, getsSlot: Bool) {
    if !getsSlot { meters?.dequeued(member) }
    if slotWaits.areMeasured { stopAgeing(member) }
  }

  /// Applies the rules that determine which waiting run gets a free slot. `grantSlots` calls this function before it grants one.
  @inline(__always) mutating func slotWillBeGranted() {
    if slotWaits.areMeasured { raiseDueMembers() }
  }

  /// The current instant, not counting the time during which the queue was suspended. It stands still while the queue is suspended.
  var unsuspendedNow: Int64 { (isSuspended ? slotWaits.suspensionStart : now) - slotWaits.suspendedTime }
}

/// Ageing: while a run is waiting for a slot, its priority rises by one level after each ageing interval.
///
/// A stream of runs with higher priorities therefore cannot keep the run from starting. When the run gets a slot, or stops waiting for one,
/// it returns to its own priority.
///
/// No timer is needed. The order of the waiting runs matters only when a slot is granted, so priorities are raised just before that.
extension QueueMachine {
  /// The priority levels: `background`, `low`, `medium`, `high`, and the priority of the main thread on Apple platforms.
  private static let levels: [UInt8] = [9, 17, 21, 25, 33]

  /// Returns the next higher priority level; `nil` if there is none.
  static func level(above priority: UInt8) -> UInt8? { levels.first { $0 > priority } }

  /// Starts an ageing interval for a member that is waiting for a slot. `instant` is the start of the interval, measured like
  /// `unsuspendedNow`.
  private mutating func startAgeing(_ member: MemberID, at instant: Int64) {
    guard let interval = slotWaits.ageingInterval, Self.level(above: self[member].waitingPriority) != nil
    else { return }
    slotWaits.rising.insert(member, at: Int64(clamping: UInt64(clamping: instant) + UInt64(interval)))
  }

  /// Records that a member stopped waiting for a slot, or that its priority changed. The member returns to its own priority.
  private mutating func stopAgeing(_ member: MemberID) {
    self[member].risenPriority = 0
    slotWaits.rising.remove(member)
  }

  /// Records that the priority of a member changed. If the member is waiting for a slot, a new ageing interval starts, and `risenPriority`
  /// is the level to which it has risen so far.
  mutating func restartAgeing(_ member: MemberID, risenTo risenPriority: UInt8) {
    guard slotWaits.ageingInterval != nil, self[member].phase == .ready || self[member].isReturning else { return }
    stopAgeing(member)
    self[member].risenPriority = risenPriority
    startAgeing(member, at: unsuspendedNow)
  }

  /// Raises the priority of each waiting member by one level for each ageing interval that has passed since the member started waiting or
  /// was last raised.
  private mutating func raiseDueMembers() {
    while let (member, due) = slotWaits.rising.first, due <= unsuspendedNow {
      slotWaits.rising.remove(member)
      guard let priority = Self.level(above: self[member].waitingPriority) else { continue }
      self[member].risenPriority = priority
      reorder(member)
      // More than one interval may have passed, so the member may rise again in this loop.
      startAgeing(member, at: due)
    }
  }
}
