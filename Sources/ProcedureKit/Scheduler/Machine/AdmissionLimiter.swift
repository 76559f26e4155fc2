/// How many runs may wait on a queue, in all and of each key, which callers wait for room, and which run makes room.
///
/// Callers wait in one line. A caller at the front whose key is full waits beside, in the line of the key, and comes back to the front when
/// the key has room: one of each key at a time.
struct WaitingRoom: Sendable {
  /// A call that waits for room for a run of a key.
  struct Caller: Sendable {
    let signal: OneShotSignal
    let key: ObjectIdentifier?
  }

  /// The reason why a run is not admitted.
  enum Refusal: Sendable {
    case shutDown
    case full(limit: Int)
    case keyFull(limit: Int)

    /// The error. The key is described here, by the user's code, and therefore without a lock.
    func error(of run: Run) -> ProcedureError {
      let (procedure, queue) = (run.identity, run.core.name)
      return switch self {
      case .shutDown: .queueShutDown(procedure: procedure, queue: queue)
      case .full(let limit): .queueFull(procedure: procedure, queue: queue, limit: limit)
      case .keyFull(let limit):
        .queueFull(procedure: procedure, queue: queue, limit: limit, key: run.key.map { "\($0.value)" })
      }
    }
  }

  private struct Guest {
    let member: MemberID
    let id: ProcedureID
  }

  /// Elements in the order in which they came; each end is taken in O(1) on average.
  private struct Deque<Element: Sendable>: Sendable {
    private var elements: ContiguousArray<Element> = []
    /// How many elements were taken from the front.
    private var taken = 0

    var isEmpty: Bool { taken == elements.count }
    var count: Int { elements.count - taken }
    var all: ContiguousArray<Element>.SubSequence { elements[taken...] }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func prepend(_ element: Element) {
      if taken == 0 { return elements.insert(element, at: 0) }
      taken -= 1
      elements[taken] = element
    }

    mutating func popFirst() -> Element? {
      guard !isEmpty else { return nil }
      defer { releaseTaken() }
      taken += 1
      return elements[taken - 1]
    }

    mutating func popLast() -> Element? { isEmpty ? nil : elements.removeLast() }

    mutating func filter(_ isKept: (Element) -> Bool) { (elements, taken) = (ContiguousArray(all.filter(isKept)), 0) }

    private mutating func releaseTaken() {
      guard taken > WaitingRoom.leastToSweep, 2 * taken > elements.count else { return }
      elements.removeFirst(taken)
      taken = 0
    }
  }

  /// Callers, first come first served.
  private struct Line: Sendable {
    private var callers = Deque<Caller>()

    var isEmpty: Bool { callers.isEmpty }
    var count: Int { callers.count }

    mutating func append(_ caller: Caller) { callers.append(caller) }

    mutating func putBack(_ caller: Caller) { callers.prepend(caller) }

    mutating func popFirst() -> Caller? { callers.popFirst() }

    mutating func takeAll() -> [Caller] {
      sweep()
      defer { callers = Deque() }
      return Array(callers.all)
    }

    /// Forgets the callers that have left.
    mutating func sweep() { callers.filter { !$0.signal.isResolved } }
  }

  private struct Key: Sendable {
    /// The callers beside, for whom the key has no room.
    var line = Line()
    var reservations = 0
    /// Whether a caller has come back, and stands in front.
    var hasComeBack = false

    var isUnused: Bool { reservations == 0 && !hasComeBack && line.isEmpty }
  }

  let limit: Int
  let limitPerKey: Int
  let overflow: QueueOverflow
  private var line = Line()
  /// The callers who have come back from beside, since their keys have room: before those of the line.
  private var front = Line()
  private var reservations = 0
  private var leavesUntilSweep = leastToSweep
  private var keys: [ObjectIdentifier: Key] = [:]
  /// Keys one reservation of which has ended.
  private var released: ContiguousArray<ObjectIdentifier> = []
  /// The runs that a run of the same key may replace, in the order in which they came.
  private var guests: [ObjectIdentifier?: Deque<Guest>] = [:]
  private(set) var guestCount = 0
  private static let leastToSweep = 64

  init(limit: Int, limitPerKey: Int = .max, overflow: QueueOverflow) {
    (self.limit, self.limitPerKey, self.overflow) = (limit, limitPerKey, overflow)
  }

  var isLimited: Bool { limit < .max || limitPerKey < .max }

  /// How many callers are known, also of those that have left.
  var callerCount: Int { keys.values.reduce(front.count + line.count) { $0 + $1.line.count } }

  /// How many keys have callers or reserved room.
  var keyCount: Int { keys.count }

  /// The reason why no run of a key more may wait; `nil` if there is room.
  func lack(for key: ObjectIdentifier?, _ machine: QueueMachine<Run>) -> Refusal? {
    if isFull(key, machine) { return .keyFull(limit: limitPerKey) }
    return isFull(machine) ? .full(limit: limit) : nil
  }

  func isFull(_ machine: QueueMachine<Run>) -> Bool { limit < .max && machine.waitingCount + reservations >= limit }

  func isFull(_ key: ObjectIdentifier?, _ machine: QueueMachine<Run>) -> Bool {
    guard limitPerKey < .max, let key else { return false }
    return machine.turns.waitingCount(of: key) + (keys[key]?.reservations ?? 0) >= limitPerKey
  }

  // MARK: Waiting for room

