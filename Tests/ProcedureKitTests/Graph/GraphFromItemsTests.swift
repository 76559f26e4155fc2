import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.atDepth)) struct GraphFromItemsTests {
  struct Target: Sendable {
    let name: String
    let needs: [String]

    init(_ name: String, _ needs: String...) { (self.name, self.needs) = (name, needs) }
  }

  struct Compile: Procedure {
    let target: Target
    func execute(_ libraries: [String]) async throws -> String { "\(target.name)(\(libraries.joined(separator: " ")))" }
  }

  private static let targets = [
    Target("app", "ui", "core", "ui"), Target("ui", "core"), Target("tool"), Target("core", "base"), Target("base"),
  ]

  private static func problems(_ targets: Target...) throws -> GraphItemsError<String> {
    try #require(
      #expect(throws: GraphItemsError<String>.self) {
        _ = try ProcedureGraph("g", targets, id: \.name, needs: \.needs) { target, _ in target.name }
      })
  }

  @Test("Each item receives the values of its needs, in their order, at every width", arguments: [1, 2, Int.max])
  func values(width: Int) async throws {
    let graph = try ProcedureGraph(Self.targets, id: \.name, needs: \.needs) { target, libraries in
      "\(target.name)(\(libraries.joined(separator: " ")))"
    }
    let values = [
      "base": "base()", "core": "core(base())", "tool": "tool()", "ui": "ui(core(base()))",
      "app": "app(ui(core(base())) core(base()) ui(core(base())))",
    ]
    let queue = ProcedureQueue("q", maxConcurrentProcedures: width)
    #expect(try await queue.run(graph) == values)
    #expect(try await queue.add(graph.maxConcurrentNodes(1)).value == values)
    #expect(try await graph() == values)
    let compiling = try ProcedureGraph(Self.targets, id: \.name, needs: \.needs) { Compile(target: $0) }
    #expect(try await queue.run(compiling) == values)
    #expect(try await queue.run(ProcedureTask { try await compiling() }) == values)
  }

  @Test("An empty collection of items makes a graph without values, and sequences and IDs of all types are accepted")
  func sequences() async throws {
    let none = try ProcedureGraph([Target](), id: \.name, needs: \.needs) { _, _ in 1 }
    #expect(try await none() == [:])
    let numbers = 1...100
    let halves = try ProcedureGraph(
      numbers, id: { $0 }, needs: { $0 > 1 ? [$0 / 2] : [] },
      operation: { number, halves in
        number + halves.reduce(0, +)
      })
    #expect(try await halves()[100] == 197)
    let done = Box(0)
    let steps = try ProcedureGraph(["b": ["a"], "a": []], id: \.key, needs: \.value) { _, _ in done.update { $0 += 1 } }
    #expect(try await ProcedureQueue("q").run(steps).count == 2)
    #expect(done.value == 2)
  }

  @Test("A cycle is an error that lists its items in order")
  func cycles() throws {
    let error = try Self.problems(
      Target("x", "a"), Target("a", "fine", "b"), Target("b", "c"), Target("c", "a", "b"), Target("fine"),
      Target("self", "self"), Target("y", "self"))
    #expect(error.cycles == [["a", "b", "c"], ["self"]])
    #expect(error.unknownNeeds.isEmpty && error.duplicates.isEmpty)
    #expect(
      "\(error)" == """
        the graph "g" could not be created: "a" needs "b", which needs "c", which needs "a"; "self" needs "self"
        """)
  }

  @Test("Unknown needs and duplicate IDs are all listed in one error, with their items")
  func unknown() throws {
    let error = try Self.problems(
      Target("a", "b", "c"), Target("b", "d"), Target("b"), Target("a", "a"), Target("b"))
    #expect(error.unknownNeeds.map { [$0.item, $0.need] } == [["a", "c"], ["b", "d"]])
    #expect(error.duplicates == ["b", "a", "b"])
    #expect(
      "\(error)".contains("\"a\" needs \"c\", which is not the ID of an item; \"b\" needs")
        && "\(error)".contains("more than one item has the ID \"a\""))
  }

  @Test("With random needs, either every item runs after its needs, or a real cycle is reported")
  func random() async throws {
    var generator = SeededGenerator(seed: 7)
    var (sound, cyclic) = (0, 0)
    for _ in 0..<300 {
      let count = Int.random(in: 1...8, using: &generator)
      let needs = (0..<count).map { _ in
        (0..<Int.random(in: 0...2, using: &generator)).map { _ in Int.random(in: 0..<count, using: &generator) }
      }
      let order = Box<[Int]>([])
      let graph: ProcedureGraph<Void, [Int: Int]>
      do {
        graph = try ProcedureGraph(
          0..<count, id: { $0 }, needs: { needs[$0] },
          operation: { item, values in
            #expect(values == needs[item])
            order.update { $0.append(item) }
            return item
          })
      } catch {
        #expect(!error.cycles.isEmpty && Set(error.cycles.joined()).count == error.cycles.joined().count)
        for cycle in error.cycles {
          for (item, next) in zip(cycle, cycle.dropFirst() + cycle.prefix(1)) { #expect(needs[item].contains(next)) }
        }
        cyclic += 1
        continue
      }
      _ = try await graph()
      #expect(order.value.sorted() == Array(0..<count))
      for (item, needs) in needs.enumerated() {
        let place = try #require(order.value.firstIndex(of: item))
        #expect(Set(needs).isSubset(of: order.value[..<place]))
      }
      sound += 1
    }
    #expect(sound > 20 && cyclic > 20)
  }

  @Test("The first failure stops the graph; with `.collect`, every item that needs no failed item runs")
  func failures() async throws {
    let executed = Box<Set<String>>([])
    let graph = try ProcedureGraph("build", Self.targets, id: \.name, needs: \.needs) { target, _ in
      if target.name == "core" { throw TestError() }
      executed.update { _ = $0.insert(target.name) }
    }
    await #expect(throws: TestError.self) { try await ProcedureQueue("q").run(graph) }
    executed.update { $0 = [] }
    let error = await #expect(throws: ProcedureError.self) {
      try await ProcedureQueue("q").run(graph.onFailure(.collect))
    }
    #expect(error?.kind == .childrenFailed && error?.failures.map(\.procedure.name) == ["core"])
    #expect(executed.value == ["base", "tool"])
  }

  @Test("Each item has the modifiers of its procedure")
  func modifiers() async throws {
    let (attempts, monitor) = (Box(0), ConcurrencyMonitor())
    let graph = try ProcedureGraph(
      0..<20, id: { $0 }, needs: { $0 < 10 ? [] : [$0 - 10] },
      procedure: { number in
        let task = ProcedureTask<[Int], Int> { values in
          try await monitor.during("\(number % 2)") {
            if number == 3,
              attempts.update({
                $0 += 1
                return $0
              }) < 3
            {
              throw TestError()
            }
            return values.reduce(number, +)
          }
        }
        return task.retry(.immediate, maxAttempts: 3).exclusive("GraphFromItemsTests \(number % 2)")
      })
    let values = try await ProcedureQueue("q", maxConcurrentProcedures: 4).run(graph)
    #expect(values == Dictionary(uniqueKeysWithValues: (0..<20).map { ($0, $0 < 10 ? $0 : 2 * $0 - 10) }))
    #expect(attempts.value == 3)
    #expect(monitor.most(in: "0") == 1 && monitor.most(in: "1") == 1)
  }

  @Test("The IDs name the nodes in events, errors and diagrams")
  func names() async throws {
    let graph = try ProcedureGraph(Self.targets, id: \.name, needs: \.needs) { Compile(target: $0).named("compile") }
    #expect(graph.mermaid.contains("n0[\"tool\"]") && graph.mermaid.contains("[\"app\"]"))
    let queue = ProcedureQueue("q")
    let events = queue.events
    queue.add(graph.named("graph"))
    await queue.shutDown()
    var names: Set<String> = []
    for await event in events { names.insert(event.name) }
    #expect(names == ["app", "ui", "tool", "core", "base", "graph"])
  }

  @Test("Cancelling ends the executing items, and starts no more")
  func cancelling() async throws {
    let probe = ProbeProcedure<[Int], Int>("probe")
    let graph = try ProcedureGraph(0..<5, id: { $0 }, needs: { $0 == 0 ? [] : [0] }, procedure: { _ in probe })
    let handle = ProcedureQueue("q").add(graph)
    try await probe.waitUntilStarted()
    probe.finish(1)
    try await probe.waitUntilStarted(5)
    handle.cancel()
    #expect(await handle.outcome.isCancelled)
    #expect(probe.cancellationCount == 4)
    let other = ProcedureQueue("q").add(graph)
    try await probe.waitUntilStarted(6)
    other.cancel()
    #expect(await other.outcome.isCancelled)
    #expect(probe.startCount == 6)
  }

  @Test("A chain and a star of 100,000 items, given in reverse order, neither overflow the stack nor take long")
  func scale() async throws {
    let count = TestDepth.size(100_000)
    let chain = try ProcedureGraph(
      (0..<count).reversed(), id: { $0 }, needs: { $0 == 0 ? [] : [$0 - 1] },
      operation: { _, values in (values.first ?? 0) + 1 })
    #expect(try await ProcedureQueue("q", maxConcurrentProcedures: 2).run(chain)[count - 1] == count)
    let star = try ProcedureGraph(
      0..<count, id: { $0 }, needs: { $0 == 0 ? Array(1..<count) : [] },
      operation: { item, values in
        values.reduce(item, +)
      })
    #expect(try await star()[0] == count * (count - 1) / 2)
    let error = #expect(throws: GraphItemsError<Int>.self) {
      _ = try ProcedureGraph(0..<count, id: { $0 }, needs: { [($0 + 1) % count] }, operation: { item, _ in item })
    }
    #expect(error?.cycles == [Array(0..<count)])
  }
}
