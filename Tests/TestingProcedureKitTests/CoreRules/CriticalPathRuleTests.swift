import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite("Rule Q8: the ready node with the longest path to the end of the graph starts first", .timeLimit(.minutes(10)))
struct CriticalPathRuleTests {
  /// A node of a test graph: its name, the names of its dependencies, and its expected duration in seconds.
  private struct Item: Sendable {
    var name: String
    var needs: [String] = []
    var expected: Int?
    var priority = TaskPriority.medium
  }

  private typealias Graph = ProcedureGraph<Void, [String: Void]>

  /// Returns a graph whose nodes append their names to a list.
  private func graph(_ items: [Item], _ started: Record<String>) throws -> Graph {
    try ProcedureGraph("g", items, id: \.name, needs: \.needs) { item in
      let task = ProcedureTask("item", priority: item.priority) { (_: [Void]) in started.append(item.name) }
      return item.expected.map { task.expected(duration: .seconds($0)) } ?? task
    }
  }

  /// Returns the order in which nodes start on a queue that has one free slot.
  private func order(
    _ items: [Item], width: Int = 2, limit: Int = .max, _ change: (Graph) -> Graph = { $0 }
  ) async throws -> String {
    let (queue, started, release) = (ProcedureQueue("q", maxConcurrentProcedures: width), Record<String>(), Signal())
    let others = ProcedureTask("other") { await release.wait() }
    let blockers = (1..<max(min(width, 8), 1)).map { _ in queue.add(others) }
    try await eventually { blockers.allSatisfy { $0.state == .executing } }
    _ = try await queue.run(change(graph(items, started)).maxConcurrentNodes(limit))
    release.set()
    for blocker in blockers { try await blocker.value }
    return started.values.joined(separator: " ")
  }

  private let items = [
    Item(name: "a", expected: 1), Item(name: "b", expected: 3), Item(name: "c", expected: 2),
    Item(name: "d", expected: 3), Item(name: "path", expected: 1), Item(name: "end", needs: ["path"], expected: 9),
  ]

  @Test("The node with the longest expected path starts first, and nodes with equal paths start as they became ready")
  func expectedDurations() async throws {
    #expect(try await order(items) == "path end b d c a")
  }

  @Test("If no duration is known, the number of nodes on the longest path counts")
  func depth() async throws {
    let items = [
      Item(name: "a"), Item(name: "b"), Item(name: "b1", needs: ["b"]), Item(name: "c"),
      Item(name: "c1", needs: ["c"]), Item(name: "c2", needs: ["c1"]), Item(name: "d"),
    ]
    #expect(try await order(items) == "c c1 c2 b b1 a d")
  }

  @Test("A node whose duration is unknown is expected to take the mean of the known durations")
  func mean() async throws {
    let items = [
      Item(name: "short", expected: 2), Item(name: "unknown"), Item(name: "long", expected: 6),
      Item(name: "medium", expected: 5), Item(name: "shortest", expected: 1),
    ]
    #expect(try await order(items) == "long medium unknown short shortest")
  }

  @Test("A duration from an earlier run takes precedence over the one that was given, by the names of the nodes")
  func measured() async throws {
    let measured = try await order(items) { graph in
      graph.expected(durations: ["a": .seconds(20), "end": .seconds(1), "c": .seconds(-5), "no node": .seconds(100)])
    }
    #expect(measured == "a b d path end c")
  }

