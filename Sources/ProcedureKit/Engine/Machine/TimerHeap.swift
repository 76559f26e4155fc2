/// Internal. When what is due: a binary heap that knows where each of its timers stands.
///
/// Inserting, cancelling any timer and taking the next due one are O(log n); what is inserted in the order of deadlines
/// goes to the end in O(1). Timers of one deadline come in the order in which they were inserted.
struct TimerHeap: Sendable {
  /// A pending timer, or one that was: numbers are not used again.
  struct ID: Hashable, Sendable {
    /// A position for what belongs to the timer; used again once it is not pending.
    let slot: Int32
    fileprivate let sequence: UInt64
  }

  struct Entry {
    let deadline: ProcedureInstant
    let sequence: UInt64
    let slot: Int32

    func comes(before other: Entry) -> Bool {
      deadline != other.deadline ? deadline < other.deadline : sequence < other.sequence
    }
  }

  static let noSlot: Int32 = -1

  private(set) var entries: ContiguousArray<Entry> = []
  /// For each slot the position in `entries`, or, where it is free, the next free one as `-2 - slot`, `-1` after the last.
  private(set) var positions: ContiguousArray<Int32> = []
  private(set) var firstFree = noSlot
  private var sequence: UInt64 = 0

  var count: Int { entries.count }

  var isEmpty: Bool { entries.isEmpty }

  /// The slot of the earliest deadline.
  var firstSlot: Int32? { entries.first?.slot }
  /// The earliest deadline, if any.
  var nextDeadline: ProcedureInstant? { entries.first?.deadline }

  mutating func insert(_ deadline: ProcedureInstant) -> ID {
    let slot = takeSlot()
    sequence += 1
    let entry = Entry(deadline: deadline, sequence: sequence, slot: slot)
    entries.append(entry)
    siftUp(entry, from: entries.count - 1)
    return ID(slot: slot, sequence: sequence)
  }

  /// Takes a timer out. Says whether it was pending; if it was not, nothing happens.
  mutating func cancel(_ id: ID) -> Bool {
    guard id.slot < positions.count else { return false }
    let position = Int(positions[Int(id.slot)])
    guard position >= 0, entries[position].sequence == id.sequence else { return false }
    remove(at: position)
    return true
  }

  /// Takes out the next timer whose deadline has come, if any, and returns its slot.
  mutating func popDue(at now: ProcedureInstant) -> Int32? {
    guard let first = entries.first, first.deadline <= now else { return nil }
    remove(at: 0)
    return first.slot
  }

  private mutating func takeSlot() -> Int32 {
    guard firstFree != Self.noSlot else {
      positions.append(Self.noSlot)
      return Int32(positions.count - 1)
    }
    let slot = firstFree
    firstFree = -2 - positions[Int(slot)]
    return slot
  }

  private mutating func giveBack(_ slot: Int32) {
    positions[Int(slot)] = -2 - firstFree
    firstFree = slot
  }

  private mutating func remove(at position: Int) {
    giveBack(entries[position].slot)
    let last = entries.removeLast()
    if position < entries.count {
      if position > 0, last.comes(before: entries[(position - 1) / 2]) {
        siftUp(last, from: position)
      } else {
        siftDown(last, from: position)
      }
    } else if entries.isEmpty {
      releaseStorage()
    }
  }

  /// An empty heap releases its memory.
  private mutating func releaseStorage() {
    guard positions.count > 1_024 else { return }
    entries = []
    positions = []
    firstFree = Self.noSlot
  }

  private mutating func siftUp(_ entry: Entry, from start: Int) {
    var position = start
    while position > 0, entry.comes(before: entries[(position - 1) / 2]) {
      put(entries[(position - 1) / 2], at: position)
      position = (position - 1) / 2
    }
    put(entry, at: position)
  }

  private mutating func siftDown(_ entry: Entry, from start: Int) {
    var position = start
    while position * 2 + 1 < entries.count {
      var child = position * 2 + 1
      if child + 1 < entries.count, entries[child + 1].comes(before: entries[child]) { child += 1 }
      guard entries[child].comes(before: entry) else { break }
      put(entries[child], at: position)
      position = child
    }
    put(entry, at: position)
  }

  private mutating func put(_ entry: Entry, at position: Int) {
    entries[position] = entry
    positions[Int(entry.slot)] = Int32(position)
  }
}
