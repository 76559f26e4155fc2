/// A queue that decides which run of each key competes for a slot, and counts the slots and the waiting runs of each key.
///
/// A *member* is a run in the machine.
///
/// ```
/// ready queue:  a1, b1, c1        the *head* of each key that has a free slot
/// parked:       a2, a3 · b2 · d1  the other members of these keys, and all members of full keys
/// ```
/// The head is the first waiting member of its key: resuming bodies precede the other members, and within each group, members are ordered
/// by priority and then by admission. If keys take turns, the heads of each priority are ordered by the virtual finish tags of their keys,
/// as in fair queueing. A key has one tag for each priority. The key gets a new tag, which places it behind all other keys, when a member
/// arrives while no other member of the key with that priority is waiting, and whenever the key's turn ends. A turn ends when the key has
/// started as many runs as its weight. This is deficit round robin (Shreedhar and Varghese, 1995), in which each start costs 1 and the
/// quantum is the weight. A full key keeps its tags.
///
/// A key without runs is removed. Each event takes O(log n) for n waiting runs of the key.
struct FairQueue: Sendable {
  /// A change of a key's head. A value of -1 means that there is no head.
  struct Change: Equatable {
    var previousHead: Int32 = -1
    var head: Int32 = -1
    /// The number by which the heads of the same priority are ordered.
    var order: UInt64 = 0
  }

  /// Whether keys take turns. If they do not, runs of equal priority start in order of admission.
  let takesTurns: Bool
  /// The maximum number of slots for each key.
  let limit: Int
  /// Whether to record, for `AdmissionLimiter`, each key whose number of waiting runs has decreased.
  let listsKeysWithCapacity: Bool

  struct Entry: IndexedHeapEntry {
    let index: Int32
    let isResuming: Bool
    var priority: UInt8
    let order: UInt64

    func comes(before other: Entry) -> Bool {
      if isResuming != other.isResuming { return isResuming }
      if priority != other.priority { return priority > other.priority }
      return order < other.order
    }
  }

  /// The waiting members that share a key and a priority.
  struct Turn {
    let priority: UInt8
    var count = 0
    /// The number of runs that have started since the key got its tag.
    var starts = 0
    var virtualFinishTag: UInt64 = 0
  }

  struct Key {
    let id: ObjectIdentifier?
    /// The number of runs that the key can start in each turn. It is the weight of the key's most recently admitted run.
    var weight: Int
    var runs = 0
    var slots = 0
    /// The number of runs that are waiting to start.
    var waiting = 0
    var turns: ContiguousArray<Turn> = []
    var head: Int32 = -1
    /// The members that are waiting for a slot.
    var queue = IndexedHeap<Entry>()
  }

  private(set) var keys: ContiguousArray<Key> = []
  private var free: ContiguousArray<Int32> = []
  private var numbers: [ObjectIdentifier?: Int32] = [:]
  /// The positions of the members in the heaps of their keys.
  private var positions: ContiguousArray<Int32> = []
  private var lastFinishTag: UInt64 = 0
  /// The keys for which the number of waiting runs has decreased.
  private var keysWithCapacity: ContiguousArray<ObjectIdentifier> = []

  init(takesTurns: Bool = false, limit: Int = .max, listsKeysWithCapacity: Bool = false) {
    (self.takesTurns, self.limit, self.listsKeysWithCapacity) = (takesTurns, limit, listsKeysWithCapacity)
  }

  init(_ configuration: ProcedureQueue.Configuration) {
    self.init(
      takesTurns: configuration.fairness == .byKey, limit: configuration.maxConcurrentProceduresPerKey,
      listsKeysWithCapacity: configuration.maxWaitingProceduresPerKey < .max)
  }

  /// Whether the queue uses keys at all.
  var isUsed: Bool { takesTurns || limit < .max || listsKeysWithCapacity }

  /// The number of keys with runs.
  var count: Int { numbers.count }

  /// Returns the number that identifies a key; `nil` if the key has no runs.
  func number(of id: ObjectIdentifier?) -> Int32? { numbers[id] }

  // MARK: Runs

  /// Records that a run of the key was admitted, and sets the weight of the key unless `weight` is `nil`.
  ///
  /// Returns the number that identifies the key. Runs without a key share one number, which has no limit.
  mutating func joined(_ id: ObjectIdentifier?, weight: Int? = nil) -> Int32 {
    if let number = numbers[id] {
      keys[Int(number)].runs += 1
      if let weight { keys[Int(number)].weight = weight }
      return number
    }
    let number = free.popLast() ?? Int32(keys.count)
    let key = Key(id: id, weight: weight ?? 1)
    if Int(number) == keys.count { keys.append(key) } else { keys[Int(number)] = key }
    keys[Int(number)].runs = 1
    numbers[id] = number
    return number
  }

  /// Records that a run of the key ended or moved to another key. A key without runs is removed.
  mutating func left(_ key: Int32) {
    keys[Int(key)].runs -= 1
    guard keys[Int(key)].runs == 0 else { return }
    numbers[keys[Int(key)].id] = nil
    keys[Int(key)].queue = IndexedHeap()
    free.append(key)
    // No key is left after a burst, so the memory is released.
    guard numbers.isEmpty, max(keys.count, positions.count) > 4_096 else { return }
    (keys, free, numbers, positions) = ([], [], [:], [])
  }

  // MARK: Slots

  /// Returns whether the runs of the key hold as many slots as the limit allows. Runs without a key have no limit.
  func isFull(_ key: Int32) -> Bool { keys[Int(key)].slots >= limit && keys[Int(key)].id != nil }

