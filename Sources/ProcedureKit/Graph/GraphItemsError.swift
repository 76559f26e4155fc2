/// The reasons why a ``ProcedureGraph`` cannot be made from items: all of them, so that a user can mend them together.
public struct GraphItemsError<ID: Hashable & Sendable>: Error, CustomStringConvertible {
  /// The name of the graph.
  public let graph: String
  /// The ids of items that repeat the id of an earlier item.
  public private(set) var duplicates: [ID] = []
  /// The needs without an item, each with the item that has the need.
  public private(set) var unknownNeeds: [(item: ID, need: ID)] = []
  /// The cycles. Each item of a cycle needs the next item, and the last item needs the first. No item is listed in two
  /// cycles: if cycles share items, a mended cycle can leave another one.
  public private(set) var cycles: [[ID]] = []

  /// The graph and every reason.
  public var description: String {
    let cycles = cycles.map { cycle in
      "\("\(cycle[0])".quoted) "
        + (cycle.dropFirst() + cycle.prefix(1)).map { "needs \("\($0)".quoted)" }.joined(separator: ", which ")
    }
    let unknown = unknownNeeds.map {
      "\("\($0.item)".quoted) needs \("\($0.need)".quoted), which is not the id of an item"
    }
    let duplicates = duplicates.map { "more than one item has the id \("\($0)".quoted)" }
    return "the graph \(graph.quoted) was not made: " + (cycles + unknown + duplicates).joined(separator: "; ")
  }

  /// Returns the order of the items, or all reasons against one.
  static func order(of ids: [ID], needs: [[ID]], graph: String) -> Result<ItemOrder, GraphItemsError> {
    var (error, taken) = (GraphItemsError(graph: graph), Set<ID>(minimumCapacity: ids.count))
    var indices = [AnyHashable: Int](minimumCapacity: ids.count)
    for (index, id) in ids.enumerated() {
      // The value of the graph is a dictionary, which holds one of two ids that Swift takes for equal.
      if !taken.insert(id).inserted { error.duplicates.append(id) }
      indices[ByteText.key(id)] = index
    }
    let order = ItemOrder(
      needs: zip(ids, needs).map { id, needs in
        for need in needs where indices[ByteText.key(need)] == nil { error.unknownNeeds.append((id, need)) }
        return needs.compactMap { indices[ByteText.key($0)] }
      })
    error.cycles = order.cycles.map { $0.map { ids[$0] } }
    if error.duplicates.isEmpty, error.unknownNeeds.isEmpty, error.cycles.isEmpty { return .success(order) }
    return .failure(error)
  }
}
