/// The lanes for the executions on one queue. Each slot has a lane. There are additional lanes for bodies that execute in a slot released
/// by a waiting body.
///
/// A body that is waiting releases its slot, so another body can execute in the slot while the first execution is still in progress. Slices
/// in the same lane must not overlap, so the other body is drawn in the first free lane for the slot.
struct TraceLanes {
  struct Lane: Hashable {
    /// The number of the slot; -1 for bodies without a slot.
    let slot: Int
    /// The position of the lane among the lanes for the slot, starting at 0.
    let depth: Int

    /// The name of the lane in a viewer.
    var name: String {
      let name = slot < 0 ? "without slot" : "slot \(slot)"
      return depth == 0 ? name : "\(name), lane \(depth + 1)"
    }
  }

  /// For each slot, a value for each of its lanes: `true` if the lane is occupied.
  private var taken: [Int: [Bool]] = [:]
  private var numbers: [Lane: Int] = [:]

  /// Marks the first free lane for a slot as occupied, and returns the lane.
  ///
  /// - Complexity: O(d) for d bodies that are executing in the slot.
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

  /// Returns the number that identifies a lane, and whether the lane is used for the first time.
  mutating func number(of lane: Lane) -> (number: Int, isNew: Bool) {
    if let number = numbers[lane] { return (number, false) }
    numbers[lane] = numbers.count + 1
    return (numbers.count, true)
  }
}
