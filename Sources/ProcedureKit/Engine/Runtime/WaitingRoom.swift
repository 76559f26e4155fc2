/// Internal. Who waits on a queue to be started, as far as a limit asks for it, and who waits to be admitted.
struct WaitingRoom {
  /// A run that was admitted; it may have been started or have left since.
  private struct Guest {
    let member: Int32
    let id: ProcedureID
  }

  let limit: Int
  let overflow: QueueOverflow
  /// Those who wait to be admitted, in order.
  private var line: ContiguousArray<Place> = []
  private var called = 0
  /// How long the line has to be for those to be looked for who have left it.
  private var sweepLength = leastToSweep
  /// Rooms that were given to those in line and are not taken yet.
  private var reservations = 0
  /// By key, in order of admission; only where one may replace another. The keys are not kept by this, since to let go of one may
  /// call what is the user's: a run that waits keeps its own, and those that do not are skipped.
  private var guests: [ObjectIdentifier?: ContiguousArray<Guest>] = [:]
  /// How many they are, with those that have been started or have left.
  private var guestCount = 0

  private static let leastToSweep = 64

  init(limit: Int, overflow: QueueOverflow) {
    self.limit = limit
    self.overflow = overflow
  }

  var isLimited: Bool { limit < .max }

  func hasRoom(_ machine: QueueMachine) -> Bool {
    machine.waiting + reservations < limit
  }

  // MARK: Waiting to be admitted

  /// Somebody stands in line, until `next` names it.
  mutating func enter(_ place: Place) {
    line.append(place)
    guard line.count >= sweepLength else { return }
    line.removeFirst(called)
    called = 0
    line.removeAll(where: \.isOver)
    sweepLength = max(Self.leastToSweep, 2 * line.count)
  }

  /// Who is called next, as long as there is room; each takes it by `reservationEnded`.
  mutating func next(_ machine: QueueMachine) -> Place? {
    guard called < line.count, hasRoom(machine) else { return nil }
    reservations += 1
    called += 1
    let place = line[called - 1]
    if 2 * called >= line.count {
      line.removeFirst(called)
      called = 0
    }
    return place
  }

  /// A room that was given to one in line is taken, or not needed.
  mutating func reservationEnded() {
    reservations -= 1
  }

  // MARK: Replacing

  /// A run was admitted.
  mutating func admitted(_ run: DetachedRun, _ holders: ContiguousArray<SlotHolder?>, _ machine: QueueMachine) {
    guard isLimited, overflow != .refuse else { return }
    guests[Self.id(of: run), default: []].append(Guest(member: run.member, id: run.id))
    guestCount += 1
    // Not more wait than the limit, so that at least half of them go.
    guard guestCount > Self.leastToSweep, guestCount / 2 > limit else { return }
    guests = guests.compactMapValues { guests in
      let waiting = ContiguousArray(guests.filter { Self.waiting($0, holders, machine) != nil })
      return waiting.isEmpty ? nil : waiting
    }
    guestCount = guests.values.reduce(0) { $0 + $1.count }
  }

  /// The run whose place another one may take, as they have the same key.
  mutating func replaceable(
    by run: DetachedRun, _ holders: ContiguousArray<SlotHolder?>, _ machine: QueueMachine
  ) -> DetachedRun? {
    guard overflow != .refuse else { return nil }
    let key = Self.id(of: run)
    while let guest = overflow == .replaceOldest ? guests[key]?.first : guests[key]?.last {
      if overflow == .replaceOldest { guests[key]?.removeFirst() } else { guests[key]?.removeLast() }
      guestCount -= 1
      if guests[key]?.isEmpty ?? false { guests[key] = nil }
      if let run = Self.waiting(guest, holders, machine) { return run }
    }
    return nil
  }

  private static func id(of run: DetachedRun) -> ObjectIdentifier? { run.admission.key.map(ObjectIdentifier.init) }

  private static func waiting(
    _ guest: Guest, _ holders: ContiguousArray<SlotHolder?>, _ machine: QueueMachine
  ) -> DetachedRun? {
    guard Int(guest.member) < holders.count, let run = holders[Int(guest.member)]?.detachedRun, run.id == guest.id,
      machine.members[Int(guest.member)].countsAsWaiting
    else { return nil }
    return run
  }
}
