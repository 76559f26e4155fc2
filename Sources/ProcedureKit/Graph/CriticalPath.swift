extension Procedure {
  /// Returns the procedure with the duration that it is expected to take as a node of a ``ProcedureGraph``.
  ///
  /// If more nodes of a graph are ready than can execute at once, the nodes on the longest path to the end of the graph start first
  /// (<doc:BuildingGraphs>). The length of a path is the sum of the expected durations of its nodes.
  ///
  /// ```swift
  /// let index = g.add(BuildIndex().expected(duration: .seconds(90)), from: pages)
  /// ```
  ///
  /// A duration from an earlier run takes precedence, whether it is passed to ``ProcedureGraph/expected(durations:)`` or found in the
  /// journal of a durable graph. Outside of graphs, and for the elements of a `map`, the duration has no effect. If several durations are
  /// set, the last one applies.
  ///
  /// - Parameter duration: The duration, including any pauses and waits after the procedure has started. Passing a negative duration traps.
  /// - Returns: The procedure with the duration.
  public func expected(duration: Duration) -> ProcedureTask<Input, Output> {
    let task = procedureTask
    require(
      duration >= .zero, "Procedure \"\(task.name)\": its expected duration must not be negative, got \(duration)")
    return task.relabelled { $0.expectedSeconds = duration.expectedSeconds }
  }
}

extension ProcedureGraph {
  /// Returns a copy of the graph in which nodes are expected to take the given durations, for example those of an earlier run.
  ///
  /// If more nodes are ready than can execute at once, the nodes on the longest path to the end of the graph start first
  /// (<doc:BuildingGraphs>). `RunRecording.nodeDurations` in `ProcedureKitDiagnostics` contains the durations of recorded runs.
  ///
  /// ```swift
  /// try await queue.run(build.expected(durations: recording.nodeDurations))
  /// ```
  ///
  /// - Parameter durations: The durations, keyed by node name. A node whose name is missing keeps the duration that was set with
  ///   ``Procedure/expected(duration:)``, if any. Names that do not belong to a node are ignored, and a negative duration counts as zero.
  /// - Returns: The graph with the durations.
  /// - Complexity: O(n) for n nodes.
  public func expected(durations: [String: Duration]) -> ProcedureGraph {
    var (graph, traits) = (self, plan.traits)
    for node in traits.indices {
      if let duration = durations[traits[node].name] { traits[node].expectedSeconds = duration.expectedSeconds }
    }
    graph.plan = GraphPlan(
      shape: plan.shape, bodies: plan.bodies, traits: traits, layout: plan.layout, inputs: plan.inputs,
      inputEnds: plan.inputEnds, collection: plan.collection, keyed: plan.keyed, requestObserver: plan.requestObserver)
    return graph
  }

  /// Returns whether the order of ready nodes matters in a run of the graph. If so, it is worth looking up the expected durations.
  package func ordersNodes(in context: ProcedureContext) -> Bool {
    GraphProgress.usesRanks(count: plan.bodies.count, limit: width, width: context.run.core.width)
  }
}

extension Duration {
  /// The duration in seconds, as stored in a node's traits.
  package var expectedSeconds: Float { Float(max(self / .seconds(1), 0)) }
}

extension GraphShape {
  /// Returns the rank of each node (Q8). The node with the longest path to the end of the graph has the lowest rank.
  ///
  /// The length of a path is the sum of the expected durations of its nodes, including the first one. A node whose duration is unknown is
  /// expected to take the mean of the known durations. If no duration is known, the length of a path is its number of nodes.
  ///
  /// - Returns: The ranks, from 0 to 2³⁰; an empty array if all of them are equal.
  /// - Complexity: O(n + e) for n nodes and e edges.
  func ranks(expecting traits: ContiguousArray<NodeTraits>) -> ContiguousArray<Int32> {
    let known = traits.lazy.map(\.expectedSeconds).filter { $0 >= 0 }
    let (knownCount, sum) = known.reduce((0, 0.0)) { ($0.0 + 1, $0.1 + Double($1)) }
    if successors.isEmpty, knownCount == 0 { return [] }
    let mean = knownCount > 0 ? sum / Double(knownCount) : 1
    var lengths = ContiguousArray<Double>(repeating: 0, count: count)
    for node in traits.indices.reversed() {
      let own = traits[node].expectedSeconds
      let longest = successors[successorRange(of: Int32(node))].reduce(0) { max($0, lengths[Int($1 >> 1)]) }
      lengths[node] = longest + (own >= 0 ? Double(own) : mean)
    }
    let (least, greatest) = (lengths.min() ?? 0, lengths.max() ?? 0)
    if least == greatest { return [] }
    return ContiguousArray(lengths.lazy.map { Int32((1 - $0 / greatest) * 0x1p30) })
  }
}
