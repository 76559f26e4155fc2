import ProcedureKit
import ProcedureKitDurable
import Synchronization
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct DurableGraphTests {
  private let journal = InMemoryJournal()
  private let names = Names()

  private func step<each Value: Sendable, Output: Sendable>(
    _ name: String, version: Int = 1, _ body: @escaping @concurrent @Sendable (repeat each Value) async throws -> Output
  ) -> ProcedureTask<(repeat each Value), Output> {
    ProcedureTask(name) { [names] (values: (repeat each Value)) in
      names.add(name)
      return try await body(repeat each values)
    }
    .version(version)
  }

  /// a ← input; b, c ← a; d ← b, c; e ← input.
  private func diamond(
    versions: [String: Int] = [:], failing: Set<String> = []
  ) -> ProcedureGraph<Int, [Int]> {
    ProcedureGraph("diamond") { (g, input: Node<Int>) in
      func task(_ name: String) -> ProcedureTask<Int, Int> {
        ProcedureTask(name) { [names] number in
          names.add(name)
          if failing.contains(name) { throw Problem(text: name) }
          return number + 1
        }
        .version(versions[name] ?? 1)
      }
      let a = g.add(task("a"), from: input)
      let (b, c) = (g.add(task("b"), from: a), g.add(task("c").retry(.immediate, maxAttempts: 2), from: a))
      let d = g.add(task("d").map { [$0] }, from: g.add("sum", from: b, c) { b, c in b + c })
      let e = g.add(task("e"), from: input)
      return g.add("list", from: d, e) { d, e in d + [e] }
    }
  }

  private func kinds(_ recorder: EventRecorder, of name: String) -> [ProcedureEvent.Kind] {
    recorder.events.filter { $0.name == name }.map(\.kind)
  }

  @Test("A second run executes nothing, has the same value, and reports that its nodes are reused")
  func again() async throws {
    let durable = diamond().durable(in: journal)
    let queue = ProcedureQueue("q")
    #expect(try await queue.run(durable, input: 1) == [7, 2])
    #expect(names.take() == ["a", "b", "c", "d", "e"])
    #expect(await journal.appendCount == 7)
    let recorder = EventRecorder(queue)
    #expect(try await queue.run(durable, input: 1) == [7, 2])
    #expect(names.take() == [])
    #expect(await journal.appendCount == 7)
    await queue.shutDown()
    try await recorder.waitUntilEnded()
    for name in ["a", "b", "c", "d", "e", "sum", "list"] {
      #expect(kinds(recorder, of: name) == [.didAttach, .reused, .willFinish, .didFinish], "\(name)")
    }
    let sources = recorder.events.compactMap { if case .reused(let name) = $0.step { name } else { nil } }
    #expect(Set(sources) == ["memory"])
    #expect(try await durable.resumptionPlan(for: 1).executedCount == 0)
  }

  @Test("With another input, everything is executed, and the values for the first input are kept")
  func inputs() async throws {
    let durable = diamond().durable(in: journal)
    _ = try await durable(1)
    _ = names.take()
    #expect(try await durable(2) == [9, 3])
    #expect(names.take().count == 5)
    #expect(try await durable(1) == [7, 2])
    #expect(names.take() == [])
    let plan = try await durable.resumptionPlan(for: 3)
    #expect(plan.entries.first?.action == .execute(.dependenciesChanged(["the input"])))
  }

  @Test("After a failure, the next run executes the missing nodes")
  func failure() async throws {
    await #expect(throws: Problem.self) {
      try await diamond(failing: ["c"]).maxConcurrentNodes(1).durable(in: journal)(1)
    }
    let before = names.take()
    #expect(before.contains("a") && before.contains("c") && !before.contains("d"))
    #expect(try await diamond().durable(in: journal)(1) == [7, 2])
    let after = names.take()
    #expect(after.contains("c") && after.contains("d") && !after.contains("a"))
    #expect(Set(before + after).count == 5 && before.count + after.count == 7)  // c three times, since it is retried
  }

  @Test("A new version of a node executes the node and its dependents, and the plan and the log give the reason")
  func versions() async throws {
    _ = try await diamond().durable(in: journal)(1)
    _ = names.take()
    let changed = diamond(versions: ["b": 2]).durable(in: journal)
    let plan = try await changed.resumptionPlan(for: 1)
    let actions = Dictionary(uniqueKeysWithValues: plan.entries.map { ($0.name, $0.action) })
    #expect(actions["a"] == .reuse && actions["c"] == .reuse && actions["e"] == .reuse)
    #expect(actions["b"] == .execute(.versionChanged))
    #expect(actions["sum"] == .execute(.dependenciesExecuted(["b"])))
    #expect(plan.executedCount == 4)
    let collector = LogCollector()
    var configuration = ProcedureQueue.Configuration("q")
    configuration.log = ProcedureLog(level: .info, to: collector)
    #expect(try await ProcedureQueue(configuration).run(changed, input: 1) == [7, 2])
    #expect(names.take() == ["b", "d"])
    #expect(
      collector.texts(.info) == [
        "executing again: its version, or the version of the graph, has changed",
        "executing again: its dependencies have changed: \"b\"",
        "executing again: its dependencies have changed: \"sum\"",
        "executing again: its dependencies have changed: \"d\"",
      ])
    _ = try await diamond().durable(in: journal, version: 2)(1)
    #expect(names.take().count == 5)
    _ = try await diamond().durable(in: journal, as: "other")(1)
    #expect(names.take().count == 5)
  }

  @Test("A value that is not Codable is computed again only for a node that is executed, or for the caller")
  func notCodable() async throws {
    func graph(last: Int) -> ProcedureGraph<Void, Int> {
      ProcedureGraph("pictures") { g in
        let picture = g.add(step("load") { Names() })
        let small = g.add(step("resize") { (picture: Names) in picture }, from: picture)
        let folder = g.add(step("folder") {})
        let size = g.add(step("size") { (_: Names) in 3 }, from: small, after: [folder])
        return g.add(step("write", version: last) { (_: Names, size: Int) in size + 1 }, from: picture, size)
      }
    }
    #expect(try await graph(last: 1).durable(in: journal)() == 4)
    #expect(names.take().count == 5)
    #expect(try await graph(last: 1).durable(in: journal)() == 4)
    #expect(names.take() == [])
    let changed = graph(last: 2).durable(in: journal)
    let actions = try await changed.resumptionPlan().entries.map(\.action)
    #expect(
      actions == [.execute(.notCodable("Names")), .skip, .reuse, .reuse, .execute(.versionChanged)])
    #expect(try await changed() == 4)
    #expect(names.take() == ["load", "write"])
    let value = ProcedureGraph("value") { g in g.add(step("names") { Names() }) }.durable(in: journal)
    for _ in 0..<2 { _ = try await value() }
    #expect(names.take() == ["names", "names"])
  }

  @Test("A node starts after the entries of its dependencies have been written")
  func order() async throws {
    let graph = ProcedureGraph("chain") { g in
      let first = g.add("first") { 1 }
      let second = g.add("second", from: first) { [journal] value in (value, await journal.appendCount) }
      return g.add("third", from: second) { [journal] _, count in [count, await journal.appendCount] }
    }
    // The tuple is not Codable.
    #expect(try await graph.durable(in: journal)() == [1, 1])
  }

  @Test(
    "A failure that a node accepts is an input of the node, which is reused as long as the failure is the same"
  )
  func results() async throws {
    func graph(_ problem: String?) -> DurableGraph<Void, String> {
      ProcedureGraph("results") { g in
        let news = g.add(
          step("news") {
            if let problem { throw Problem(text: problem) }
            return "news"
          })
        return g.add(
          step("page") { (news: Result<String, any Error>) in "\(news.map { $0 })" }, from: news.catchingErrors())
      }
      .durable(in: journal)
    }
    let page = try await graph("offline")()
    #expect(page.contains("offline"))
    #expect(names.take() == ["news", "page"])
    #expect(try await graph("offline")() == page)
    #expect(names.take() == ["news"])
    #expect(try await graph(nil)().contains("news"))
    #expect(names.take() == ["news", "page"])
  }

  @Test(
    "A node is stored after the procedures that it has produced have ended, unless one of them fails",
    arguments: [false, true])
  func produced(hasModifiers: Bool) async throws {
    let (names, isBroken) = (names, Names())
    isBroken.add("once")
    let write = ProcedureTask("write") {
      names.add("write")
      if !isBroken.take().isEmpty { throw Problem(text: "write") }
    }
    let body = ProcedureTask("node") {
      names.add("node")
      ProcedureContext.current?.produce(write)
    }
    let durable = ProcedureGraph("graph", returning: Void.self) { g in
      g.add(hasModifiers ? body.retry(.immediate, maxAttempts: 1) : body)
    }
    .durable(in: journal)
    // The produced procedure gets the only slot when the body has returned.
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    await #expect(throws: Problem.self) { try await queue.run(durable) }
    #expect(await journal.appendCount == 0)
    #expect(names.take() == ["node", "write"])
    try await queue.run(durable)
    #expect(names.take() == ["node", "write"])
    try await queue.run(durable)
    #expect(names.take() == [])
  }

  @Test("Failures are remembered on request, and are the same for the nodes that accept them")
  func failures() async throws {
    let graph = ProcedureGraph("failing") { g in
      let failing = g.add(step("fail") { () -> Int in throw Problem(text: "broken") })
      return g.add(
        step("take") { (result: Result<Int, any Error>) in "\(result)".contains("broken") },
        from: failing.catchingErrors())
    }
    let durable = graph.durable(in: journal, rememberingFailures: true)
    for _ in 0..<2 { #expect(try await durable()) }
    #expect(names.take() == ["fail", "take"])
    #expect(try await durable.resumptionPlan().entries.first?.action == .fail("broken"))
    _ = try await graph.durable(in: journal)()
    #expect(names.take() == ["fail"])
  }

  @Test("The failure of a node whose value is not Codable is not remembered, and nothing is written for it")
  func failureWithoutValue() async throws {
    let graph = ProcedureGraph("failing") { g in g.add(step("fail") { () -> Names in throw Problem(text: "broken") }) }
    for _ in 0..<2 {
      await #expect(throws: Problem.self) { try await graph.durable(in: journal, rememberingFailures: true)() }
    }
    #expect(names.take() == ["fail", "fail"])
    #expect(await journal.appendCount == 0)
  }

  @Test("An append that fails makes the run fail with its error, and the earlier entries are used")
  func fullJournal() async throws {
    let full = FullJournal(journal, room: 2)
    await #expect(throws: Problem.self) { try await diamond().maxConcurrentNodes(1).durable(in: full)(1) }
    let executed = names.take().count
    #expect(try await diamond().durable(in: journal)(1) == [7, 2])
    #expect(names.take().count == 5 + 1 - executed)
  }

  @Test("A cancelled node is not remembered, and nodes with the same name are distinguished")
  func cancelled() async throws {
    let isStopping = Atomic(true)
    let graph = ProcedureGraph("loop") { g in
      let nodes = (0..<3).map { number in
        g.add(
          step("same") {
            if number == 2, isStopping.load(ordering: .relaxed) { ProcedureContext.current?.cancel() }
            return number
          })
      }
      return g.add(from: nodes)
    }
    let durable = graph.maxConcurrentNodes(1).durable(in: journal)
    await #expect(throws: (any Error).self) { try await durable() }
    #expect(await journal.appendCount == 2)
    isStopping.store(false, ordering: .relaxed)
    #expect(try await durable() == [0, 1, 2])
    #expect(names.take().count == 4)
  }

  @Test("The error of a node that was cancelled is not remembered as its failure")
  func cancelledFailure() async throws {
    let isStopping = Atomic(true)
    let graph = ProcedureGraph("one") { g in
      g.add(
        step("node") { () -> Int in
          guard isStopping.load(ordering: .relaxed) else { return 7 }
          ProcedureContext.current?.cancel()
          throw Problem(text: "by the cancel")
        })
    }
    let durable = graph.durable(in: journal, rememberingFailures: true)
    await #expect(throws: (any Error).self) { try await durable() }
    isStopping.store(false, ordering: .relaxed)
    #expect(try await durable() == 7)
    #expect(names.take() == ["node", "node"])
  }

  @Test("Values are released as in any graph, whether they were computed or decoded")
  func release() async throws {
    let graph = ProcedureGraph("release") { g in
      let first = g.add("first") { CountedValue() }
      let second = g.add("second", from: first) { _ in CountedValue() }
      return g.add("third", from: first, second) { _, _ in CountedValue.count.load(ordering: .relaxed) }
    }
    let durable = graph.durable(in: journal)
    #expect(try await durable() == 2)
    #expect(CountedValue.count.load(ordering: .relaxed) == 0)
    await journal.remove { $0.path.hasSuffix("third") }
    #expect(try await durable() == 2)
    #expect(CountedValue.count.load(ordering: .relaxed) == 0)
  }

  @Test("An entry that is lost, damaged or of another type is an error, and never another value")
  func damaged() async throws {
    _ = try await diamond().durable(in: journal)(1)
    let key = try #require(await journal.latestKey(at: "diamond/e"))
    await journal.append([1, 2], for: key)
    let error = await #expect(throws: JournalError.self) { try await diamond().durable(in: journal)(1) }
    #expect(error?.kind == .damaged)
    let text = ProcedureGraph("diamond") { (g, input: Node<Int>) in g.add("a", from: input) { "\($0)" } }
    let other = await #expect(throws: JournalError.self) { try await text.durable(in: journal)(1) }
    #expect(other?.kind == .valueNotDecodable)
    #expect("\(try #require(other))".contains("could not be decoded as String"))
  }

  @Test(
    "A value that another run has replaced since the run started is an error, and is never confused with the earlier one"
  )
  func replaced() async throws {
    let graph = ProcedureGraph("replaced") { g in
      let download = g.add("download") { 11 }
      let other = g.add("other") { 1 }
      return g.add("sum", from: download, other) { $0 + $1 }
    }
    _ = try await graph.durable(in: journal)()
    await journal.remove { $0.path != "replaced/download" }
    let key = try #require(await journal.latestKey(at: "replaced/download"))
    let before = try #require(await journal.read(key))
    // Another run, which started earlier, has downloaded 12.
    let swapping = SwappingJournal(journal, key) { before.dropLast() + [0x32] }
    let error = await #expect(throws: JournalError.self) {
      try await graph.maxConcurrentNodes(1).durable(in: swapping)()
    }
    #expect(error?.kind == .entryMissing)
    #expect(
      "\(try #require(error))".contains("a value for replaced/download that has changed since the run started"))
    #expect(await journal.latestKey(at: "replaced/sum") == nil)
  }

  private final class CountedValue: Codable, Sendable {
    static let count = Atomic(0)

    init() { Self.count.add(1, ordering: .relaxed) }

    init(from decoder: any Decoder) throws { Self.count.add(1, ordering: .relaxed) }

    func encode(to encoder: any Encoder) throws { _ = encoder.unkeyedContainer() }

    deinit { Self.count.subtract(1, ordering: .relaxed) }
  }

  @Test("A durable graph without nodes does nothing, every time")
  func empty() async throws {
    let graph = ProcedureGraph<Void, Void>("empty", returning: Void.self) { _ in }.durable(in: journal)
    for _ in 0..<2 { try await ProcedureQueue("q").run(graph) }
    #expect(
      try await ProcedureQueue("q").run(
        ProcedureGraph("input") { (_, x: Node<Int>) in x }.durable(in: journal), input: 3) == 3)
  }
}
