/// How many runs may wait on a queue, which waits for room, and which makes room.
struct WaitingRoom: Sendable {
  private struct Guest {
    let member: MemberID
    let id: ProcedureID
  }

  let limit: Int
  let overflow: QueueOverflow
  private var line: ContiguousArray<Place> = []
  private var called = 0
  private var reservations = 0
  /// The runs that a run of the same key may replace, in the order in which they came.
  private var guests: [ObjectIdentifier?: ContiguousArray<Guest>] = [:]
  private var guestCount = 0
  private static let leastToSweep = 64

  init(limit: Int, overflow: QueueOverflow) {
    self.limit = limit
    self.overflow = overflow
  }

  var isLimited: Bool { limit < .max }

  /// Whether a run more may wait, beside `waiting` others.
  func hasRoom(_ waiting: Int) -> Bool { waiting + reservations < limit }

  // MARK: Waiting for room

  var isAwaited: Bool { line[called...].contains { !$0.isOver } }
  /// Whether room that comes about is still to be used.
  var isReserved: Bool { reservations > 0 }

  mutating func enter(_ place: Place) {
    line.append(place)
    if called > Self.leastToSweep, 2 * called > line.count {
      line.removeFirst(called)
      called = 0
    }
  }

  /// The next that waits for room, if there is some, which is reserved for it.
  mutating func next(_ waiting: Int) -> Place? {
    while called < line.count, line[called].isOver { called += 1 }
    guard called < line.count, hasRoom(waiting) else { return nil }
    reservations += 1
    called += 1
    return line[called - 1]
  }

  mutating func reserved() { reservations += 1 }
  mutating func reservationEnded() { reservations -= 1 }

  mutating func takeAll() -> [Place] {
    let waiting = line[called...].filter { !$0.isOver }
    reservations += waiting.count
    (line, called) = ([], 0)
    return Array(waiting)
  }

  // MARK: Replacing

  mutating func admitted(_ run: Run, _ machine: QueueMachine<Run>) {
    guard isLimited, overflow != .refuse else { return }
    guests[Self.key(of: run), default: []].append(Guest(member: run.member, id: run.id))
    guestCount += 1
    guard guestCount > Self.leastToSweep, guestCount / 2 > limit else { return }
    guests = guests.compactMapValues { guests in
      let waiting = ContiguousArray(guests.filter { Self.waiting($0, machine) != nil })
      return waiting.isEmpty ? nil : waiting
    }
    guestCount = guests.values.reduce(0) { $0 + $1.count }
  }

  /// The run that waits and goes for the sake of another one of the same key.
  mutating func replaceable(by run: Run, _ machine: QueueMachine<Run>) -> Run? {
    guard overflow != .refuse else { return nil }
    let key = Self.key(of: run)
    while let guest = overflow == .replaceOldest ? guests[key]?.first : guests[key]?.last {
      if overflow == .replaceOldest { guests[key]?.removeFirst() } else { guests[key]?.removeLast() }
      guestCount -= 1
      if guests[key]?.isEmpty ?? false { guests[key] = nil }
      if let run = Self.waiting(guest, machine) { return run }
    }
    return nil
  }

  private static func key(of run: Run) -> ObjectIdentifier? { run.level.traits.key.map(ObjectIdentifier.init) }

  private static func waiting(_ guest: Guest, _ machine: QueueMachine<Run>) -> Run? {
    guard Int(guest.member) < machine.members.count, let run = machine[guest.member].payload, run.id == guest.id,
      machine[guest.member].phase.isBeforeStart
    else { return nil }
    return run
  }
}
