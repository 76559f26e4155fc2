/// A value that limits how many runs can wait on a queue, overall and for each key.
///
/// It decides when a caller can add a run, and which waiting run a new run replaces.
///
/// Callers are admitted in first-come, first-served order. A caller whose key is full is parked in a separate queue for that key. When the
/// key has room, its first parked caller is promoted, and is then admitted before the callers in the common queue. At most one caller for
/// each key is promoted at a time.
struct AdmissionLimiter: Sendable {
  /// A caller that is waiting until the queue has room for a run with its key.
  struct Caller: Sendable {
    let signal: OneShotSignal
    let key: ObjectIdentifier?
  }

  /// The reason a run is refused.
  enum Refusal: Sendable, Equatable {
    case shutDown
    case full(limit: Int)
    case keyFull(limit: Int)
  }

  private struct ReplaceableRun {
    let member: MemberID
    /// The position of the run in the order of admission. If the run at the place `member` has a different position, it is a different run.
    let order: UInt64
  }

  struct Key: Sendable {
    /// The callers that are waiting until the key has room.
    var parked = Deque<Caller>()
    var reservations = 0
    /// Whether one of the key's callers is in the queue of promoted callers.
    var hasPromotedCaller = false

    var isUnused: Bool { reservations == 0 && !hasPromotedCaller && parked.isEmpty }
  }

  let limit: Int
  let limitPerKey: Int
  let overflow: QueueOverflow
  private(set) var queue = Deque<Caller>()
  /// The parked callers whose keys have room again. The queue admits them before the callers in `queue`.
  private(set) var promoted = Deque<Caller>()
  private(set) var reservations = 0
  private var compactionCountdown = minimumToCompact
  /// The keys with waiting callers or reservations.
  private(set) var keys: [ObjectIdentifier: Key] = [:]
  /// The keys for which a reservation has been released, so there may be room for a parked caller.
  private(set) var keysToPromote: ContiguousArray<ObjectIdentifier> = []
  /// The runs that a run with the same key can replace, in order of admission.
  private var replaceable: [ObjectIdentifier?: Deque<ReplaceableRun>] = [:]
  private(set) var replaceableCount = 0
  private static let minimumToCompact = 64

  init(limit: Int, limitPerKey: Int = .max, overflow: QueueOverflow) {
    (self.limit, self.limitPerKey, self.overflow) = (limit, limitPerKey, overflow)
  }

  init(_ configuration: ProcedureQueue.Configuration) {
    self.init(
      limit: configuration.maxWaitingProcedures, limitPerKey: configuration.maxWaitingProceduresPerKey,
      overflow: configuration.overflow)
  }

  var isLimited: Bool { limit < .max || limitPerKey < .max }

  /// The number of callers, including cancelled ones that have not been removed yet.
  var callerCount: Int { keys.values.reduce(promoted.count + queue.count) { $0 + $1.parked.count } }

  /// Returns the reason to refuse another run with the key; `nil` if there is room.
  func refusal(for key: ObjectIdentifier?, _ machine: QueueMachine) -> Refusal? {
    if isFull(key, machine) { return .keyFull(limit: limitPerKey) }
    return isFull(machine) ? .full(limit: limit) : nil
  }

  /// Returns whether the waiting runs and the reservations have reached the limit of the queue.
  func isFull(_ machine: QueueMachine) -> Bool { limit < .max && machine.waitingCount + reservations >= limit }

  /// Returns whether the waiting runs and the reservations of a key have reached the limit that applies to every key.
  func isFull(_ key: ObjectIdentifier?, _ machine: QueueMachine) -> Bool {
    guard limitPerKey < .max, let key else { return false }
    return machine.fairQueue.waitingCount(of: key) + (keys[key]?.reservations ?? 0) >= limitPerKey
  }

  // MARK: Waiting for room

  /// Returns whether a caller has to wait until a run with its own key starts (`true`), or until any run starts (`false`).
  ///
  /// The result is `nil` if the caller does not have to wait for a run to start, either because there is room, or because another caller
  /// has reserved room but has not added its run yet.
  func waitsForKey(_ key: ObjectIdentifier?, _ machine: QueueMachine) -> Bool? {
    if isFull(key, machine) { return key.flatMap { keys[$0]?.reservations } ?? 0 > 0 ? nil : true }
    return isFull(machine) && reservations == 0 ? false : nil
  }

  /// Reserves room for a new caller and returns whether there was room.
  ///
  /// A new caller does not overtake waiting callers: after each event, `takeNextCaller` gives all available room to the waiting callers, so
  /// callers wait only while there is no room.
  mutating func reserveIfFree(for key: ObjectIdentifier?, _ machine: QueueMachine) -> Bool {
    guard refusal(for: key, machine) == nil else { return false }
    addReservation(key)
    return true
  }

  mutating func enqueue(_ caller: Caller) { queue.append(caller) }

  /// Records that a caller's wait was cancelled.
  ///
  /// - Complexity: Amortized O(1). Cancelled callers are removed in batches. If n callers remain after a batch, the next batch follows only
  ///   after at least n more cancellations.
  mutating func callerCancelled() {
    compactionCountdown -= 1
    guard compactionCountdown == 0 else { return }
    queue.removeCancelled()
    for key in Array(keys.keys) {
      keys[key]?.parked.removeCancelled()
      if keys[key]?.isUnused ?? false { keys[key] = nil }
    }
    compactionCountdown = max(Self.minimumToCompact, callerCount)
  }

