/// Internal. When what is due: a binary heap that knows where each of its timers stands.
///
/// Inserting, cancelling any timer and taking the next due one are O(log n); what is inserted in the order of deadlines
/// goes to the end in O(1). Timers of one deadline come in the order in which they were inserted.
struct TimerHeap: Sendable {
  /// A pending timer, or one that was: numbers are not used again.
  struct ID: Hashable, Sendable {
    /// A place for what belongs to the timer; used again once it is not pending.
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
  /// For each slot the place in `entries`, or, where it is free, the next free one as `-2 - slot`, `-1` after the last.
  private(set) var places: ContiguousArray<Int32> = []
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
    guard id.slot < places.count else { return false }
    let place = Int(places[Int(id.slot)])
    guard place >= 0, entries[place].sequence == id.sequence else { return false }
    remove(at: place)
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
      places.append(Self.noSlot)
      return Int32(places.count - 1)
    }
    let slot = firstFree
    firstFree = -2 - places[Int(slot)]
    return slot
  }

  private mutating func giveBack(_ slot: Int32) {
    places[Int(slot)] = -2 - firstFree
    firstFree = slot
  }

  private mutating func remove(at place: Int) {
    giveBack(entries[place].slot)
    let last = entries.removeLast()
    if place < entries.count {
      if place > 0, last.comes(before: entries[(place - 1) / 2]) {
        siftUp(last, from: place)
      } else {
        siftDown(last, from: place)
      }
    } else if entries.isEmpty {
      releaseStorage()
    }
  }

  /// An empty heap releases its memory.
  private mutating func releaseStorage() {
    guard places.count > 1_024 else { return }
    entries = []
    places = []
    firstFree = Self.noSlot
  }

  private mutating func siftUp(_ entry: Entry, from start: Int) {
    var place = start
    while place > 0, entry.comes(before: entries[(place - 1) / 2]) {
      put(entries[(place - 1) / 2], at: place)
      place = (place - 1) / 2
    }
    put(entry, at: place)
  }

  private mutating func siftDown(_ entry: Entry, from start: Int) {
    var place = start
    while place * 2 + 1 < entries.count {
      var child = place * 2 + 1
      if child + 1 < entries.count, entries[child + 1].comes(before: entries[child]) { child += 1 }
      guard entries[child].comes(before: entry) else { break }
      put(entries[child], at: place)
      place = child
    }
    put(entry, at: place)
  }

  private mutating func put(_ entry: Entry, at place: Int) {
    entries[place] = entry
    places[Int(entry.slot)] = Int32(place)
  }
}
