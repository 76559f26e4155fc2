/// A queue of pending sleeps, ordered by deadline. Sleeps with equal deadlines are ordered by registration.
///
/// The queue is a value type that contains deadlines and numbers, but no continuations. It is implemented as a binary heap. A sleep that
/// has been removed stays in the heap until it is the first element, or until half of the elements have been removed. Every operation takes
/// amortized O(log n) time.
struct SleepQueue {
  /// The identity of a sleep. Sleeps that are registered later have greater numbers.
  struct Sleep: Comparable, Hashable {
    var deadline: VirtualClock.Instant
    var number: UInt64

    static func < (lhs: Sleep, rhs: Sleep) -> Bool {
      lhs.deadline == rhs.deadline ? lhs.number < rhs.number : lhs.deadline < rhs.deadline
    }
  }

  /// The elements of the heap. No element is less than its parent. The children of the element at position `i` are at the positions
  /// `2 * i + 1` and `2 * i + 2`. The root is always pending.
  private var heap: [Sleep] = []
  private var pending: Set<Sleep> = []

  var count: Int { pending.count }
  var first: Sleep? { heap.first }

  mutating func insert(_ sleep: Sleep) {
    pending.insert(sleep)
    heap.append(sleep)
    siftUp(from: heap.count - 1)
  }

  /// Removes `sleep` and returns whether it was pending.
  mutating func remove(_ sleep: Sleep) -> Bool {
    guard pending.remove(sleep) != nil else { return false }
    if heap.count > 2 * pending.count + 16 { rebuild() } else { dropRemovedRoots() }
    return true
  }

  /// Removes and returns all sleeps whose deadlines are not later than `instant`, in queue order.
  mutating func removeAll(through instant: VirtualClock.Instant) -> [Sleep] {
    var due: [Sleep] = []
    while let first, first.deadline <= instant {
      due.append(first)
      pending.remove(first)
      dropRemovedRoots()
    }
    return due
  }

  private mutating func dropRemovedRoots() {
    while let root = heap.first, !pending.contains(root) {
      heap.swapAt(0, heap.count - 1)
      heap.removeLast()
      siftDown(from: 0)
    }
  }

  private mutating func rebuild() {
    heap = Array(pending)
    for index in stride(from: heap.count / 2 - 1, through: 0, by: -1) { siftDown(from: index) }
  }

  private mutating func siftUp(from index: Int) {
    var index = index
    while index > 0 {
      let parent = (index - 1) / 2
      guard heap[index] < heap[parent] else { return }
      heap.swapAt(index, parent)
      index = parent
    }
  }

  private mutating func siftDown(from index: Int) {
    var index = index
    while true {
      var least = index
      for child in (2 * index + 1)..<(2 * index + 3) where child < heap.count && heap[child] < heap[least] {
        least = child
      }
      guard least != index else { return }
      heap.swapAt(index, least)
      index = least
    }
  }
}
