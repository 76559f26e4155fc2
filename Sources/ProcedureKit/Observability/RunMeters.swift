/// Measurements of the runs on one queue: the time that each run spends in each phase, and the number of its slot.
///
/// Runs are identified by their indices in the queue's machine, which reports each change together with its instant. Runs that were
/// admitted before measuring began are unknown.
///
/// The layers, attempts, calls and copies of a procedure are nested runs of the procedure's *reported run*. Their pauses and waits count
/// towards the times of the reported run while it is executing, except while the reported run or one of its nested runs holds a slot.
struct RunMeters: Sendable {
  /// A phase of a run. The time in each phase is measured separately.
  enum Bucket: UInt8, Sendable {
    case pending, evaluating, claiming, waiting, executing, paused, finishing
  }

  private struct Meter {
    /// The instant up to which time has been added to the buckets. A negative value means that the run is unknown.
    var since: Int64 = -1
    var bucket = Bucket.pending
    var slot: Int32 = -1
    /// The instant at which the run began to wait for its slot. A negative value means that the run is not waiting.
    var lineStart: Int64 = -1
    /// The time that the run spent waiting for its latest slot.
    var slotWait: Int64 = 0
    /// The admission number, which distinguishes the run from a later run with the same index.
    var admission: UInt64 = 0
    /// The index and the admission number of the reported run that this run belongs to. A run that is not nested is its own reported run.
    var reported: (member: Int32, admission: UInt64)
    /// The number of slots that the run and its nested runs hold.
    var slotCount: Int32 = 0
    /// The numbers of nested runs that are evaluating conditions, claiming resources, waiting for a slot, or pausing.
    var partCounts: (evaluating: Int32, claiming: Int32, waiting: Int32, paused: Int32) = (0, 0, 0, 0)
    /// The time in each bucket, in nanoseconds.
    var times: (Int64, Int64, Int64, Int64, Int64, Int64, Int64) = (0, 0, 0, 0, 0, 0, 0)

    /// The bucket to which time is currently added.
    private var countedBucket: Bucket {
      guard bucket == .executing, slotCount == 0 else { return bucket }
      if partCounts.paused > 0 { return .paused }
      if partCounts.claiming > 0 { return .claiming }
      if partCounts.waiting > 0 { return .waiting }
      return partCounts.evaluating > 0 ? .evaluating : .executing
    }

    mutating func pass(to instant: Int64) {
      let time = max(instant - since, 0)
      since = max(instant, since)
      switch countedBucket {
      case .pending: times.0 += time
      case .evaluating: times.1 += time
      case .claiming: times.2 += time
      case .waiting: times.3 += time
      case .executing: times.4 += time
      case .paused: times.5 += time
      case .finishing: times.6 += time
      }
    }

    mutating func count(_ bucket: Bucket, by change: Int32) {
      switch bucket {
      case .evaluating: partCounts.evaluating += change
      case .claiming: partCounts.claiming += change
      case .waiting: partCounts.waiting += change
      case .paused: partCounts.paused += change
      case .pending, .executing, .finishing: break
      }
    }
  }

  private var meters: ContiguousArray<Meter> = []
  /// The slots in use, one bit for each.
  private var slots: ContiguousArray<UInt64> = []
  private var admissionCount: UInt64 = 0

  /// Records that a run was admitted. The run is nested in `reported`; if `reported` is negative, the run is itself a reported run.
  mutating func admitted(_ member: Int32, partOf reported: Int32, at instant: Int64) {
    admissionCount += 1
    while meters.count <= Int(member) { meters.append(Meter(reported: (-1, 0))) }
    let isNested = isKnown(reported)
    meters[Int(member)] = Meter(
      since: instant, admission: admissionCount,
      reported: isNested ? (reported, meters[Int(reported)].admission) : (member, admissionCount))
  }

  mutating func moved(_ member: Int32, to bucket: Bucket, at instant: Int64) {
    guard isKnown(member) else { return }
    let earlier = meters[Int(member)].bucket
    meters[Int(member)].pass(to: instant)
    meters[Int(member)].bucket = bucket
    changeReported(of: member, at: instant) { reported in
      reported.count(earlier, by: -1)
      reported.count(bucket, by: 1)
    }
  }

