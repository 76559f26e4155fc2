import ProcedureKit
import Testing

@Suite(.timeLimit(.minutes(10))) struct RunTests {
  @Test("A procedure is run and returns its value, on a queue and without one")
  func returnsItsValue() async throws {
    let double = ProcedureTask("double") { (x: Int) in x * 2 }
    #expect(try await ProcedureQueue("q").run(double, input: 21) == 42)
    #expect(try await double.execute(4) == 8)
  }

  @Test("An added procedure's value can be awaited, even twice")
  func addedValue() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 2)
    let handles = (0..<100).map { i in queue.add(ProcedureTask("n") { i }) }
    for (i, handle) in handles.enumerated() {
      #expect(try await handle.value == i)
      #expect(try await handle.value == i)
    }
  }

  @Test("Dependencies of different types are passed on as a tuple")
  func dependencies() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let number = queue.add(ProcedureTask("number") { 6 })
    let text = queue.add(ProcedureTask("text") { "x" })
    let both = queue.add(
      ProcedureTask("both") { (n: Int, s: String) in String(repeating: s, count: n) }, from: number, text)
    #expect(try await both.value == "xxxxxx")
  }

  @Test("A graph runs")
  func graph() async throws {
    let graph = ProcedureGraph("g") { (g, x: Node<Int>) in
      let a = g.add(ProcedureTask { (x: Int) in x + 1 }, from: x)
      let b = g.add(ProcedureTask { (x: Int) in x * 2 }, from: x)
      return g.add("sum", from: a, b) { a, b in a + b }
    }
    #expect(try await graph.execute(10) == 31)
    for width in [1, 2, .max] {
      #expect(try await ProcedureQueue("q", maxConcurrentProcedures: width).run(graph, input: 10) == 31)
    }
    let mapped = try await ProcedureQueue("m", maxConcurrentProcedures: 3).map(
      0..<50, with: ProcedureTask { (x: Int) in x * x })
    #expect(mapped == (0..<50).map { $0 * $0 })
  }
}
