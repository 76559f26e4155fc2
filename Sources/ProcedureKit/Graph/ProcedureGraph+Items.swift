extension ProcedureGraph where Input == Void {
  /// Creates a graph of items that need the values of other items. The value of the graph is a dictionary that maps each ID to its item's
  /// value.
  ///
  /// ```swift
  /// let build = try ProcedureGraph("build", targets, id: \.name, needs: \.needs) { target, libraries in
  ///   try await compile(target, linking: libraries)
  /// }
  /// ```
  ///
  /// An item starts as soon as the items that it needs have finished. In errors, events and diagrams, the ID is the name of the item's
  /// node. If IDs are strings, they are compared byte by byte to find a needed item.
  ///
  /// - Parameters:
  ///   - name: The name of the graph in errors, events and diagrams.
  ///   - items: The items, in any order. The value of a graph without items is an empty dictionary.
  ///   - id: A function that returns the ID of an item.
  ///   - needs: A function that returns the IDs of the items that an item needs.
  ///   - operation: A function that returns the value of an item, given the values of the needed items in the order of `needs`. It never
  ///     executes on the caller's actor.
  /// - Throws: ``GraphItemsError`` if items need each other in a cycle, an item needs an unknown ID, or several items have the same ID.
  /// - Complexity: O(n + e) for n items and a total of e needed IDs.
  public init<Items: Sequence, ID: Hashable & Sendable, Value: Sendable>(
    _ name: String, _ items: Items, id: (Items.Element) -> ID,
    needs: (Items.Element) -> [ID],
    operation: @escaping @concurrent @Sendable (Items.Element, [Value]) async throws -> Value
  ) throws(GraphItemsError<ID>) where Items.Element: Sendable, Output == [ID: Value] {
    let graph = Self.graph(of: items, named: name, id: id, needs: needs) { item in
      ProcedureTask<[Value], Value> { values in try await operation(item, values) }
    }
    self = try graph.get()
  }

  /// Creates a graph like ``init(_:_:id:needs:operation:)`` in which each item is a procedure with its own modifiers.
  ///
  /// The input of a procedure is an array that contains the values of the needed items, in the order of `needs`. The closure `procedure` is
  /// called once for each item, before the initializer returns. The ID replaces the name of the procedure.
  ///
  /// - Throws: ``GraphItemsError`` if items need each other in a cycle, an item needs an unknown ID, or several items have the same ID.
  public init<Items: Sequence, ID: Hashable & Sendable, P: Procedure>(
    _ name: String, _ items: Items, id: (Items.Element) -> ID,
    needs: (Items.Element) -> [ID], procedure: (Items.Element) -> P
  ) throws(GraphItemsError<ID>) where P.Input == [P.Output], Output == [ID: P.Output] {
    self = try Self.graph(of: items, named: name, id: id, needs: needs, procedure: procedure).get()
  }

  /// Creates a graph with the default name; see ``init(_:_:id:needs:operation:)``.
  ///
  /// - Throws: ``GraphItemsError`` if items need each other in a cycle, need an unknown ID, or have the same ID.
  public init<Items: Sequence, ID: Hashable & Sendable, Value: Sendable>(
    _ items: Items, id: (Items.Element) -> ID, needs: (Items.Element) -> [ID],
    operation: @escaping @concurrent @Sendable (Items.Element, [Value]) async throws -> Value
  ) throws(GraphItemsError<ID>) where Items.Element: Sendable, Output == [ID: Value] {
    // Calling the initializer that takes a name would crash the compiler (Swift 6.3) in a release build.
    let graph = Self.graph(of: items, named: "ProcedureGraph", id: id, needs: needs) { item in
      ProcedureTask<[Value], Value> { values in try await operation(item, values) }
    }
    self = try graph.get()
  }

  /// Creates a graph with the default name, in which each item is a procedure; see ``init(_:_:id:needs:procedure:)``.
  ///
  /// - Throws: ``GraphItemsError`` if items need each other in a cycle, need an unknown ID, or have the same ID.
  public init<Items: Sequence, ID: Hashable & Sendable, P: Procedure>(
    _ items: Items, id: (Items.Element) -> ID, needs: (Items.Element) -> [ID], procedure: (Items.Element) -> P
  ) throws(GraphItemsError<ID>) where P.Input == [P.Output], Output == [ID: P.Output] {
    self = try Self.graph(of: items, named: "ProcedureGraph", id: id, needs: needs, procedure: procedure).get()
  }

  /// Creates the graph or returns the error. All initializers call this function, because the Swift 6.3 optimizer crashes if one
  /// initializer calls another.
  private static func graph<Items: Sequence, ID: Hashable & Sendable, P: Procedure>(
    of items: Items, named name: String, id: (Items.Element) -> ID, needs: (Items.Element) -> [ID],
    procedure: (Items.Element) -> P
  ) -> Result<ProcedureGraph, GraphItemsError<ID>> where P.Input == [P.Output], Output == [ID: P.Output] {
    let items = Array(items)
    let ids = items.map(id)
    return GraphItemsError.order(of: ids, needs: items.map(needs), graph: name).map { order in
      ProcedureGraph(
        name, combining: { values in Dictionary(uniqueKeysWithValues: zip(ids, values)) }
      ) { builder in
        var nodes = [Node<P.Output>?](repeating: nil, count: items.count)
        for index in order.order {
          let task = procedure(items[index]).procedureTask.relabelled { $0.name = "\(ids[index])" }
          nodes[index] = builder.add(task, from: order.needs[index].compactMap { nodes[$0] })
        }
        return nodes.compactMap(\.self)
      }
    }
  }
}

