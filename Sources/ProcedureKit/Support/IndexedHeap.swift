/// An entry of an ``IndexedHeap``.
protocol IndexedHeapEntry {
  /// The index of the entry in the array of positions.
  var index: Int32 { get }

  func comes(before other: Self) -> Bool
}

/// A binary heap that can remove any entry in O(log n) time, because the owner keeps track of the position of each entry.
///
/// Several heaps can share one array of positions, provided that each entry is in at most one heap at a time.
struct IndexedHeap<Entry: IndexedHeapEntry> {
  /// The positions of the entries, indexed by ``IndexedHeapEntry/index``; -1 for an entry that is in no heap.
  typealias Positions = ContiguousArray<Int32>

  private(set) var entries: ContiguousArray<Entry> = []

  var first: Entry? { entries.first }
  var count: Int { entries.count }
  var isEmpty: Bool { entries.isEmpty }

  /// Inserts an entry. This takes O(1) time if the entry comes after all existing entries in the order.
  mutating func insert(_ entry: Entry, _ positions: inout Positions) {
    while positions.count <= Int(entry.index) { positions.append(-1) }
    entries.append(entry)
    moveUp(entry, from: entries.count - 1, &positions)
  }

  mutating func remove(at position: Int, _ positions: inout Positions) {
    positions[Int(entries[position].index)] = -1
    let last = entries.removeLast()
    if position < entries.count { replace(at: position, with: last, &positions) }
  }

  /// Replaces an entry with another one, or with the same entry after its place in the order has changed.
  mutating func replace(at position: Int, with entry: Entry, _ positions: inout Positions) {
    if position > 0, entry.comes(before: entries[(position - 1) / 2]) {
      moveUp(entry, from: position, &positions)
    } else {
      moveDown(entry, from: position, &positions)
    }
  }

  private mutating func moveUp(_ entry: Entry, from start: Int, _ positions: inout Positions) {
    var position = start
    while position > 0, entry.comes(before: entries[(position - 1) / 2]) {
      put(entries[(position - 1) / 2], at: position, &positions)
      position = (position - 1) / 2
    }
    put(entry, at: position, &positions)
  }

  private mutating func moveDown(_ entry: Entry, from start: Int, _ positions: inout Positions) {
    var position = start
    while position * 2 + 1 < entries.count {
      var child = position * 2 + 1
      if child + 1 < entries.count, entries[child + 1].comes(before: entries[child]) { child += 1 }
      guard entries[child].comes(before: entry) else { break }
      put(entries[child], at: position, &positions)
      position = child
    }
    put(entry, at: position, &positions)
  }

  private mutating func put(_ entry: Entry, at position: Int, _ positions: inout Positions) {
    entries[position] = entry
    positions[Int(entry.index)] = Int32(position)
  }
}

extension IndexedHeap: Sendable where Entry: Sendable {}
