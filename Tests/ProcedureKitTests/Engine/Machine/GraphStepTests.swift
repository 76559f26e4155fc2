import Testing

@testable import ProcedureKit

#if DEBUG
  /// Counts what the deciding structures do, which debug builds do themselves: the number of edges, and nothing else.
  @Suite struct GraphStepTests {
    private typealias Edge = (from: Int32, to: Int32, kind: GraphShape.Edge)

    /// A node, so many that depend on it, and one that depends on them.
    private func fan(_ width: Int32) -> GraphShape {
      let out = (1...width).map { Edge(from: 0, to: $0, kind: .requiresSuccess) }
      let back = (1...width).map { Edge(from: $0, to: width + 1, kind: .acceptsFailure) }
      return GraphShape(count: Int(width) + 2, edges: out + back)
    }

    /// Each node takes three of the layer before.
    private func layers(_ side: Int32) -> GraphShape {
      let edges = (side..<side * side).flatMap { node -> [Edge] in
        let (layer, index) = node.quotientAndRemainder(dividingBy: side)
        return (0..<3).map { Edge(from: (layer - 1) * side + (index + $0) % side, to: node, kind: .requiresSuccess) }
      }
      return GraphShape(count: Int(side * side), edges: edges)
    }

    /// Executes everything with one worker, or fails the first node.
    ///
    /// - Returns: How many edges were walked, and how many ready nodes were moved to make room.
    private func steps(_ shape: GraphShape, failingFirst: Bool = false) -> (walked: Int, moved: Int) {
      var run = GraphDecisions(shape: shape, limit: 1, stopsAtFirstFailure: false)
      var advance = run.started()
      if failingFirst {
        var skipped: [GraphCountdown.Skipped] = []
        advance = run.nodeStopped(advance.next, .failed, skipped: &skipped).advance
      }
      while advance.next >= 0 { advance = run.nodeSucceeded(advance.next) }
      #expect(advance.isComplete)
      return (run.countdown.steps, run.progress.ready.moved)
    }

    @Test(
      "A node with 100,000 dependents costs a step for each edge, whether it succeeds or fails",
      arguments: [false, true])
    func dependents(_ fails: Bool) {
      let steps = steps(fan(100_000), failingFirst: fails)
      #expect(steps.walked == 200_000)
      #expect(steps.moved <= 100_000)
    }

    @Test("Layers cost a step for each edge, however many there are", arguments: [10, 100, 300] as [Int32])
    func layered(_ side: Int32) {
      let steps = steps(layers(side))
      #expect(steps.walked == Int(3 * side * (side - 1)))
      #expect(steps.moved <= Int(side * side))
    }

    @Test("When the first node of layers fails, each edge that leads on from it costs a step, and no other")
    func layersFail() {
      let side: Int32 = 300
      #expect(steps(layers(side), failingFirst: true).walked <= Int(3 * side * (side - 1)))
    }
  }
#endif
