/// Internal. The keys of the runs of one queue: whose turn is next, and how many slots and waiting runs each key has.
///
/// ```
/// lines of the queue:   a1, b1, c1        one member of each key that has room: the *shown* one
/// beside the lines:     a2, a3 · b2 · d1  the others of these keys, and those of keys that are full
/// ```
/// The head member is the first of its key: bodies that go on, then higher priority, then order of admission. With turns, the
/// fair-queueing virtualFinishTag of a key is its position in line, for each priority: a key comes to the end when it gets work of the priority, and
/// each time when such a run of it starts. A key that lacks room keeps its tags.
///
/// A key without runs is forgotten. Each event is O(log n) for the n runs of the key that wait.
struct FairQueue: Sendable {
  /// A change of the head member of a key: -1 for none.
  struct Change: Equatable {
    var formerHead: Int32 = -1
    var head: Int32 = -1
    /// The position of the head member among those of its priority.
    var order: UInt64 = 0
  }

  /// Whether keys take turns; if not, runs of one priority start in order of admission.
  let takesTurns: Bool
  /// How many slots each key may have.
  let limit: Int
  /// Whether the keys are listed that have fewer waiting runs than before.
  let listsKeysWithCapacity: Bool

  private struct Entry: IndexedHeapEntry {
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

  /// The runs of one key and priority in line.
  private struct Turn {
    let priority: UInt8
    var count = 0
    var virtualFinishTag: UInt64 = 0
  }

  private struct Key {
    let id: ObjectIdentifier?
    var runs = 0
    var slots = 0
    var waiting = 0
    var turns: ContiguousArray<Turn> = []
    var head: Int32 = -1
    /// The members in line.
    var line = IndexedHeap<Entry>()
  }

  private var keys: ContiguousArray<Key> = []
  private var free: ContiguousArray<Int32> = []
  private var numbers: [ObjectIdentifier?: Int32] = [:]
  /// The positions of the members in the heaps of their keys.
  private var positions: ContiguousArray<Int32> = []
  private var lastFinishTag: UInt64 = 0
  /// The keys with fewer waiting runs than before.
  private var keysWithCapacity: ContiguousArray<ObjectIdentifier> = []

  init(takesTurns: Bool = false, limit: Int = .max, listsKeysWithCapacity: Bool = false) {
    (self.takesTurns, self.limit, self.listsKeysWithCapacity) = (takesTurns, limit, listsKeysWithCapacity)
  }

  /// Whether runs have keys at all; otherwise the queue has no use for them.
  var isUsed: Bool { takesTurns || limit < .max || listsKeysWithCapacity }

  /// How many keys have runs.
  var count: Int { numbers.count }

  /// The number of a key that has runs.
  func number(of id: ObjectIdentifier?) -> Int32? { numbers[id] }

  // MARK: Runs

  /// A run of the key has come. Runs without a key have one key together, which has no limit. Returns the number of the key.
  mutating func joined(_ id: ObjectIdentifier?) -> Int32 {
    if let number = numbers[id] {
      keys[Int(number)].runs += 1
      return number
    }
    let number = free.popLast() ?? Int32(keys.count)
    if Int(number) == keys.count { keys.append(Key(id: id)) } else { keys[Int(number)] = Key(id: id) }
    keys[Int(number)].runs = 1
    numbers[id] = number
    return number
  }

  /// A run of the key has ended, or has another key now.
  mutating func left(_ key: Int32) {
    keys[Int(key)].runs -= 1
    guard keys[Int(key)].runs == 0 else { return }
    numbers[keys[Int(key)].id] = nil
    keys[Int(key)].line = IndexedHeap()
    free.append(key)
    guard numbers.isEmpty, max(keys.count, positions.count) > 4_096 else { return }
    (keys, free, numbers, positions) = ([], [], [:], [])
  }

  // MARK: Slots

  /// Whether the key has as many slots as it may have.
  func isFull(_ key: Int32) -> Bool { keys[Int(key)].slots >= limit && keys[Int(key)].id != nil }

  /// A member of the key has got a slot, to start or to go on; ``change(of:)`` has to follow.
  mutating func slotTaken(_ key: Int32, startsWith priority: UInt8?) {
    keys[Int(key)].slots += 1
    guard let priority, let turn = turn(of: key, priority) else { return }
    virtualFinishTag(key, turn)
  }