  /// Whether only runs of the key can make room for a caller; `nil` if there is room, or room that is about to be used.
  func waitsForKey(_ key: ObjectIdentifier?, _ machine: QueueMachine<Run>) -> Bool? {
    if isFull(key, machine) { return key.flatMap { keys[$0]?.reservations } ?? 0 > 0 ? nil : true }
    return isFull(machine) && reservations == 0 ? false : nil
  }

  /// Whether there is room for a new caller at once, which is then reserved. A new caller does not overtake waiting callers: after each event
  /// `next` gives the room that there is to them, so that some wait only where there is none.
  mutating func reserve(for key: ObjectIdentifier?, _ machine: QueueMachine<Run>) -> Bool {
    guard lack(for: key, machine) == nil else { return false }
    reserved(key)
    return true
  }

  mutating func enter(_ caller: Caller) { line.append(caller) }

  /// A caller has left. O(1) on average: all that have left are forgotten when they are as many as those that wait.
  mutating func callerLeft() {
    leavesUntilSweep -= 1
    guard leavesUntilSweep == 0 else { return }
    line.sweep()
    for key in Array(keys.keys) {
      keys[key]?.line.sweep()
      if keys[key]?.isUnused ?? false { keys[key] = nil }
    }
    leavesUntilSweep = max(Self.leastToSweep, callerCount)
  }

  /// The next caller for whom there is room, which is then reserved.
  mutating func next(_ machine: inout QueueMachine<Run>) -> Caller? {
    if guestCount > Self.leastToSweep, machine.waitingCount == 0 { (guests, guestCount) = ([:], 0) }
    while let key = machine.turns.nextWithRoom() ?? released.popLast() { comeBack(key, machine) }
    while !isFull(machine), let (caller, hasComeBack) = popFirst() {
      // The room of a key that a caller has left goes to the next one, and there may be room for another one, too.
      defer { if let key = caller.key { comeBack(key, machine) } }
      if caller.signal.isResolved { continue }
      guard let key = caller.key, isFull(key, machine) else {
        reserved(caller.key)
        return caller
      }
      if hasComeBack { keys[key]?.line.putBack(caller) } else { keys[key, default: Key()].line.append(caller) }
    }
    return nil
  }

  private mutating func popFirst() -> (Caller, hasComeBack: Bool)? {
    guard let caller = front.popFirst() else { return line.popFirst().map { ($0, false) } }
    if let key = caller.key { keys[key]?.hasComeBack = false }
    return (caller, true)
  }

  /// A key may have room: its first caller comes back, unless one has already.
  private mutating func comeBack(_ key: ObjectIdentifier, _ machine: QueueMachine<Run>) {
    while let state = keys[key], !state.hasComeBack, !isFull(key, machine), let caller = keys[key]?.line.popFirst() {
      guard !caller.signal.isResolved else { continue }
      keys[key]?.hasComeBack = true
      front.append(caller)
    }
    if keys[key]?.isUnused ?? false { keys[key] = nil }
  }

  mutating func reserved(_ key: ObjectIdentifier?) {
    reservations += 1
    if limitPerKey < .max, let key { keys[key, default: Key()].reservations += 1 }
  }

  mutating func reservationEnded(_ key: ObjectIdentifier?) {
    reservations -= 1
    guard limitPerKey < .max, let key else { return }
    keys[key]?.reservations -= 1
    released.append(key)
  }

  /// Takes out all callers, with room for each.
  mutating func takeAll(_ machine: QueueMachine<Run>) -> [Caller] {
    var all = front.takeAll() + line.takeAll()
    for key in keys.keys.sorted(by: { machine.turns.number(of: $0) ?? 0 < machine.turns.number(of: $1) ?? 0 }) {
      all += keys[key]?.line.takeAll() ?? []
      keys[key]?.hasComeBack = false
    }
    for caller in all { reserved(caller.key) }
    return all
  }

  // MARK: Replacing

  mutating func admitted(_ run: Run, _ machine: QueueMachine<Run>) {
    guard isLimited, overflow != .refuse, run.isAddedByUser else { return }
    guests[run.keyID, default: Deque()].append(Guest(member: run.member, id: run.id))
    guestCount += 1
    guard guestCount > Self.leastToSweep, guestCount / 2 > machine.waitingCount else { return }
    guests = guests.compactMapValues { guests in
      var waiting = guests
      waiting.filter { Self.waiting($0, machine) != nil }
      return waiting.isEmpty ? nil : waiting
    }
    guestCount = guests.values.reduce(0) { $0 + $1.count }
  }

  /// The run that waits and goes for the sake of another one of the same key.
  mutating func replaceable(by run: Run, _ machine: QueueMachine<Run>) -> Run? {
    guard overflow != .refuse else { return nil }
    let key = run.keyID
    while let guest = overflow == .replaceOldest ? guests[key]?.popFirst() : guests[key]?.popLast() {
      guestCount -= 1
      if guests[key]?.isEmpty ?? false { guests[key] = nil }
      if let run = Self.waiting(guest, machine) { return run }
    }
    return nil
  }

  private static func waiting(_ guest: Guest, _ machine: QueueMachine<Run>) -> Run? {
    guard Int(guest.member) < machine.members.count, let run = machine[guest.member].payload, run.id == guest.id,
      machine[guest.member].phase.isBeforeStart
    else { return nil }
    return run
  }
}