  /// Records that the body of a run began or ended a wait that is reported as a pause (`RunWait.isPause`). The time of the wait counts as a
  /// pause of the reported run to which the run belongs.
  mutating func pauseOfBodyChanged(_ member: Int32, by change: Int32, at instant: Int64) {
    guard isKnown(member) else { return }
    changeReported(of: member, orItself: true, at: instant) { $0.count(.paused, by: change) }
  }

  /// Changes the meter of the reported run that a nested run belongs to, unless the reported run has ended. If `orItself` is `true`, a run
  /// that is not nested is changed as well.
  private mutating func changeReported(
    of member: Int32, orItself: Bool = false, at instant: Int64, _ change: (inout Meter) -> Void
  ) {
    let (reported, admission) = meters[Int(member)].reported
    guard orItself || reported != member, isKnown(reported), meters[Int(reported)].admission == admission else {
      return
    }
    meters[Int(reported)].pass(to: instant)
    change(&meters[Int(reported)])
  }

  /// Changes the slot counts of a run and of its reported run after the run receives or releases a slot.
  private mutating func changeSlotCount(of member: Int32, by change: Int32, at instant: Int64) {
    meters[Int(member)].pass(to: instant)
    meters[Int(member)].slotCount += change
    changeReported(of: member, at: instant) { $0.slotCount += change }
  }

  /// Records that a run was enqueued for a slot.
  mutating func enqueued(_ member: Int32, at instant: Int64) {
    if isKnown(member) { meters[Int(member)].lineStart = instant }
  }

  /// Records that an enqueued run no longer needs a slot.
  mutating func dequeued(_ member: Int32) {
    if isKnown(member) { meters[Int(member)].lineStart = -1 }
  }

  /// Records that a run received a slot, and assigns the lowest free number to the slot. This takes O(w / 64) time, where w is the number
  /// of slots in use.
  mutating func slotTaken(_ member: Int32, at instant: Int64) {
    guard isKnown(member) else { return }
    changeSlotCount(of: member, by: 1, at: instant)
    let lineStart = meters[Int(member)].lineStart
    (meters[Int(member)].slotWait, meters[Int(member)].lineStart) = (lineStart < 0 ? 0 : instant - lineStart, -1)
    let word = slots.firstIndex { $0 != .max } ?? slots.count
    if word == slots.count { slots.append(0) }
    let bit = (~slots[word]).trailingZeroBitCount
    slots[word] |= 1 << UInt64(bit)
    meters[Int(member)].slot = Int32(word * 64 + bit)
  }

  mutating func slotReleased(_ member: Int32, at instant: Int64) {
    guard isKnown(member), meters[Int(member)].slot >= 0 else { return }
    changeSlotCount(of: member, by: -1, at: instant)
    let slot = Int(meters[Int(member)].slot)
    slots[slot / 64] &= ~(1 << UInt64(slot % 64))
    meters[Int(member)].slot = -1
  }

  mutating func left(_ member: Int32) {
    if isKnown(member) { meters[Int(member)].since = -1 }
  }

  /// Returns the slot number of a run; -1 if the run has no slot or is unknown.
  func slot(of member: Int32) -> Int32 { isKnown(member) ? meters[Int(member)].slot : -1 }

  /// Returns how long a run waited for its latest slot, in nanoseconds. The result is negative if the run is unknown, or has no slot.
  func slotWait(of member: Int32) -> Int64 { slot(of: member) < 0 ? -1 : meters[Int(member)].slotWait }

  /// Returns a run's metrics at an instant, without the number of attempts; `nil` if the run is unknown.
  func metrics(of member: Int32, at instant: Int64) -> ProcedureMetrics? {
    guard isKnown(member) else { return nil }
    var meter = meters[Int(member)]
    meter.pass(to: instant)
    let times = meter.times
    return ProcedureMetrics(
      pending: .nanoseconds(times.0), evaluating: .nanoseconds(times.1), waiting: .nanoseconds(times.2 + times.3),
      claiming: .nanoseconds(times.2), executing: .nanoseconds(times.4), paused: .nanoseconds(times.5),
      finishing: .nanoseconds(times.6))
  }

  private func isKnown(_ member: Int32) -> Bool {
    member >= 0 && Int(member) < meters.count && meters[Int(member)].since >= 0
  }
}