  /// A member of the key has given its slot back; ``change(of:)`` has to follow.
  mutating func slotGivenBack(_ key: Int32) { keys[Int(key)].slots -= 1 }

  // MARK: Lines

  /// A member of the key stands in line for a slot; ``change(of:)`` has to follow.
  mutating func enqueued(_ member: Int32, of key: Int32, isResuming: Bool, priority: UInt8, order: UInt64) {
    countTurns(of: key, priority, by: 1)
    keys[Int(key)].line.insert(
      Entry(index: member, isResuming: isResuming, priority: priority, order: order), &positions)
  }

  /// A member of the key has left the line; ``change(of:)`` has to follow. Returns whether the member was shown, and is not any more.
  mutating func dequeued(_ member: Int32, of key: Int32) -> Bool {
    let position = Int(positions[Int(member)])
    countTurns(of: key, keys[Int(key)].line.entries[position].priority, by: -1)
    keys[Int(key)].line.remove(at: position, &positions)
    return removeIfHead(member, of: key)
  }

  /// The priority of a member in line was raised; ``change(of:)`` has to follow. Returns whether the member was shown, and is not any more.
  mutating func raised(_ member: Int32, of key: Int32, to priority: UInt8) -> Bool {
    let position = Int(positions[Int(member)])
    var entry = keys[Int(key)].line.entries[position]
    countTurns(of: key, priority, by: 1)
    countTurns(of: key, entry.priority, by: -1)
    entry.priority = priority
    keys[Int(key)].line.replace(at: position, with: entry, &positions)
    return removeIfHead(member, of: key)
  }

  /// Whether a member stands in line.
  func isInLine(_ member: Int32) -> Bool { Int(member) < positions.count && positions[Int(member)] >= 0 }

  /// The members in line, in no order. O(n).
  var members: [Int32] { keys.flatMap { $0.line.entries.map(\.index) } }

  /// Returns how the head member of the key changes, if it does.
  mutating func change(of key: Int32) -> Change? {
    let first = isFull(key) ? nil : keys[Int(key)].line.first
    let head = keys[Int(key)].head
    guard first?.index ?? -1 != head else { return nil }
    keys[Int(key)].head = first?.index ?? -1
    guard let first else { return Change(formerHead: head) }
    let turn = first.isResuming ? nil : turn(of: key, first.priority)
    return Change(
      formerHead: head, head: first.index, order: turn.map { keys[Int(key)].turns[$0].virtualFinishTag } ?? first.order)
  }

  private func turn(of key: Int32, _ priority: UInt8) -> Int? {
    takesTurns ? keys[Int(key)].turns.firstIndex { $0.priority == priority } : nil
  }

  /// So many more runs of the key and priority stand in line.
  private mutating func countTurns(of key: Int32, _ priority: UInt8, by change: Int) {
    guard takesTurns else { return }
    let index = turn(of: key, priority) ?? keys[Int(key)].turns.count
    if index == keys[Int(key)].turns.count {
      keys[Int(key)].turns.append(Turn(priority: priority))
      virtualFinishTag(key, index)
    }
    keys[Int(key)].turns[index].count += change
    if keys[Int(key)].turns[index].count == 0 { keys[Int(key)].turns.remove(at: index) }
  }

  private mutating func virtualFinishTag(_ key: Int32, _ turn: Int) {
    lastFinishTag += 1
    keys[Int(key)].turns[turn].virtualFinishTag = lastFinishTag
  }

  /// Hides a member if it is shown. Returns whether the member was shown.
  private mutating func removeIfHead(_ member: Int32, of key: Int32) -> Bool {
    guard keys[Int(key)].head == member else { return false }
    keys[Int(key)].head = -1
    return true
  }

  // MARK: Waiting runs

  /// So many more runs of the key wait to be started.
  mutating func waitingChanged(_ key: Int32, by change: Int) {
    keys[Int(key)].waiting += change
    if change < 0, listsKeysWithCapacity, let id = keys[Int(key)].id { keysWithCapacity.append(id) }
  }

  /// How many runs of the key wait to be started.
  func waitingCount(of id: ObjectIdentifier) -> Int { number(of: id).map { keys[Int($0)].waiting } ?? 0 }

  /// Takes out a key that has fewer waiting runs than before, if there is one.
  mutating func takeKeyWithCapacity() -> ObjectIdentifier? { keysWithCapacity.popLast() }
}
