import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite("The elements of a collection, in everything that shows runs", .timeLimit(.atDepth))
struct ElementTests {
  private let double = ProcedureTask("double") { (number: Int) in number * 2 }

  /// Returns the names of all runs, with the collection of each.
  private func runs(_ work: (ProcedureQueue) async throws -> Void) async throws -> [(name: String, collection: String?)]
  {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 2)
    let events = queue.events
    try await work(queue)
    await queue.shutDown()
    let all = await events.reduce(into: [ProcedureEvent]()) { $0.append($1) }
    return all.filter { $0.kind == .didAttach }.map { ($0.name, $0.collection) }
  }

  @Test("The values of map, of a builder's functions and of items are collected without an additional run")
  func gather() async throws {
    let (double, graph) = (
      double,
      ProcedureGraph("graph") { (g, numbers: Node<[Int]>) in
        let doubled = g.map(numbers, with: ProcedureTask("double") { (number: Int) in number * 2 })
        return g.filter("large", doubled) { $0 > 2 }
      }
    )
    func needs(_ item: String) -> [String] { item == "b" ? ["a"] : [] }
    let items = try ProcedureGraph("items", ["a", "b"], id: \.self, needs: needs) { item, _ in item }
    let names = try await runs { queue in
      let value1 = try await queue.map([1, 2], with: double)
      #expect(value1 == [2, 4])
      let value2 = try await queue.run(graph, input: [1, 2])
      #expect(value2 == [4])
      let value3 = try await queue.run(items)
      #expect(value3 == ["a": "a", "b": "b"])
    }.map(\.name)
    #expect(
      names.sorted()
        == [
          "a", "b", "double", "double[0]", "double[0]", "double[1]", "double[1]", "graph", "items", "large", "large[0]",
          "large[1]", "map double",
        ])
    #expect(items.nodeCount == 2 && !items.mermaid.contains("gather") && !items.dot.contains("gather"))
    #expect(items.mermaid.contains("n0 --> output") && items.mermaid.contains("n1 --> output"))
  }

  @Test("The progress and the snapshot of a map contain its elements, and no other node")
  func progress() async throws {
    let (queue, release) = (ProcedureQueue("q", maxConcurrentProcedures: 4, isSuspended: true), Signal())
    let element = ProcedureTask("element") { (number: Int) in
      if number > 0 { await release.wait() } else { ProcedureContext.current?.progress.report(1) }
    }
    let graph = ProcedureGraph("all") { (g, numbers: Node<[Int]>) in g.map(numbers, with: element) }
    let handle = queue.add(graph, input: Array(0..<4))
    let progress = handle.progress
    queue.resume()
    let fraction = await progress.first { $0.fraction > 0 }?.fraction
    #expect(fraction == 0.25)
    try await eventually {
      queue.snapshot().procedures.filter { $0.state == .executing && $0.procedure.name.hasPrefix("element[") }
        .map(\.procedure.name).sorted() == ["element[1]", "element[2]", "element[3]"]
    }
    let names = queue.snapshot().procedures.map(\.procedure.name)
    #expect(names.sorted() == ["all", "element[1]", "element[2]", "element[3]", "map element"])
    release.set()
    _ = try await handle.value
  }

  @Test("Elements are named by their inputs if the user asks for it")
  func names() async throws {
    let double = double
    let graph = ProcedureGraph("graph") { (g, numbers: Node<[Int]>) in
      let mapped = g.map(numbers, with: double, elementName: { "a\($0)" })
      let some = g.compactMap(mapped, elementName: { "b\($0)" }) { $0 as Int? }
      let kept = g.filter("keep", some, elementName: { "c\($0)" }) { _ in true }
      let other = g.filter(kept, with: ProcedureTask("odd") { (_: Int) in true }, elementName: { "d\($0)" })
      let optional = g.compactMap(
        other, with: ProcedureTask("o") { (number: Int) in number as Int? }, elementName: { "e\($0)" })
      return g.map("last", optional, elementName: { "f\($0)" }) { $0 }
    }
    let found = try await runs { queue in
      let value4 = try await queue.run(graph, input: [1])
      #expect(value4 == [2])
      let value5 = try await queue.map([7], with: double, elementName: { "g\($0)" })
      #expect(value5 == [14])
      for try await _ in queue.results(of: double, over: [8], elementName: { "h\($0)" }) {}
      for try await _ in queue.results(of: double, over: AsyncStream { nil }, elementName: { "i\($0)" }) {}
      try await queue.run(
        ProcedureTask("body") { for try await _ in queue.results(of: double, over: [9], elementName: { "j\($0)" }) {} })
      for try await _ in queue.results(of: double, over: [10]) {}
    }
    let elements = found.filter { $0.collection != nil }
    #expect(
      elements.map { "\($0.name) of \($0.collection ?? "")" } == [
        "a1 of double", "b2 of compactMap", "c2 of keep", "d2 of odd", "e2 of o", "f2 of last", "g7 of double",
        "h8 of double", "j9 of double", "double of double",
      ])
  }

  @Test("A graph of items throws the condition of an item that is ignored")
  func ignored() async throws {
    func needs(_ number: Int) -> [Int] { [] }
    let graph = try ProcedureGraph([1, 2], id: \.self, needs: needs) { number in
      ProcedureTask<[Int], Int>("item") { _ in number }.condition("small") { number < 2 }
    }
    let error = await #expect(throws: ProcedureError.self) { try await ProcedureQueue("q").run(graph) }
    #expect(error?.kind == .ignored && error?.condition == "small")
  }
}
