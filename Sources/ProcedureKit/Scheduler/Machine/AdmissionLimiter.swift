/// How many runs may wait on a queue, in all and of each key, which callers wait for room, and which run makes room.
///
/// Callers wait in one line. A caller at the front whose key is full waits beside, in the line of the key, and comes back to the promoted when
/// the key has room: one of each key at a time.
struct AdmissionLimiter: Sendable {
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

  private struct ReplaceableRun {
    let member: MemberID
    /// The place in the order of admission, by which the run is known after another one has taken its place.
    let order: UInt64
  }

  /// Elements in the order in which they came; each end is taken in O(1) on average.
  private struct Deque<Element: Sendable>: Sendable {
    private var elements: ContiguousArray<Element> = []
    /// How many elements were taken from the promoted.
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
      guard taken > AdmissionLimiter.minimumToCompact, 2 * taken > elements.count else { return }
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

    mutating func prepend(_ caller: Caller) { callers.prepend(caller) }

    mutating func popFirst() -> Caller? { callers.popFirst() }

    mutating func takeAll() -> [Caller] {
      removeCancelled()
      defer { callers = Deque() }
      return Array(callers.all)
    }

    /// Forgets the callers that have left.
    mutating func removeCancelled() { callers.filter { !$0.signal.isResolved } }
  }

  private struct Key: Sendable {
    /// The callers beside, for whom the key has no room.
    var line = Line()
    var reservations = 0
    /// Whether a caller has come back, and stands in promoted.
    var hasPromoted = false

    var isUnused: Bool { reservations == 0 && !hasPromoted && line.isEmpty }
  }

  let limit: Int
  let limitPerKey: Int
  let overflow: QueueOverflow
  private var line = Line()
  /// The callers who have come back from beside, since their keys have room: before those of the line.
  private var promoted = Line()
  private var reservations = 0
  private var compactionCountdown = minimumToCompact
  private var keys: [ObjectIdentifier: Key] = [:]
  /// Keys one reservation of which has ended.
  private var keysToPromote: ContiguousArray<ObjectIdentifier> = []
  /// The runs that a run of the same key may replace, in the order in which they came.
  private var replaceable: [ObjectIdentifier?: Deque<ReplaceableRun>] = [:]
  private(set) var replaceableCount = 0
  private static let minimumToCompact = 64

  init(limit: Int, limitPerKey: Int = .max, overflow: QueueOverflow) {
    (self.limit, self.limitPerKey, self.overflow) = (limit, limitPerKey, overflow)
  }

  var isLimited: Bool { limit < .max || limitPerKey < .max }

  /// How many callers are known, also of those that have left.
  var callerCount: Int { keys.values.reduce(promoted.count + line.count) { $0 + $1.line.count } }

  /// How many keys have callers or reserved room.
  var keyCount: Int { keys.count }

  /// The reason why no run of a key more may wait; `nil` if there is room.
  func refusal(for key: ObjectIdentifier?, _ machine: QueueMachine) -> Refusal? {
    if isFull(key, machine) { return .keyFull(limit: limitPerKey) }
    return isFull(machine) ? .full(limit: limit) : nil
  }

  func isFull(_ machine: QueueMachine) -> Bool { limit < .max && machine.waitingCount + reservations >= limit }

  func isFull(_ key: ObjectIdentifier?, _ machine: QueueMachine) -> Bool {
    guard limitPerKey < .max, let key else { return false }
    return machine.fairQueue.waitingCount(of: key) + (keys[key]?.reservations ?? 0) >= limitPerKey
  }

  // MARK: Waiting for room

  /// Whether only runs of the key can make room for a caller; `nil` if there is room, or room that is about to be used.
  func waitsForKey(_ key: ObjectIdentifier?, _ machine: QueueMachine) -> Bool? {
    if isFull(key, machine) { return key.flatMap { keys[$0]?.reservations } ?? 0 > 0 ? nil : true }
    return isFull(machine) && reservations == 0 ? false : nil
  }

  /// Whether there is room for a new caller at once, which is then reserved. A new caller does not overtake waiting callers: after each event
  /// `next` gives the room that there is to them, so that some wait only where there is none.
  mutating func reserveIfFree(for key: ObjectIdentifier?, _ machine: QueueMachine) -> Bool {
    guard refusal(for: key, machine) == nil else { return false }
    addReservation(key)
    return true
  }

  mutating func enqueue(_ caller: Caller) { line.append(caller) }