  @Test("The last expected duration counts, and further modifiers keep it")
  func modifiers() async throws {
    let (started, release) = (Record<String>(), Signal())
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 2)
    let blocker = queue.add(ProcedureTask("other") { await release.wait() })
    try await eventually { blocker.state == .executing }
    let graph = ProcedureGraph("g", returning: Void.self) { g in
      let task = { @Sendable (name: String) in ProcedureTask(name) { started.append(name) } }
      g.add(task("short").expected(duration: .seconds(9)).expected(duration: .seconds(1)))
      g.add(task("long").expected(duration: .seconds(3)).retry(.immediate, maxAttempts: 2).timeout(.seconds(60)))
      g.add(ProcedureGraph("nested", returning: Void.self) { $0.add(task("nested")) }.expected(duration: .seconds(2)))
    }
    try await queue.run(graph)
    #expect(started.values == ["long", "nested", "short"])
    release.set()
    try await blocker.value
  }

  @Test("The priority takes precedence over the length of the path")
  func priorities() async throws {
    let items = [
      Item(name: "low", expected: 100, priority: .low), Item(name: "a", expected: 1), Item(name: "b", expected: 2),
      Item(name: "high", priority: .high), Item(name: "end", needs: ["a"], expected: 50),
    ]
    #expect(try await order(items) == "high a end b low")
  }

  @Test("A worker continues with the longest path among the nodes that its node has made ready, before others")
  func continuation() async throws {
    let items = [
      Item(name: "first", expected: 10), Item(name: "other", expected: 9),
      Item(name: "x", needs: ["first"], expected: 1), Item(name: "y", needs: ["first"], expected: 3),
      Item(name: "z", needs: ["first"], expected: 2),
    ]
    #expect(try await order(items) == "first y other z x")
  }

  @Test(
    "The order changes nothing if one node executes at a time, if every ready node has a slot, or if no path is longer")
  func unordered() async throws {
    let orderOfReadiness = "a b c d path end"
    #expect(try await order(items, width: 1) == orderOfReadiness)
    #expect(try await order(items, limit: 1) == orderOfReadiness)
    #expect(try await order(items, width: items.count) == orderOfReadiness)
    let nothing = Dictionary(uniqueKeysWithValues: items.map { ($0.name, Duration.zero) })
    #expect(try await order(items) { $0.expected(durations: nothing) } == orderOfReadiness)
  }

  @Test("The limit of a graph has the same effect as that of a queue")
  func limitOfGraph() async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let (queue, isOpen) = (env.makeQueue(), Signal())
      let graph = ProcedureGraph("g", returning: Void.self) { g in
        // If the node that lets the others continue were not among the first two, the graph would never end.
        for number in 0..<3 { g.add(ProcedureTask("\(number)") { await isOpen.wait() }) }
        g.add(ProcedureTask("longest") { isOpen.set() }.expected(duration: .seconds(9)))
        g.add(ProcedureTask("long") { await isOpen.wait() }.expected(duration: .seconds(8)))
      }
      try await queue.run(graph.maxConcurrentNodes(2))
      await queue.shutDown()
    }
  }

  @Test("In every schedule, no node starts while two nodes with longer paths are ready", .timeLimit(.atDepth))
  func explored() async throws {
    try await exploreSchedules(TestDepth.count(500)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 2)
      let started = Record<Int>()
      let durations = (0..<8).map { _ in Int.random(in: 0...5, using: &env.random) }
      let graph = ProcedureGraph("g", returning: Void.self) { g in
        for (number, seconds) in durations.enumerated() {
          g.add(
            ProcedureTask("\(number)") {
              started.append(number)
              for _ in 0..<number % 3 { await Task.yield() }
            }
            .expected(duration: .seconds(seconds)))
        }
      }
      try await queue.run(graph)
      let order = started.values.map { durations[$0] }
      for position in order.indices {
        let longer = order[(position + 1)...].count { $0 > order[position] }
        // The other worker can have taken a node that it has not started yet.
        env.check(longer < 2, "\(order), position \(position)")
      }
      env.check(order.count == durations.count)
      await queue.shutDown()
    }
  }

  @Test("A graph that runs several times at once computes its ranks once, and every run has its own order")
  func concurrentRuns() async throws {
    let (queue, started) = (ProcedureQueue("q", maxConcurrentProcedures: 3), Record<String>())
    let graph = try graph(items, started)
    try await withThrowingTaskGroup { group in
      for _ in 0..<20 { group.addTask { _ = try await queue.run(graph) } }
      try await group.waitForAll()
    }
    #expect(started.values.count == 20 * items.count)
  }

  @Test("A negative expected duration traps")
  func negative() async {
    await #expect(processExitsWith: .failure) { _ = ProcedureTask {}.expected(duration: .seconds(-1)) }
  }
}
