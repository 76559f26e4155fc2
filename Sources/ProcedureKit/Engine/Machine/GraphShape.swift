/// Internal. The dependencies of a graph, flat and immutable: computed once when the graph is built, shared by all runs.
///
/// Nodes are numbered in the order in which they were added, so that every edge leads from a smaller number to a larger
/// one: there can be no cycle.
struct GraphShape: Sendable {
  /// The response of a node to a dependency that does not succeed.
  enum Edge: Sendable {
    /// It is not executed.
    case requiresSuccess
    /// It is executed all the same.
    case acceptsFailure
  }

  let count: Int
  /// For each node, how many edges lead to it.
  let dependencyCounts: ContiguousArray<Int32>
  /// For each node, where its outgoing edges begin in `successors`; one more at the end.
  let offsets: ContiguousArray<Int32>
  /// Target and kind of each edge: the target's number doubled, plus one where it accepts failure.
  let successors: ContiguousArray<Int32>
  let roots: ContiguousArray<Int32>
  /// For each node its priority; empty where all are the same.
  let priorities: ContiguousArray<UInt8>
  /// The node whose failure the graph returns instead of failing itself, -1 if there is none.
  let acceptedOutput: Int32
  /// For each node whether its failure stays within the graph; empty where none does.
  private let acceptance: ContiguousArray<Bool>

  /// Each edge leads from a node that has to finish to one that starts after. There is a priority for each node, or none at all.
  init(
    count: Int, edges: some Sequence<(from: Int32, to: Int32, kind: Edge)>, priorities: ContiguousArray<UInt8> = [],
    acceptedOutput: Int32 = -1
  ) {
    var hasAccepting = acceptedOutput >= 0
    var counts = ContiguousArray<Int32>(repeating: 0, count: count)
    var offsets = ContiguousArray<Int32>(repeating: 0, count: count + 1)
    for edge in edges {
      precondition(edge.from >= 0 && edge.from < edge.to && edge.to < count, "GraphShape: an edge leads backwards")
      counts[Int(edge.to)] += 1
      offsets[Int(edge.from) + 1] += 1
      if edge.kind == .acceptsFailure { hasAccepting = true }
    }
    for node in 0..<count { offsets[node + 1] += offsets[node] }
    var cursors = offsets
    var successors = ContiguousArray<Int32>(repeating: 0, count: Int(offsets[count]))
    for edge in edges {
      successors[Int(cursors[Int(edge.from)])] = edge.to * 2 + (edge.kind == .acceptsFailure ? 1 : 0)
      cursors[Int(edge.from)] += 1
    }
    (self.count, self.acceptedOutput) = (count, acceptedOutput)
    dependencyCounts = counts
    (self.offsets, self.successors) = (offsets, successors)
    roots = ContiguousArray(counts.indices.lazy.filter { counts[$0] == 0 }.map(Int32.init))
    self.priorities = priorities.contains { $0 != priorities[0] } ? priorities : []
    acceptance =
      hasAccepting
      ? Self.acceptance(offsets: offsets, successors: successors, acceptedOutput: acceptedOutput) : []
  }

  /// A failure stays within the graph if it is accepted wherever it goes: by an edge that accepts it, or, where the edge
  /// does not, because the failure of the node at its end is accepted. It leaves the graph at a node without successors.
  private static func acceptance(
    offsets: ContiguousArray<Int32>, successors: ContiguousArray<Int32>, acceptedOutput: Int32
  ) -> ContiguousArray<Bool> {
    var accepted = ContiguousArray<Bool>(repeating: false, count: offsets.count - 1)
    for node in accepted.indices.reversed() {
      let edges = successors[Int(offsets[node])..<Int(offsets[node + 1])]
      let goesSomewhere = !edges.isEmpty || Int32(node) == acceptedOutput
      accepted[node] = goesSomewhere && edges.allSatisfy { $0 & 1 == 1 || accepted[Int($0 >> 1)] }
    }
    return accepted
  }

  /// Whether the graph does not fail when this node does.
  func acceptsFailure(of node: Int32) -> Bool {
    !acceptance.isEmpty && acceptance[Int(node)]
  }

  func priority(of node: Int32) -> UInt8 { priorities.isEmpty ? 0 : priorities[Int(node)] }

  func successorRange(of node: Int32) -> Range<Int> {
    Int(offsets[Int(node)])..<Int(offsets[Int(node) + 1])
  }
}