  /// A caller has left. O(1) on average: all that have left are forgotten when they are as many as those that wait.
  mutating func callerCancelled() {
    compactionCountdown -= 1
    guard compactionCountdown == 0 else { return }
    line.removeCancelled()
    for key in Array(keys.keys) {
      keys[key]?.line.removeCancelled()
      if keys[key]?.isUnused ?? false { keys[key] = nil }
    }
    compactionCountdown = max(Self.minimumToCompact, callerCount)
  }

  /// The next caller for whom there is room, which is then reserved.
  mutating func takeNextCaller(_ machine: inout QueueMachine) -> Caller? {
    if replaceableCount > Self.minimumToCompact, machine.waitingCount == 0 {
      (replaceable, replaceableCount) = ([:], 0)
    }
    while let key = machine.fairQueue.takeKeyWithCapacity() ?? keysToPromote.popLast() { promote(key, machine) }
    while !isFull(machine), let (caller, hasPromoted) = popFirst() {
      // The room of a key that a caller has left goes to the next one, and there may be room for another one, too.
      defer { if let key = caller.key { promote(key, machine) } }
      if caller.signal.isResolved { continue }
      guard let key = caller.key, isFull(key, machine) else {
        addReservation(caller.key)
        return caller
      }
      if hasPromoted { keys[key]?.line.prepend(caller) } else { keys[key, default: Key()].line.append(caller) }
    }
    return nil
  }

  private mutating func popFirst() -> (Caller, hasPromoted: Bool)? {
    guard let caller = promoted.popFirst() else { return line.popFirst().map { ($0, false) } }
    if let key = caller.key { keys[key]?.hasPromoted = false }
    return (caller, true)
  }

  /// A key may have room: its first caller comes back, unless one has already.
  private mutating func promote(_ key: ObjectIdentifier, _ machine: QueueMachine) {
    while let state = keys[key], !state.hasPromoted, !isFull(key, machine), let caller = keys[key]?.line.popFirst() {
      guard !caller.signal.isResolved else { continue }
      keys[key]?.hasPromoted = true
      promoted.append(caller)
    }
    if keys[key]?.isUnused ?? false { keys[key] = nil }
  }

  mutating func addReservation(_ key: ObjectIdentifier?) {
    reservations += 1
    if limitPerKey < .max, let key { keys[key, default: Key()].reservations += 1 }
  }

  mutating func releaseReservation(_ key: ObjectIdentifier?) {
    reservations -= 1
    guard limitPerKey < .max, let key else { return }
    keys[key]?.reservations -= 1
    keysToPromote.append(key)
  }

  /// Takes out all callers, with room for each.
  mutating func takeAllCallers(_ machine: QueueMachine) -> [Caller] {
    var all = promoted.takeAll() + line.takeAll()
    for key in keys.keys.sorted(by: { machine.fairQueue.number(of: $0) ?? 0 < machine.fairQueue.number(of: $1) ?? 0 }) {
      all += keys[key]?.line.takeAll() ?? []
      keys[key]?.hasPromoted = false
    }
    for caller in all { addReservation(caller.key) }
    return all
  }

  // MARK: Replacing

  /// A run was admitted: if it waits for its start, it can be replaced by a later run of the same key.
  mutating func addReplaceable(_ member: MemberID, of key: ObjectIdentifier?, _ machine: QueueMachine) {
    guard isLimited, overflow != .refuse, machine[member].takesRoom else { return }
    replaceable[key, default: Deque()].append(ReplaceableRun(member: member, order: machine[member].order))
    replaceableCount += 1
    guard replaceableCount > Self.minimumToCompact, replaceableCount / 2 > machine.waitingCount else { return }
    replaceable = replaceable.compactMapValues { replaceable in
      var waiting = replaceable
      waiting.filter { Self.isWaiting($0, machine) }
      return waiting.isEmpty ? nil : waiting
    }
    replaceableCount = replaceable.values.reduce(0) { $0 + $1.count }
  }

  /// Takes out the waiting run that a new run of the same key replaces; `nil` if there is none.
  mutating func takeReplaceable(of key: ObjectIdentifier?, _ machine: QueueMachine) -> MemberID? {
    guard overflow != .refuse else { return nil }
    while let candidate = overflow == .replaceOldest ? replaceable[key]?.popFirst() : replaceable[key]?.popLast() {
      replaceableCount -= 1
      if replaceable[key]?.isEmpty ?? false { replaceable[key] = nil }
      if Self.isWaiting(candidate, machine) { return candidate.member }
    }
    return nil
  }

  private static func isWaiting(_ candidate: ReplaceableRun, _ machine: QueueMachine) -> Bool {
    guard Int(candidate.member) < machine.members.count else { return false }
    let member = machine[candidate.member]
    return member.order == candidate.order && member.phase.isBeforeStart
  }
}
