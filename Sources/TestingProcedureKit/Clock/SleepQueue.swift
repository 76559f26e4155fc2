/// The pending sleeps in the order of waking: earlier deadlines first, equal deadlines in the order of registration.
///
/// A pure value of deadlines and numbers, without continuations.
struct SleepQueue {
  /// The identity of a sleep. Numbers grow in the order of registration.
  struct Sleep: Comparable {
    var deadline: VirtualClock.Instant
    var number: UInt64

    static func < (lhs: Sleep, rhs: Sleep) -> Bool {
      (lhs.deadline, lhs.number) < (rhs.deadline, rhs.number)
    }
  }

  /// The sleeps in ascending order. An array beats a heap: most new sleeps belong at the end, and every sleep can be
  /// cancelled.
  private(set) var sleeps: [Sleep] = []

  var count: Int { sleeps.count }
  var first: Sleep? { sleeps.first }

  mutating func insert(_ sleep: Sleep) {
    sleeps.insert(sleep, at: position(of: sleep))
  }

  /// Removes `sleep`, and returns whether it was pending.
  mutating func remove(_ sleep: Sleep) -> Bool {
    let index = position(of: sleep)
    guard index < sleeps.count, sleeps[index] == sleep else { return false }
    sleeps.remove(at: index)
    return true
  }

  /// Removes and returns every sleep with a deadline up to `instant`, in waking order.
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
