/// The lanes for one queue's executions: one for each slot, and further ones for bodies that execute in a slot that a waiting body has
/// released.
///
/// A body that waits releases its slot, so its execution is still in progress while another body executes in the slot. Slices in the same
/// lane must not overlap, so the other body is drawn in the first free lane for the slot.
struct TraceLanes {
  struct Lane: Hashable {
    /// The number of the slot; -1 for bodies without a slot.
    let slot: Int
    /// 0 for the first lane of the slot.
    let depth: Int

    /// The name that a viewer shows.
    var name: String {
      let name = slot < 0 ? "without slot" : "slot \(slot)"
      return depth == 0 ? name : "\(name), lane \(depth + 1)"
    }
  }

  /// Which depths of each slot are occupied.
  private var taken: [Int: [Bool]] = [:]
  private var numbers: [Lane: Int] = [:]

  /// Takes the first free lane for a slot. O(d) for the d bodies that are executing in the slot.
  mutating func take(slot: Int?) -> Lane {
    let slot = slot ?? -1
    let depth = taken[slot, default: []].firstIndex(of: false) ?? taken[slot, default: []].count
    if depth == taken[slot, default: []].count { taken[slot, default: []].append(false) }
    taken[slot, default: []][depth] = true
    return Lane(slot: slot, depth: depth)
  }

  mutating func giveBack(_ lane: Lane) {
    taken[lane.slot]?[lane.depth] = false
  }

  /// Returns the number of a lane, and whether the lane is used for the first time.
  mutating func number(of lane: Lane) -> (number: Int, isNew: Bool) {
    if let number = numbers[lane] { return (number, false) }
    numbers[lane] = numbers.count + 1
    return (numbers.count, true)
  }
}