/// An order in which each item follows the items that it needs. It is computed in O(n + e), without recursion.
struct ItemOrder: Sendable {
  /// For each item, the indices of the needed items.
  let needs: [[Int]]
  /// The indices of the items in order, excluding items that are in a cycle or depend on one.
  private(set) var order: [Int]
  /// The cycles that were found. No item belongs to more than one of them. In a cycle, each item needs the next item, and the last item
  /// needs the first.
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
    // Each remaining item needs another remaining item, so following these links from any remaining item leads to a cycle.
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

/// An error that lists all the reasons a ``ProcedureGraph`` cannot be created from items, so the user can fix all problems at once.
public struct GraphItemsError<ID: Hashable & Sendable>: Error, CustomStringConvertible {
  /// The name of the graph.
  public let graph: String
  /// The duplicate IDs, one for each item that has the same ID as an earlier item.
  public private(set) var duplicates: [ID] = []
  /// The needed IDs that no item has, each with the item that needs it.
  public private(set) var unknownNeeds: [(item: ID, need: ID)] = []
  /// The cycles. Each item in a cycle needs the next item, and the last item needs the first.
  ///
  /// No item is listed in more than one cycle. If cycles share items, another cycle can remain after one is fixed.
  public private(set) var cycles: [[ID]] = []

  /// A message that contains the name of the graph and all the reasons it could not be created.
  public var description: String {
    let cycles = cycles.map { cycle in
      "\("\(cycle[0])".quoted) "
        + (cycle.dropFirst() + cycle.prefix(1)).map { "needs \("\($0)".quoted)" }.joined(separator: ", which ")
    }
    let unknown = unknownNeeds.map {
      "\("\($0.item)".quoted) needs \("\($0.need)".quoted), which is not the ID of an item"
    }
    let duplicates = duplicates.map { "more than one item has the ID \("\($0)".quoted)" }
    return "the graph \(graph.quoted) could not be created: " + (cycles + unknown + duplicates).joined(separator: "; ")
  }

  /// Returns the order of the items, or an error that lists every problem that prevents them from being ordered.
  static func order(of ids: [ID], needs: [[ID]], graph: String) -> Result<ItemOrder, GraphItemsError> {
    var (error, taken) = (GraphItemsError(graph: graph), Set<ID>(minimumCapacity: ids.count))
    var indices = [AnyHashable: Int](minimumCapacity: ids.count)
    for (index, id) in ids.enumerated() {
      // The value of the graph is a dictionary, which cannot contain two IDs that Swift considers equal.
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
