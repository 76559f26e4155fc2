/// The pending timers, ordered by their deadlines.
///
/// Inserting or cancelling a timer, and removing the next due timer, take O(log n). Inserting a timer takes only O(1) if timers arrive in
/// order of deadline. Timers with equal deadlines become due in order of insertion.
///
/// The type is `package` because `ProcedureKitRemote` uses it.
package struct TimerHeap: Sendable {
  /// The identity of a timer. It remains unique even when the timer is no longer pending, because sequence numbers are not reused.
  package struct ID: Hashable, Sendable {
    /// The index under which the timer's data is stored. Once this timer is no longer pending, a later one can use the same index.
    let slot: Int32
    fileprivate let sequence: UInt64
  }

  private(set) var heap = InstantHeap()
  /// The slots that are not in use.
  private(set) var free: ContiguousArray<Int32> = []

  var count: Int { heap.count }
  var isEmpty: Bool { heap.isEmpty }

  /// The earliest deadline, if any.
  var nextDeadline: ProcedureInstant? { heap.first.map { ProcedureInstant(nanoseconds: $0.instant) } }

  mutating func insert(_ deadline: ProcedureInstant) -> ID {
    let slot = free.popLast() ?? Int32(heap.positions.count)
    return ID(slot: slot, sequence: heap.insert(slot, at: deadline.nanoseconds))
  }

  /// Removes a timer. Returns `false` if the timer was not pending.
  mutating func cancel(_ id: ID) -> Bool {
    guard heap.sequence(of: id.slot) == id.sequence else { return false }
    remove(id.slot)
    return true
  }

  /// Removes the next due timer and returns its slot, or returns `nil` if none is due.
  mutating func popDue(at now: ProcedureInstant) -> Int32? {
    guard let first = heap.first, first.instant <= now.nanoseconds else { return nil }
    remove(first.number)
    return first.number
  }

  private mutating func remove(_ slot: Int32) {
    free.append(slot)
    heap.remove(slot)
    // No timer is pending after a burst, so the memory is released.
    guard heap.isEmpty, heap.positions.count > 1_024 else { return }
    heap.releaseMemory()
    free = []
  }
}
