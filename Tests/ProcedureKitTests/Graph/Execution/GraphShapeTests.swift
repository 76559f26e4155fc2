import Testing

@testable import ProcedureKit

@Suite(.timeLimit(.minutes(10))) struct GraphShapeTests {
  @Test("A shape keeps each edge, with its kind, in the order in which it was given, also the same one twice")
  func edgesAreKept() {
    let shape = GraphShape(
      count: 5,
      edges: [
        (from: 1, to: 4, kind: .acceptsFailure), (from: 0, to: 2, kind: .requiresSuccess),
        (from: 0, to: 1, kind: .requiresSuccess), (from: 0, to: 2, kind: .acceptsFailure),
      ])
    #expect(shape.dependencyCounts == [0, 1, 2, 0, 1])
    #expect(shape.roots == [0, 3])
    let outgoing = (0..<5 as Range<Int32>).map { node in shape.successorRange(of: node).map { shape.successors[$0] } }
    #expect(outgoing == [[4, 2, 5], [9], [], [], []])
  }

  @Test("Priorities count only where they differ")
  func uniformPriorities() {
    #expect(GraphShape(count: 3, edges: [], priorities: [7, 7, 7]).priorities.isEmpty)
    #expect(GraphShape(count: 3, edges: [], priorities: [7, 8, 7]).priorities == [7, 8, 7])
    #expect(GraphShape(count: 3, edges: []).priorities.isEmpty)
  }

  @Test("D4: a failure fails the graph where it reaches a node on which nothing depends, and nobody accepts it before")
  func failuresThatCount() {
    // 0 → 1 ⇢ 2, 0 → 3; 4 is what the graph returns, whatever became of it; 5 ⇢ 4 and 6 → 4.
    let shape = GraphShape(
      count: 7,
      edges: [
        (from: 0, to: 1, kind: .requiresSuccess), (from: 1, to: 2, kind: .acceptsFailure),
        (from: 0, to: 3, kind: .requiresSuccess), (from: 4, to: 6, kind: .acceptsFailure),
        (from: 5, to: 6, kind: .requiresSuccess),
      ], acceptedOutput: 6)
    #expect(shape.acceptedFailures == [1, 4, 5, 6])
    // A node that others accept, but that the graph does not return.
    #expect(GraphShape(count: 2, edges: [(from: 0, to: 1, kind: .acceptsFailure)]).acceptedFailures == [0])
    #expect(GraphShape(count: 2, edges: [(from: 0, to: 1, kind: .requiresSuccess)]).acceptedFailures == [])
    #expect(GraphShape(count: 2, edges: [], acceptedOutput: 1).acceptedFailures == [1])
  }

  @Test("A shape of no nodes is complete before it begins")
  func emptyShape() {
    let shape = GraphShape(count: 0, edges: [])
    #expect(shape.roots.isEmpty)
    var progress = GraphDecisions(shape: shape, limit: 1, stopsAtFirstFailure: true)
    #expect(progress.started() == GraphProgress.Advance(isComplete: true))
  }

  @Test(
    "An edge that leads backwards, to itself or out of the graph traps", arguments: [(2, 1), (1, 1), (0, 3), (-1, 1)])
  func backwardEdges(_ from: Int32, _ to: Int32) async {
    await #expect(processExitsWith: .failure) { [from, to] in
      _ = GraphShape(count: 3, edges: [(from: from, to: to, kind: .requiresSuccess)])
    }
  }
}

extension GraphShape {
  /// The nodes that may fail without the graph failing.
  fileprivate var acceptedFailures: [Int32] { (0..<Int32(count)).filter(acceptsFailure) }
}
