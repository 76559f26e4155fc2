extension ProcedureGraph where Input == Void {
  /// Makes a graph of items that need the values of other items. The value of the graph is the values of all items, by id.
  ///
  /// ```swift
  /// let build = try ProcedureGraph(targets, named: "build", id: \.name, needs: \.needs) { target, libraries in
  ///   try await compile(target, linking: libraries)
  /// }
  /// ```
  ///
  /// An item starts as soon as the needed items have finished. The id names the node in errors, events and diagrams. A need that is a
  /// text names the item whose id has the same bytes.
  ///
  /// - Parameters:
  ///   - items: The items, in any order; no items make a graph that returns an empty dictionary.
  ///   - name: The name of the graph in errors and events.
  ///   - id: Returns the id of an item.
  ///   - needs: Returns the ids of the items that an item needs.
  ///   - operation: Returns the value of an item, given the values of the needed items in the order of `needs`. The
  ///     function never executes on the caller's actor.
  /// - Throws: ``GraphItemsError`` if items need each other in a cycle, need an unknown id, or have an equal id.
  /// - Complexity: O(n + e) for n items and e needs.
  public init<Items: Sequence, ID: Hashable & Sendable, Value: Sendable>(
    _ items: Items, named name: String = "ProcedureGraph", id: (Items.Element) -> ID,
    needs: (Items.Element) -> [ID],
    operation: @escaping @concurrent @Sendable (Items.Element, [Value]) async throws -> Value
  ) throws(GraphItemsError<ID>) where Items.Element: Sendable, Output == [ID: Value] {
    let graph = Self.graph(of: items, named: name, id: id, needs: needs) { item in
      ProcedureTask<[Value], Value> { values in try await operation(item, values) }
    }
    self = try graph.get()
  }

  /// Makes a graph like ``init(_:named:id:needs:operation:)`` in which each item is a procedure with its own modifiers.
  ///
  /// The input of the procedure is the values of the needed items, in the order of `needs`. The function `procedure` is called
  /// once for each item, before the initializer returns. The id replaces the name of the procedure.
  ///
  /// - Throws: ``GraphItemsError`` if items need each other in a cycle, need an unknown id, or have an equal id.
  public init<Items: Sequence, ID: Hashable & Sendable, P: Procedure>(
    _ items: Items, named name: String = "ProcedureGraph", id: (Items.Element) -> ID,
    needs: (Items.Element) -> [ID], procedure: (Items.Element) -> P
  ) throws(GraphItemsError<ID>) where P.Input == [P.Output], Output == [ID: P.Output] {
    self = try Self.graph(of: items, named: name, id: id, needs: needs, procedure: procedure).get()
  }

  /// Makes the graph, or returns the error: the optimizer of Swift 6.3 crashes where one of the initializers calls the other.
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
