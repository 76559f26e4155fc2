import ProcedureKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct CallTests {
  private struct Doubled: Procedure {
    let isAllowed: Bool

    func execute(_ input: Int) async throws -> Int { 2 * input }

    var procedureTask: ProcedureTask<Int, Int> {
      ProcedureTask(executing: self).condition(Condition("allowed") { isAllowed })
    }
  }

  @Test(
    "A call without a queue evaluates the conditions of the procedure's type, and `execute` calls only the body")
  func modifiers() async throws {
    #expect(try await Doubled(isAllowed: true)(4) == 8)
    #expect(try await Doubled(isAllowed: false).execute(4) == 8)
    await #expect(throws: ProcedureError.self) { try await Doubled(isAllowed: false)(4) }
  }

  @Test("A graph is called like any other procedure, and so is a procedure without an input")
  func graphs() async throws {
    let graph = ProcedureGraph("sum") { (g, input: Node<Int>) in
      let doubled = g.add(Doubled(isAllowed: true), from: input)
      return g.add("sum", from: input, doubled) { $0 + $1 }
    }
    #expect(try await graph(3) == 9)
    #expect(try await ProcedureTask("five") { 5 }() == 5)
  }

  @Test("A task that is created outside the context is not part of the procedure")
  func detached() async throws {
    let names = Box<[String?]>([])
    let body = ProcedureTask("body") {
      #expect(ProcedureContext.detached { ProcedureContext.current == nil })
      #expect(ProcedureContext.current?.name == "body")
      let inside = Task { ProcedureContext.current?.name }
      let outside = ProcedureContext.detached { Task { ProcedureContext.current?.name } }
      let values = await [inside.value, outside.value]
      names.update { $0 = values }
    }
    try await ProcedureQueue("q").run(body)
    #expect(names.value == ["body", nil])
  }

  @Test("A call within a body uses the slot of the body", arguments: [1, 2])
  func withinBody(width: Int) async throws {
    let queue = ProcedureQueue("calls", maxConcurrentProcedures: width)
    let outer = ProcedureTask("outer") { try await Doubled(isAllowed: true)(21) }
    #expect(try await queue.add(outer).value == 42)
    #expect(try await queue.run(outer) == 42)
  }
}
