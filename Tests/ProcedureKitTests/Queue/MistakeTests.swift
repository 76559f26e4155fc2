import ProcedureKit
import Testing

/// Tests that programming mistakes that cannot be errors trap with a message that names them.
@Suite(.timeLimit(.minutes(10))) struct MistakeTests {
  private func message(_ result: ExitTest.Result?) -> String {
    String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
  }

  @Test("A width below 1 traps, both when a queue is created and when the width is changed")
  func width() async {
    let made = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = ProcedureQueue("narrow", maxConcurrentProcedures: 0)
    }
    #expect(message(made).contains("\"narrow\": maxConcurrentProcedures must be at least 1, got 0"))
    let changed = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      ProcedureQueue("narrow").setMaxConcurrentProcedures(-1)
    }
    #expect(message(changed).contains("maxConcurrentProcedures must be at least 1, got -1"))
    let limited = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = ProcedureGraph("thin") { g in g.add(ProcedureTask {}) }.maxConcurrentNodes(0)
    }
    #expect(message(limited).contains("\"thin\": maxConcurrentNodes must be at least 1, got 0"))
  }

  @Test("A stream of results without any limit traps, as does one with a limit below 1")
  func streamLimit() async {
    let unlimited = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = ProcedureQueue("wide").results(of: ProcedureTask("double") { (number: Int) in number * 2 }, over: 0..<5)
    }
    #expect(message(unlimited).contains("\"wide\": results(of: \"double\", over:) has no limit"))
    #expect(message(unlimited).contains("Pass maxConcurrentElements:"))
    let none = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = ProcedureQueue("wide").results(
        of: ProcedureTask("id") { (number: Int) in number }, over: 0..<5, maxConcurrentElements: 0)
    }
    #expect(message(none).contains("must be at least 1, got 0"))
  }

  private struct Key: GraphKey {
    typealias Value = Int
  }

  @Test("A type of keys that is declared twice traps, as does one that is declared after the graph was built")
  func keys() async {
    let twice = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = ProcedureGraph("twofold", returning: Void.self) { g in
        g.values(for: Key.self) { _, _ in 1 }
        g.values(for: Key.self) { _, _ in 2 }
      }
    }
    #expect(message(twice).contains("\"twofold\": the values for \"Key\" were declared twice"))
    let late = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var builder: GraphBuilder?
      _ = ProcedureGraph("done", returning: Void.self) { g in builder = g }
      builder?.values(for: Key.self) { _, _ in 1 }
    }
    #expect(message(late).contains("\"done\": values were declared after the graph was built"))
  }

  @Test("Using a node of another builder traps, and so does using a builder after its graph has been built")
  func foreignNode() async {
    let foreign = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = ProcedureGraph("outer") { (outer, x: Node<Int>) in
        let inner = ProcedureGraph<Int, Int>("inner") { (g, _: Node<Int>) in
          g.add(ProcedureTask("uses x") { (x: Int) in x }, from: x)
        }
        return outer.add(inner, from: x)
      }
    }
    #expect(message(foreign).contains("\"inner\": \"uses x\" was given a node from another graph"))
    let late = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var builder: GraphBuilder?
      let graph = ProcedureGraph("done", returning: Void.self) { g in
        builder = g
        g.add(ProcedureTask {})
      }
      builder?.add(ProcedureTask("late") {})
      _ = graph
    }
    #expect(message(late).contains("\"done\": \"late\" was added after the graph was built"))
  }
}
