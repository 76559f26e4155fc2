/// Who sleeps until when, in the order in which they will wake: earlier deadlines first, equal ones as registered.
///
/// A pure value: it knows deadlines and numbers, never continuations.
struct SleepQueue {
  /// Names one sleep. Numbers grow in the order of registration.
  struct Sleep: Comparable {
    var deadline: VirtualClock.Instant
    var number: UInt64

    static func < (lhs: Sleep, rhs: Sleep) -> Bool {
      (lhs.deadline, lhs.number) < (rhs.deadline, rhs.number)
    }
  }

  /// Ascending. Arrays beat heaps here: a new sleep mostly belongs at the end, and any may be cancelled.
  private(set) var sleeps: [Sleep] = []

  var count: Int { sleeps.count }
  var first: Sleep? { sleeps.first }

  mutating func insert(_ sleep: Sleep) {
    sleeps.insert(sleep, at: position(of: sleep))
  }

  /// Whether `sleep` was still pending; afterwards it is not.
  mutating func remove(_ sleep: Sleep) -> Bool {
    let index = position(of: sleep)
    guard index < sleeps.count, sleeps[index] == sleep else { return false }
    sleeps.remove(at: index)
    return true
  }

  /// Takes out every sleep whose deadline is not after `instant`, in waking order.
  mutating func removeAll(through instant: VirtualClock.Instant) -> [Sleep] {
    let end = sleeps.firstIndex { $0.deadline > instant } ?? sleeps.endIndex
    defer { sleeps.removeSubrange(..<end) }
    return Array(sleeps[..<end])
  }

  private func position(of sleep: Sleep) -> Int {
    var low = sleeps.startIndex
    var high = sleeps.endIndex
    while low < high {
      let middle = low + (high - low) / 2
      if sleeps[middle] < sleep { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
