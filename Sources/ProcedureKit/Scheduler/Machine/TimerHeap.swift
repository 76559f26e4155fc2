/// Internal. The pending timers by their deadlines.
///
/// Inserting, cancelling any timer and taking the next due one are O(log n); a timer that is inserted in the order of deadlines
/// goes to the end in O(1). Timers of one deadline come in the order in which they were inserted.
///
/// `package` for `ProcedureKitRemote`.
package struct TimerHeap: Sendable {
  /// A pending timer, or one that was: numbers are not used again.
  package struct ID: Hashable, Sendable {
    /// A position for the data of the timer; used again once the timer is not pending.
    let slot: Int32
    fileprivate let sequence: UInt64
  }

  struct Entry: IndexedHeapEntry {
    let deadline: ProcedureInstant
    let sequence: UInt64
    let index: Int32

    func comes(before other: Entry) -> Bool {
      deadline != other.deadline ? deadline < other.deadline : sequence < other.sequence
    }
  }

  private(set) var heap = IndexedHeap<Entry>()
  /// The positions of the timers in the heap, by their slots.
  private(set) var positions: ContiguousArray<Int32> = []
  private(set) var free: ContiguousArray<Int32> = []
  private var sequence: UInt64 = 0

  var count: Int { heap.count }
  var isEmpty: Bool { heap.isEmpty }

  /// The earliest deadline, if any.
  var nextDeadline: ProcedureInstant? { heap.first?.deadline }

  mutating func insert(_ deadline: ProcedureInstant) -> ID {
    let slot = free.popLast() ?? Int32(positions.count)
    sequence += 1
    heap.insert(Entry(deadline: deadline, sequence: sequence, index: slot), &positions)
    return ID(slot: slot, sequence: sequence)
  }

  /// Removes a timer. Returns whether the timer was pending; if not, nothing happens.
  mutating func cancel(_ id: ID) -> Bool {
    guard id.slot < positions.count else { return false }
    let position = Int(positions[Int(id.slot)])
    guard position >= 0, heap.entries[position].sequence == id.sequence else { return false }
    remove(at: position)
    return true
  }

  /// Removes the next timer whose deadline has come, if any, and returns its slot.
  mutating func popDue(at now: ProcedureInstant) -> Int32? {
    guard let first = heap.first, first.deadline <= now else { return nil }
    remove(at: 0)
    return first.index
  }

  private mutating func remove(at position: Int) {
    free.append(heap.entries[position].index)
    heap.remove(at: position, &positions)
    // An empty heap releases its memory.
    if heap.isEmpty, positions.count > 1_024 { (heap, positions, free) = (IndexedHeap(), [], []) }
  }
}
