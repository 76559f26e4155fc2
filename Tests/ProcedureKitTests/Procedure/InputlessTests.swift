import ProcedureKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct InputlessTests {
  private struct CleanUp: InputlessProcedure {
    let files: Box<[String]>

    func execute() async throws {
      if files.value.isEmpty { throw TestError() }
      files.update { $0 = [] }
    }
  }

  private struct First<Element: Sendable>: InputlessProcedure {
    let elements: [Element]
    var name: String { "first of \(elements.count)" }
    func execute() async throws -> Element? { elements.first }
  }

  @Test("A type that declares that it has no input can be run in every way")
  func ways() async throws {
    let queue = ProcedureQueue("q")
    let first = First(elements: [1, 2])
    #expect(try await first() == 1)
    #expect(try await first.execute() == 1)
    #expect(try await queue.run(first) == 1)
    let handle = queue.add(first)
    #expect(try await handle.value == 1 && handle.name == "first of 2")
    #expect(try await queue.run(ProcedureGraph { g in g.add(first.map { ($0 ?? 0) + 1 }) }) == 2)
    let parent = ProcedureTask { try await ProcedureContext.current?.produce(first).value ?? 0 }
    #expect(try await queue.run(parent) == 1)
  }

  @Test("A procedure without input and value fails by throwing, and takes modifiers")
  func failing() async throws {
    let files = Box(["a"])
    try await CleanUp(files: files).retry(.immediate)()
    #expect(files.value.isEmpty)
    await #expect(throws: TestError()) { try await ProcedureQueue("q").run(CleanUp(files: files)) }
  }

  @Test("Tasks and graphs without an input are procedures without an input")
  func others() async throws {
    let graph = ProcedureGraph("graph") { g in g.add("two") { 2 } }
    let all: [any InputlessProcedure<Int>] = [ProcedureTask("one") { 1 }, graph, graph.map { $0 + 1 }]
    var values: [Int] = []
    for procedure in all { values.append(try await procedure.execute()) }
    #expect(values == [1, 2, 3])
  }
}
