import ProcedureKit
import TestSupport
import Testing

@Suite(.timeLimit(.atDepth)) struct GraphScaleTests {
  private static let (many, most) = (TestDepth.size(100_000), TestDepth.size(1_000_000))

  @Test("10,000 independent nodes all run, on a queue and without one")
  func wide() async throws {
    let count = Box(0)
    let graph = ProcedureGraph("wide", returning: Void.self) { g in
      for _ in 0..<Self.many { g.add(ProcedureTask { count.update { $0 += 1 } }) }
    }
    try await ProcedureQueue("q", maxConcurrentProcedures: 3).run(graph)
    try await graph.execute()
    #expect(count.value == 2 * Self.many)
  }

  @Test("A chain of 100,000 nodes does not overflow the stack, even if its first node fails")
  func long() async throws {
    let increment = ProcedureTask { (x: Int) in
      if x < 0 { throw TestError() }
      return x + 1
    }
    let chain = ProcedureGraph("chain") { (g, x: Node<Int>) in
      var last = x
      for _ in 0..<Self.most { last = g.add(increment, from: last) }
      return last
    }
    #expect(try await chain.execute(0) == Self.most)
    await #expect(throws: TestError.self) { try await chain.execute(-1) }
    await #expect(throws: ProcedureError.self) { try await chain.onFailure(.collect).execute(-1) }
  }

  @Test("A node can have 10,000 dependents, and another one 10,000 dependencies")
  func star() async throws {
    let star = ProcedureGraph("star") { g in
      let center = g.add(ProcedureTask { 1 })
      return g.add(
        ProcedureTask { (all: [Int]) in all.reduce(0, +) },
        from: (0..<Self.many).map { _ in g.add(ProcedureTask { (x: Int) in x }, from: center) })
    }
    #expect(try await ProcedureQueue("q", maxConcurrentProcedures: 2).run(star) == Self.many)
  }
}
