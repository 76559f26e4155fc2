/// Internal. Items in an order in which each item follows the items that it needs, found in O(n + e) without recursion.
struct ItemOrder: Sendable {
  /// For each item, the indices of the needed items.
  let needs: [[Int]]
  /// The indices of the items in order, without the items that are in a cycle or need one.
  private(set) var order: [Int]
  /// Cycles without a common item. Each item needs the next item, and the last item the first.
  private(set) var cycles: [[Int]] = []

  init(needs: [[Int]]) {
    var missing = needs.map(\.count)
    var dependents = [[Int]](repeating: [], count: needs.count)
    for item in needs.indices {
      for need in needs[item] { dependents[need].append(item) }
    }
    self.needs = needs
    order = missing.indices.filter { missing[$0] == 0 }
    var next = 0
    while next < order.count {
      for dependent in dependents[order[next]] {
        missing[dependent] -= 1
        if missing[dependent] == 0 { order.append(dependent) }
      }
      next += 1
    }
    // From an item that misses a need, the way through such needs ends in a cycle.
    var walks = [Int](repeating: -1, count: needs.count)
    for start in missing.indices where missing[start] > 0 {
      var (way, item): ([Int], Int) = ([], start)
      while walks[item] < 0 {
        walks[item] = start
        way.append(item)
        item = needs[item].first { missing[$0] > 0 } ?? item
      }
      if walks[item] == start { cycles.append(Array(way.drop { $0 != item })) }
    }
  }
}
