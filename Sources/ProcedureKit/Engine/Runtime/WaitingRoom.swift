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
  /// Rooms that were given to those in line and are not taken yet.
  private var reservations = 0
  /// By key, in order of admission; only where one may replace another.
  private var guests: [AnyKey?: ContiguousArray<Guest>] = [:]

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
  }

  /// Who is called next, as long as there is room; each takes it by `reservationEnded`.
  mutating func next(_ machine: QueueMachine) -> Place? {
    guard called < line.count, hasRoom(machine) else { return nil }
    reservations += 1
    called += 1
    let place = line[called - 1]
    if called == line.count || called >= 1_024 {
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
    guests[run.key, default: []].append(Guest(member: run.member, id: run.id))
    let count = guests[run.key]?.count ?? 0
    guard count > 64, count > 2 * limit else { return }
    guests[run.key]?.removeAll { Self.waiting($0, holders, machine) == nil }
  }

  /// The run whose place one with this key may take.
  mutating func replaceable(
    _ key: AnyKey?, _ holders: ContiguousArray<SlotHolder?>, _ machine: QueueMachine
  ) -> DetachedRun? {
    guard overflow != .refuse else { return nil }
    while let guest = overflow == .replaceOldest ? guests[key]?.first : guests[key]?.last {
      if overflow == .replaceOldest { guests[key]?.removeFirst() } else { guests[key]?.removeLast() }
      if guests[key]?.isEmpty ?? false { guests[key] = nil }
      if let run = Self.waiting(guest, holders, machine) { return run }
    }
    return nil
  }

  private static func waiting(
    _ guest: Guest, _ holders: ContiguousArray<SlotHolder?>, _ machine: QueueMachine
  ) -> DetachedRun? {
    guard Int(guest.member) < holders.count, let run = holders[Int(guest.member)]?.detachedRun, run.id == guest.id,
      machine.members[Int(guest.member)].countsAsWaiting
    else { return nil }
    return run
  }
}