  /// Records that a member of the key took a slot, either to start with `priority` or, if `priority` is `nil`, to resume.
  ///
  /// The caller must then call ``change(of:)``.
  mutating func slotTaken(_ key: Int32, startsWith priority: UInt8?) {
    keys[Int(key)].slots += 1
    guard let priority, let turn = turn(of: key, priority) else { return }
    keys[Int(key)].turns[turn].starts += 1
    // The key has used up its turn.
    if keys[Int(key)].turns[turn].starts >= keys[Int(key)].weight { assignFinishTag(key, turn) }
  }

  /// Records that a member of the key released its slot. The caller must then call ``change(of:)``.
  mutating func slotReleased(_ key: Int32) { keys[Int(key)].slots -= 1 }

  // MARK: Waiting members

  /// Records that a member of the key started waiting for a slot. The caller must then call ``change(of:)``.
  mutating func enqueued(_ member: Int32, of key: Int32, isResuming: Bool, priority: UInt8, order: UInt64) {
    countTurns(of: key, priority, by: 1)
    keys[Int(key)].queue.insert(
      Entry(index: member, isResuming: isResuming, priority: priority, order: order), &positions)
  }

  /// Records that a member of the key is no longer waiting.
  ///
  /// The caller must then call ``change(of:)``. Returns whether the member was the head; if so, the caller dequeues it.
  mutating func dequeued(_ member: Int32, of key: Int32) -> Bool {
    let position = Int(positions[Int(member)])
    countTurns(of: key, keys[Int(key)].queue.entries[position].priority, by: -1)
    keys[Int(key)].queue.remove(at: position, &positions)
    return removeIfHead(member, of: key)
  }

  /// Records that the priority of a waiting member changed (Q1, Q7).
  ///
  /// The caller must then call ``change(of:)``. Returns whether the member was the head; if so, the caller dequeues it.
  mutating func raised(_ member: Int32, of key: Int32, to priority: UInt8) -> Bool {
    let position = Int(positions[Int(member)])
    var entry = keys[Int(key)].queue.entries[position]
    countTurns(of: key, priority, by: 1)
    countTurns(of: key, entry.priority, by: -1)
    entry.priority = priority
    keys[Int(key)].queue.replace(at: position, with: entry, &positions)
    return removeIfHead(member, of: key)
  }

  /// Returns whether a member is waiting for a slot.
  func isWaiting(_ member: Int32) -> Bool { Int(member) < positions.count && positions[Int(member)] >= 0 }

  /// The waiting members, in no particular order.
  ///
  /// - Complexity: O(n) for n members.
  var members: [Int32] { keys.flatMap { $0.queue.entries.map(\.index) } }

  /// Updates the head of the key (Q1). Returns the change, or `nil` if the head is unchanged. A full key has no head.
  mutating func change(of key: Int32) -> Change? {
    let first = isFull(key) ? nil : keys[Int(key)].queue.first
    let head = keys[Int(key)].head
    guard first?.index ?? -1 != head else { return nil }
    keys[Int(key)].head = first?.index ?? -1
    guard let first else { return Change(previousHead: head) }
    let turn = first.isResuming ? nil : turn(of: key, first.priority)
    return Change(
      previousHead: head, head: first.index,
      order: turn.map { keys[Int(key)].turns[$0].virtualFinishTag } ?? first.order)
  }

  /// Returns the index of the key's turn for a priority; `nil` if no member with the priority is waiting, or if keys do not take turns.
  private func turn(of key: Int32, _ priority: UInt8) -> Int? {
    takesTurns ? keys[Int(key)].turns.firstIndex { $0.priority == priority } : nil
  }

  /// Changes the number of waiting members that share a key and a priority. If there were none, the key first gets a new finish tag for
  /// that priority.
  private mutating func countTurns(of key: Int32, _ priority: UInt8, by change: Int) {
    guard takesTurns else { return }
    let index = turn(of: key, priority) ?? keys[Int(key)].turns.count
    if index == keys[Int(key)].turns.count {
      keys[Int(key)].turns.append(Turn(priority: priority))
      assignFinishTag(key, index)
    }
    keys[Int(key)].turns[index].count += change
    if keys[Int(key)].turns[index].count == 0 { keys[Int(key)].turns.remove(at: index) }
  }

  /// Starts a new turn of a key, behind the other keys that are waiting at the same priority.
  private mutating func assignFinishTag(_ key: Int32, _ turn: Int) {
    lastFinishTag += 1
    keys[Int(key)].turns[turn].starts = 0
    keys[Int(key)].turns[turn].virtualFinishTag = lastFinishTag
  }

  /// Clears the key's head if the head is this member. Returns whether the head was cleared.
  private mutating func removeIfHead(_ member: Int32, of key: Int32) -> Bool {
    guard keys[Int(key)].head == member else { return false }
    keys[Int(key)].head = -1
    return true
  }

  // MARK: Waiting runs

  /// Changes the number of the key's runs that are waiting to start.
  mutating func waitingChanged(_ key: Int32, by change: Int) {
    keys[Int(key)].waiting += change
    if change < 0, listsKeysWithCapacity, let id = keys[Int(key)].id { keysWithCapacity.append(id) }
  }

  /// Returns the number of the key's runs that are waiting to start.
  func waitingCount(of id: ObjectIdentifier) -> Int { number(of: id).map { keys[Int($0)].waiting } ?? 0 }

  /// Removes and returns a key whose number of waiting runs has decreased, or returns `nil` if there is none.
  mutating func takeKeyWithCapacity() -> ObjectIdentifier? { keysWithCapacity.popLast() }
}
