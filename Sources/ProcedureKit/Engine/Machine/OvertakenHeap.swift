/// Internal. The members of a ``ReadyList`` that came out of order: a binary heap that knows where each of them stands.
///
/// Insertion and removal, of any member, are O(log n); the next one is read in O(1).
struct OvertakenHeap {
  struct Entry {
    let member: Int32
    let priority: UInt8
    let order: UInt64
    /// How many had been inserted before; decides between equals.
    fileprivate let sequence: UInt64

    fileprivate func comes(before other: Entry) -> Bool {
      if priority != other.priority { return priority > other.priority }
      return order != other.order ? order < other.order : sequence < other.sequence
    }
  }

  private var entries: ContiguousArray<Entry> = []
  /// For each member its place in `entries`, undefined for those that are not there.
  private var places: ContiguousArray<Int32> = []
  private var sequence: UInt64 = 0

  var count: Int { entries.count }

  var isEmpty: Bool { entries.isEmpty }

  /// The entry that is next, if any.
  var first: Entry? { entries.first }

  func members(ofPriority priority: UInt8) -> [Int32] {
    entries.lazy.filter { $0.priority == priority }.map(\.member)
  }

  mutating func insert(_ member: Int32, priority: UInt8, order: UInt64) {
    while places.count <= Int(member) { places.append(-1) }
    entries.append(Entry(member: member, priority: priority, order: order, sequence: sequence))
    sequence += 1
    siftUp(from: entries.count - 1)
  }

  /// Removes a member that is there.
  mutating func remove(_ member: Int32) {
    let place = Int(places[Int(member)])
    let last = entries.removeLast()
    guard place < entries.count else { return }
    entries[place] = last
    siftDown(from: place)
    siftUp(from: Int(places[Int(last.member)]))
  }

  private mutating func siftUp(from start: Int) {
    let entry = entries[start]
    var place = start
    while place > 0, entry.comes(before: entries[(place - 1) / 2]) {
      put(entries[(place - 1) / 2], at: place)
      place = (place - 1) / 2
    }
    put(entry, at: place)
  }

  private mutating func siftDown(from start: Int) {
    let entry = entries[start]
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
    places[Int(entry.member)] = Int32(place)
  }

  /// Traps where places and entries contradict each other, or an entry comes before its parent.
  func checkInvariants() {
    for (place, entry) in entries.enumerated() {
      precondition(places[Int(entry.member)] == place)
      precondition(place == 0 || entries[(place - 1) / 2].comes(before: entry))
    }
  }
}
