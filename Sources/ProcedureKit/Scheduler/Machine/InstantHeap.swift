/// A heap of numbers that identify runs or timers, ordered by instant and then by insertion.
///
/// Inserting or removing a number takes O(log n). If numbers arrive in order of their instants, inserting one takes only O(1).
struct InstantHeap: Sendable {
  struct Entry: IndexedHeapEntry {
    let instant: Int64
    let sequence: UInt64
    let index: Int32

    func comes(before other: Entry) -> Bool {
      instant != other.instant ? instant < other.instant : sequence < other.sequence
    }
  }

  private(set) var heap = IndexedHeap<Entry>()
  /// The positions of the numbers in the heap.
  private(set) var positions: ContiguousArray<Int32> = []
  private var insertionCount: UInt64 = 0

  var count: Int { heap.count }
  var isEmpty: Bool { heap.isEmpty }

  /// The number with the earliest instant; `nil` if there is none.
  var first: (number: Int32, instant: Int64)? { heap.first.map { ($0.index, $0.instant) } }

  func contains(_ number: Int32) -> Bool { sequence(of: number) != nil }

  /// Returns the position of a number in the order of insertion; `nil` if the heap does not contain the number.
  func sequence(of number: Int32) -> UInt64? {
    guard Int(number) < positions.count, positions[Int(number)] >= 0 else { return nil }
    return heap.entries[Int(positions[Int(number)])].sequence
  }

  /// Inserts a number and returns its position in the order of insertion.
  @discardableResult
  mutating func insert(_ number: Int32, at instant: Int64) -> UInt64 {
    insertionCount += 1
    heap.insert(Entry(instant: instant, sequence: insertionCount, index: number), &positions)
    return insertionCount
  }

  /// Removes a number, if the heap contains it.
  mutating func remove(_ number: Int32) {
    if contains(number) { heap.remove(at: Int(positions[Int(number)]), &positions) }
  }

  /// Releases the memory of an empty heap.
  mutating func releaseMemory() { (heap, positions) = (IndexedHeap(), []) }
}
