/// The lanes of one queue's executions: one for each slot, and further ones for bodies that execute in a slot of a waiting body.
///
/// A body that waits releases its slot, so that its execution continues while another body executes in the slot. In one lane, slices
/// must not overlap, so the other body is drawn in the first free lane of the slot.
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

  /// The occupied depths of each slot.
  private var taken: [Int: [Bool]] = [:]
  private var numbers: [Lane: Int] = [:]

  /// Takes the first free lane of a slot. O(d) for the d bodies that execute in the slot.
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