  /// Removes the next caller for which there is room, reserves the room, and returns the caller. Returns `nil` if there is no such caller.
  mutating func takeNextCaller(_ machine: inout QueueMachine) -> Caller? {
    // If no run is waiting, no run can be replaced, and the memory can be released.
    if replaceableCount > Self.minimumToCompact, machine.waitingCount == 0 {
      (replaceable, replaceableCount) = ([:], 0)
    }
    while let key = machine.takeKeyWithCapacity() ?? keysToPromote.popLast() { promote(key, machine) }
    while !isFull(machine), let (caller, isPromoted) = popFirst() {
      // The key may have room for its next parked caller, either because this caller was cancelled or because there is room for several.
      defer { if let key = caller.key { promote(key, machine) } }
      if caller.signal.isResolved { continue }
      guard let key = caller.key, isFull(key, machine) else {
        addReservation(caller.key)
        return caller
      }
      // The key is full, so the caller is parked. A promoted caller was the first of its key and remains the first.
      if isPromoted { keys[key]?.parked.prepend(caller) } else { keys[key, default: Key()].parked.append(caller) }
    }
    return nil
  }

  /// Removes and returns the first promoted caller, or else the first caller of the common queue.
  private mutating func popFirst() -> (Caller, isPromoted: Bool)? {
    guard let caller = promoted.popFirst() else { return queue.popFirst().map { ($0, false) } }
    if let key = caller.key { keys[key]?.hasPromotedCaller = false }
    return (caller, true)
  }

  /// Promotes the first parked caller of a key that may have room, unless one of the key's callers has already been promoted.
  private mutating func promote(_ key: ObjectIdentifier, _ machine: QueueMachine) {
    while let state = keys[key], !state.hasPromotedCaller, !isFull(key, machine),
      let caller = keys[key]?.parked.popFirst()
    {
      guard !caller.signal.isResolved else { continue }
      keys[key]?.hasPromotedCaller = true
      promoted.append(caller)
    }
    if keys[key]?.isUnused ?? false { keys[key] = nil }
  }

  /// Reserves room for a run that is about to be added.
  mutating func addReservation(_ key: ObjectIdentifier?) {
    reservations += 1
    if limitPerKey < .max, let key { keys[key, default: Key()].reservations += 1 }
  }

  /// Releases the room that was reserved for a run, which is now being added or will not be added.
  mutating func releaseReservation(_ key: ObjectIdentifier?) {
    reservations -= 1
    guard limitPerKey < .max, let key else { return }
    keys[key]?.reservations -= 1
    keysToPromote.append(key)
  }

  /// Removes and returns all callers and makes a reservation for each. After a shutdown, no caller has to wait, because the queue refuses
  /// all runs.
  mutating func takeAllCallers(_ machine: QueueMachine) -> [Caller] {
    var all = promoted.takeAll() + queue.takeAll()
    for key in keys.keys.sorted(by: { machine.fairQueue.number(of: $0) ?? 0 < machine.fairQueue.number(of: $1) ?? 0 }) {
      all += keys[key]?.parked.takeAll() ?? []
      keys[key]?.hasPromotedCaller = false
    }
    for caller in all { addReservation(caller.key) }
    return all
  }

  // MARK: Replacing

  /// Records that a run was admitted. While the run is waiting to start, a later run with the same key can replace it.
  mutating func addReplaceable(_ member: MemberID, of key: ObjectIdentifier?, _ machine: QueueMachine) {
    guard isLimited, overflow != .refuse, machine[member].takesRoom else { return }
    replaceable[key, default: Deque()].append(ReplaceableRun(member: member, order: machine[member].order))
    replaceableCount += 1
    // More than half of the entries belong to runs that have started or ended, so these entries are removed.
    guard replaceableCount > Self.minimumToCompact, replaceableCount / 2 > machine.waitingCount else { return }
    replaceable = replaceable.compactMapValues { replaceable in
      var waiting = replaceable
      waiting.filter { Self.isWaiting($0, machine) }
      return waiting.isEmpty ? nil : waiting
    }
    replaceableCount = replaceable.values.reduce(0) { $0 + $1.count }
  }

  /// Removes and returns the waiting run that a new run with the same key replaces, or returns `nil` if there is none.
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
    // A run that is pausing between two attempts has started, so it is not replaced.
    return member.order == candidate.order && member.phase.awaitsStart && !member.hasStarted
  }
}

extension Deque<AdmissionLimiter.Caller> {
  /// Removes all callers and returns those that are still waiting.
  fileprivate mutating func takeAll() -> [Element] {
    removeCancelled()
    defer { self = Self() }
    return all
  }

  /// Removes the callers whose waits have ended.
  fileprivate mutating func removeCancelled() { filter { !$0.signal.isResolved } }
}

extension AdmissionLimiter.Refusal {
  /// Returns the error for a refused run. The caller must not hold any locks, because describing the key calls the user's code.
  func error(of run: Run) -> ProcedureError {
    let (procedure, queue) = (run.identity, run.core.name)
    return switch self {
    case .shutDown: .queueShutDown(procedure: procedure, queue: queue, wasAdmitted: false)
    case .full(let limit): .queueFull(procedure: procedure, queue: queue, limit: limit)
    case .keyFull(let limit):
      .queueFull(procedure: procedure, queue: queue, limit: limit, key: run.key.map { "\($0.value)" })
    }
  }
}
