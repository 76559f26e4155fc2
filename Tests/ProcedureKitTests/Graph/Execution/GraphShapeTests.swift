import Testing

@testable import ProcedureKit

/// `GraphScript` checks the edges of shapes.
@Suite(.timeLimit(.minutes(10))) struct GraphShapeTests {
  @Test(
    "An edge that leads backwards, to itself or out of the graph traps", arguments: [(2, 1), (1, 1), (0, 3), (-1, 1)])
  func backwardEdges(_ from: Int32, _ to: Int32) async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [from, to] in
      _ = GraphShape(count: 3, edges: [(from: from, to: to, acceptsFailure: false)])
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    let isBackwards = (0..<3).contains(from) && (0..<3).contains(to)
    let reason = isBackwards ? "a node can depend only on nodes that were added before it" : "there are only 3 nodes"
    #expect(text.contains("node \(to)") && text.contains("node \(from)") && text.contains(reason))
  }
}
