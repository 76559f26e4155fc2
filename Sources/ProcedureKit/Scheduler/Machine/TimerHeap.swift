/// The pending timers, ordered by their deadlines.
///
/// Inserting or cancelling a timer, and removing the next due timer, take O(log n). Inserting a timer takes only O(1) if timers arrive in
/// order of deadline. Timers with equal deadlines become due in order of insertion.
///
/// The type is `package` because `ProcedureKitRemote` uses it.
package struct TimerHeap: Sendable {
  /// The identity of a timer. It remains unique after the timer is no longer pending, because sequence numbers are not reused.
  package struct ID: Hashable, Sendable {
    /// The index under which the timer's data is stored. A later timer can have the same slot once this one is no longer pending.
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
  /// The positions of the timers in the heap, indexed by slot.
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

  /// Removes a timer. Returns `false` if the timer was not pending.
  mutating func cancel(_ id: ID) -> Bool {
    guard id.slot < positions.count else { return false }
    let position = Int(positions[Int(id.slot)])
    guard position >= 0, heap.entries[position].sequence == id.sequence else { return false }
    remove(at: position)
    return true
  }

  /// Removes the next due timer and returns its slot, or returns `nil` if none is due.
  mutating func popDue(at now: ProcedureInstant) -> Int32? {
    guard let first = heap.first, first.deadline <= now else { return nil }
    remove(at: 0)
    return first.index
  }

  private mutating func remove(at position: Int) {
    free.append(heap.entries[position].index)
    heap.remove(at: position, &positions)
    // No timer is pending after a burst, so the memory is released.
    if heap.isEmpty, positions.count > 1_024 { (heap, positions, free) = (IndexedHeap(), [], []) }
  }
}
