/// Internal. Measures the runs of one queue: the time in each part of their lives, and the numbers of their slots.
///
/// The runs are known by their places in the machine. The machine tells each change, at an instant that it is given. What was there
/// before measuring began is not known.
struct RunMeters: Sendable {
  /// A part of the life of a run, to which the time counts.
  enum Part: UInt8, Sendable {
    case pending, evaluating, waiting, executing, paused
  }

  private struct Meter {
    /// The instant of the latest change; negative if the run is not known.
    var since: Int64 = -1
    var part = Part.pending
    var slot: Int32 = -1
    /// The time in each part, in nanoseconds.
    var times: (Int64, Int64, Int64, Int64, Int64) = (0, 0, 0, 0, 0)

    mutating func pass(to instant: Int64) {
      let time = max(instant - since, 0)
      since = max(instant, since)
      switch part {
      case .pending: times.0 += time
      case .evaluating: times.1 += time
      case .waiting: times.2 += time
      case .executing: times.3 += time
      case .paused: times.4 += time
      }
    }
  }

  private var meters: ContiguousArray<Meter> = []
  /// The slots that are taken, a bit for each.
  private var slots: ContiguousArray<UInt64> = []

  mutating func arrived(_ member: Int32, at instant: Int64) {
    while meters.count <= Int(member) { meters.append(Meter()) }
    meters[Int(member)] = Meter(since: instant)
  }

  mutating func moved(_ member: Int32, to part: Part, at instant: Int64) {
    guard isKnown(member) else { return }
    meters[Int(member)].pass(to: instant)
    meters[Int(member)].part = part
  }

  /// A run has got a slot: the lowest number that is free. O(w / 64) for w slots in use.
  mutating func slotTaken(_ member: Int32) {
    guard isKnown(member) else { return }
    let word = slots.firstIndex { $0 != .max } ?? slots.count
    if word == slots.count { slots.append(0) }
    let bit = (~slots[word]).trailingZeroBitCount
    slots[word] |= 1 << UInt64(bit)
    meters[Int(member)].slot = Int32(word * 64 + bit)
  }

  mutating func slotGivenBack(_ member: Int32) {
    guard isKnown(member), meters[Int(member)].slot >= 0 else { return }
    let slot = Int(meters[Int(member)].slot)
    slots[slot / 64] &= ~(1 << UInt64(slot % 64))
    meters[Int(member)].slot = -1
  }

  mutating func left(_ member: Int32) {
    if isKnown(member) { meters[Int(member)].since = -1 }
  }

  /// The number of the slot of a run; -1 if the run has none, or is not known.
  func slot(of member: Int32) -> Int32 { isKnown(member) ? meters[Int(member)].slot : -1 }

  /// The metrics of a run at an instant, without its attempts; `nil` if the run is not known.
  func metrics(of member: Int32, at instant: Int64) -> ProcedureMetrics? {
    guard isKnown(member) else { return nil }
    var meter = meters[Int(member)]
    meter.pass(to: instant)
    let times = meter.times
    return ProcedureMetrics(
      pending: .nanoseconds(times.0), evaluating: .nanoseconds(times.1), waiting: .nanoseconds(times.2),
      executing: .nanoseconds(times.3), paused: .nanoseconds(times.4))
  }

  private func isKnown(_ member: Int32) -> Bool {
    member >= 0 && Int(member) < meters.count && meters[Int(member)].since >= 0
  }
}
