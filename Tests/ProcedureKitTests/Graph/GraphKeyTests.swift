import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

/// A key whose value is a number.
private struct Cell: GraphKey {
  typealias Value = Int
  var name: String

  init(_ name: String) { self.name = name }
  init(_ number: Int) { name = "\(number)" }
}

/// A key with the same content and another value.
private struct Title: GraphKey {
  typealias Value = String
  var number: Int
}

/// Returns a graph that requests the values of some cells in one node each. A cell requests other cells, and its value is one more than
/// their sum.
private func graph(
  of cells: [String], executed: Record<String> = Record(), needs: @escaping @Sendable (String) -> [String]
) -> ProcedureGraph<Void, [Int]> {
  ProcedureGraph("cells") { g in
    g.values(for: Cell.self) { cell, context in
      executed.append(cell.name)
      var sum = 1
      for need in needs(cell.name) { sum += try await context.value(of: Cell(need)) }
      return sum
    }
    let nodes = cells.enumerated().map { index, cell in
      g.add("node \(index)") { try await ProcedureContext.value(of: Cell(cell)) }
    }
    return g.add(from: nodes)
  }
}

/// The ways in which a graph can be run.
private enum GraphWay: CaseIterable {
  case run, add, call, node, retried

  func callAsFunction(_ graph: ProcedureGraph<Void, [Int]>, on queue: ProcedureQueue) async throws -> [Int] {
    switch self {
    case .run: try await queue.run(graph)
    case .add: try await queue.add(graph).value
    case .call: try await graph()
    case .node: try await queue.run(ProcedureGraph("outer") { g in g.add(graph) })
    case .retried: try await queue.run(graph.retry(.immediate, maxAttempts: 2).timeout(.seconds(60)))
    }
  }
}

@Suite("Values that bodies request by key", .timeLimit(.minutes(10))) struct GraphKeyTests {
  private func cycle(_ error: (any Error)?) -> [String]? {
    guard let error = error as? GraphKeyError, error.kind == .cycle else { return nil }
    return error.keys.map(\.name)
  }

  @Test("A value that many bodies request is computed once for each run of the graph", arguments: GraphWay.allCases)
  fileprivate func once(way: GraphWay) async throws {
    let (queue, executed) = (ProcedureQueue("q", maxConcurrentProcedures: 3), Record<String>())
    let graph = graph(of: Array(repeating: "a", count: 20), executed: executed) { $0 == "a" ? ["b", "c", "b"] : [] }
    for run in 1...2 {
      #expect(try await way(graph, on: queue) == Array(repeating: 4, count: 20))
      #expect(executed.values.sorted() == ["a", "b", "c"].flatMap { Array(repeating: $0, count: run) })
    }
  }

  @Test("On a queue of width 1, a chain of 50 requests ends, because a waiting body holds no slot")
  func slotReleased() async throws {
    let (queue, monitor) = (ProcedureQueue("q", maxConcurrentProcedures: 1), ConcurrencyMonitor())
    let graph = ProcedureGraph("chain") { g in
      g.values(for: Cell.self) { cell, context in
        let number = Int(cell.name)!
        let next = number == 50 ? 0 : try await context.value(of: Cell(number + 1))
        return await monitor.during { next + 1 }
      }
      return g.add("first") { try await ProcedureContext.value(of: Cell(1)) }
    }
    #expect(try await queue.run(graph) == 50)
    #expect(monitor.most == 1)
  }

  @Test("Keys of several types have their own procedures, and equal content does not mix them up")
  func types() async throws {
    let graph = ProcedureGraph("types") { (g, number: Node<Int>) in
      g.values(for: Title.self) { title, context in
        "\(title.number): \(try await context.value(of: Cell(title.number)))"
      }
      g.values(for: Cell.self, with: ProcedureTask("cell") { (cell: Cell) in Int(cell.name)! * 2 })
      return g.add("title", from: number) { number in try await ProcedureContext.value(of: Title(number: number)) }
    }
    #expect(try await ProcedureQueue("q").run(graph, input: 4) == "4: 8")
  }

  @Test("The procedure for the keys can have modifiers, which depend on the key")
  func modifiers() async throws {
    let (attempts, monitor) = (Record<String>(), ConcurrencyMonitor())
    let read = ProcedureTask("read") { (cell: Cell) in
      attempts.append(cell.name)
      if attempts.values.count(where: { $0 == cell.name }) < 3 { throw TestError() }
      return await monitor.during { attempts.values.count }
    }
    .retry(.immediate, maxAttempts: 3)
    .configured { _, procedure in procedure.exclusive("disk") }
    let graph = ProcedureGraph("modifiers") { g in
      g.values(for: Cell.self, with: read)
      return g.map(g.add("names") { ["a", "b", "c"] }) { name in try await ProcedureContext.value(of: Cell(name)) }
    }
    #expect(try await ProcedureQueue("q").run(graph).max() == 9)
    #expect(monitor.most == 1)
  }

  @Test("A graph within a body can request the values of the graphs around it, unless it declares the same type")
  func nested() async throws {
    func inner(declares: Bool) -> ProcedureGraph<Void, Int> {
      ProcedureGraph("inner") { g in
        if declares { g.values(for: Cell.self) { _, _ in 100 } }
        return g.add("sum") { try await ProcedureContext.value(of: Cell("a")) }
      }
    }
    let executed = Record<String>()
    let outer = ProcedureGraph("outer") { g in
      g.values(for: Cell.self) { cell, _ in
        executed.append(cell.name)
        return 1
      }
      let numbers = g.map(g.add("elements") { [1, 2] }) { number in
        try await ProcedureContext.value(of: Cell("a")) * number
      }
      return g.add("all", from: g.add(inner(declares: false)), g.add(inner(declares: true)), numbers) { [$0, $1] + $2 }
    }
    #expect(try await ProcedureQueue("q", maxConcurrentProcedures: 1).run(outer) == [1, 100, 1, 2])
    #expect(executed.values == ["a"])
  }

  @Test("Every part of a body can request values, however it is run", arguments: 0..<9)
  func parts(way: Int) async throws {
    let (queue, other, attempts) = (ProcedureQueue("q", maxConcurrentProcedures: 2), ProcedureQueue("other"), Box(0))
    let part = ProcedureTask("part") { try await ProcedureContext.value(of: Cell("a")) }
    let node: ProcedureTask<Void, Int> =
      switch way {
      case 0: part
      case 1: part.timeout(.seconds(60)).map { $0 }
      case 2:
        ProcedureTask("retried") {
          let value = try await ProcedureContext.value(of: Cell("a"))
          if attempts.update({ count in
            count += 1
            return count
          }) < 3 {
            throw TestError()
          }
          return value
        }
        .retry(.immediate, maxAttempts: 3)
      case 3: part.hedged(after: .zero)
      case 4: part.onWillExecute { _ = try await ProcedureContext.value(of: Cell("b")) }
      case 5: ProcedureTask("calls") { try await part.exclusive("x")() }
      case 6: ProcedureTask("runs") { try await other.run(part) }
      case 7: ProcedureTask("produces") { try await ProcedureContext.requireCurrent(for: "").produce(part).value }
      default:
        ProcedureTask("adds") {
          let context = ProcedureContext.requireCurrent(for: "")
          await #expect(throws: GraphKeyError.self) { try await other.add(part).value }
          return try await other.add(ProcedureTask { try await context.value(of: Cell("a")) }).value
        }
      }
    let graph = ProcedureGraph("parts") { g in
      g.values(for: Cell.self) { _, _ in 7 }
      return g.add("list", from: g.add(node), g.add("beside") { 1 }) { [$0, $1] }
    }
    #expect(try await queue.run(graph) == [7, 1])
  }

  // MARK: Cycles

  @Test(
    "A value that needs itself throws an error that lists the path of the keys, to the request that closes the cycle",
    arguments: [["a"], ["a", "b"], ["a", "b", "c"]], [1, Int.max])
  func cycles(keys: [String], width: Int) async throws {
    let next = Dictionary(uniqueKeysWithValues: zip(keys, keys.dropFirst() + keys.prefix(1)))
    let errors = Record<[String]?>()
    let graph = ProcedureGraph("cycle") { g in
      g.values(for: Cell.self) { cell, context in
        do {
          return try await context.value(of: Cell(next[cell.name]!))
        } catch {
          errors.append(cycle(error))
          throw error
        }
      }
      return g.add("first") { try await ProcedureContext.value(of: Cell("a")) }
    }
    let error = await #expect(throws: GraphKeyError.self) {
      try await ProcedureQueue("q", maxConcurrentProcedures: width).run(graph)
    }
    // The last key requests the first one, which closes the cycle. The error then reaches the others through their values.
    let path = [keys[keys.count - 1]] + keys
    #expect(errors.values == keys.map { _ in path })
    let needs = path.dropFirst().map { "\"\($0)\"" }.joined(separator: ", which needs ")
    #expect(error.map { "\($0)" } == "the value of \"\(path[0])\" depends on itself: \"\(path[0])\" needs \(needs)")
  }

  @Test("If several bodies request the values of a cycle at the same time, all of them end, and a path is reported")
  func concurrentCycle() async throws {
    let next = ["a": ["b"], "b": ["c", "d"], "c": ["a"], "d": ["b"]]
    let graph = graph(of: ["a", "b", "c", "d", "a", "b"]) { next[$0]! }.onFailure(.collect)
    for width in [1, 2, Int.max] {
      let error = await #expect(throws: ProcedureError.self) {
        try await ProcedureQueue("q", maxConcurrentProcedures: width).run(graph)
      }
      #expect(error?.failures.count == 6)
      for failure in error?.failures ?? [] {
        let path = try #require(cycle(failure.error))
        #expect(path.first == path.last && path.count > 1)
        #expect(zip(path, path.dropFirst()).allSatisfy { next[$0]!.contains($1) }, "\(path)")
      }
    }
  }

  @Test("The request that closes a cycle can catch the error, and the value is then computed")
  func caughtCycle() async throws {
    let graph = ProcedureGraph("cycle") { g in
      g.values(for: Cell.self) { cell, context in
        if cell.name == "a" { return 1 + (try await context.value(of: Cell("b"))) }
        return (try? await context.value(of: Cell("a"))) ?? 10
      }
      return g.add("first") { try await ProcedureContext.value(of: Cell("a")) }
    }
    #expect(try await ProcedureQueue("q").run(graph) == 11)
  }

  @Test("A cycle through a graph, a child or a nested run within the body of a value is found", arguments: 0..<4)
  func cycleThroughParts(way: Int) async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let part = ProcedureTask("part") { try await ProcedureContext.value(of: Cell("outer")) }
    let graph = ProcedureGraph("cycle") { g in
      g.values(for: Cell.self) { _, context in
        switch way {
        case 0: return try await ProcedureGraph("inner") { g in g.add(part) }()
        case 1: return try await context.produce(part.catchingErrors()).value.get()
        case 2: return try await queue.run(part)
        default:
          let inner = ProcedureGraph("inner") { g in
            g.values(for: Title.self) { _, context in "\(try await context.value(of: Cell("outer")))" }
            return g.add("title") { try await ProcedureContext.value(of: Title(number: 1)).count }
          }
          return try await inner()
        }
      }
      return g.add("first") { try await ProcedureContext.value(of: Cell("outer")) }
    }
    let error = await #expect(throws: GraphKeyError.self) { try await queue.run(graph) }
    let names = way == 3 ? ["Title(number: 1)", "outer", "Title(number: 1)"] : ["outer", "outer"]
    #expect(cycle(error) == names)
  }

  @Test("A request that waits for its own value through the handle of another run fails as a deadlock")
  func cycleThroughHandle() async throws {
    let queue = ProcedureQueue("q")
    let graph = ProcedureGraph("cycle") { g in
      g.values(for: Cell.self) { _, context in
        // The added procedure is not part of the body, but requests the value on behalf of the body.
        try await queue.add(ProcedureTask("added") { try await context.value(of: Cell("a")) }).value
      }
      return g.add("first") { try await ProcedureContext.value(of: Cell("a")) }
    }
    let error = await #expect(throws: GraphKeyError.self) { try await queue.run(graph) }
    #expect(cycle(error) == ["a", "a"])
  }

  @Test("A computation that waits for a resource that its requester holds is a deadlock, and fails")
  func resources() async throws {
    let graph = ProcedureGraph("claims") { g in
      g.values(for: Cell.self, with: ProcedureTask("cell") { (_: Cell) in 1 }.exclusive("file"))
      return g.add(ProcedureTask("holder") { try await ProcedureContext.value(of: Cell("a")) }.exclusive("file"))
    }
    let error = await #expect(throws: ProcedureError.self) { try await ProcedureQueue("q").run(graph) }
    #expect(error?.kind == .exclusionDeadlock)
  }

  @Test("A key that no graph declares, and a request outside of any procedure, throw an error that names the key")
  func undeclared() async throws {
    let graph = ProcedureGraph("bare") { g in
      g.values(for: Title.self) { _, _ in "" }
      return g.add("first") { try await ProcedureContext.value(of: Cell("a")) }
    }
    for request in [{ _ = try await graph() }, { _ = try await ProcedureContext.value(of: Cell("a")) }] {
      let error = await #expect(throws: GraphKeyError.self) { try await request() }
      #expect(error?.kind == .undeclared)
      #expect(
        error.map { "\($0)" } == "\"a\" was requested, but no enclosing graph declares values for \"Cell\"")
    }
  }

  // MARK: Failures and cancellation

  @Test("Every request, even a later one, throws the failure, and each body can catch it", arguments: [1, 3, Int.max])
  func failure(width: Int) async throws {
    let executed = Record<String>()
    let graph = ProcedureGraph("failure") { g in
      g.values(for: Cell.self) { cell, context in
        executed.append(cell.name)
        if cell.name == "broken" { throw TestError(code: 7) }
        return try await context.value(of: Cell("broken"))
      }
      let nodes = (0..<6).map { number in
        g.add("node \(number)") { () -> Int? in
          await #expect(throws: TestError(code: 7)) {
            try await ProcedureContext.value(of: Cell(number.isMultiple(of: 2) ? "broken" : "outer"))
          }
          return number
        }
      }
      let late = g.add("late", from: g.add(from: nodes)) { (_: [Int?]) -> Int? in
        try? await ProcedureContext.value(of: Cell("broken"))
      }
      return g.add(from: nodes + [late])
    }
    let values = try await ProcedureQueue("q", maxConcurrentProcedures: width).run(graph)
    #expect(values == [0, 1, 2, 3, 4, 5, nil])
    #expect(executed.values.sorted() == ["broken", "outer"])
  }

  @Test("The cancellation of one request does not cancel a computation for which another body waits")
  func cancelOne() async throws {
    let (queue, started, go) = (ProcedureQueue("q"), Signal(), Signal())
    let (first, executed) = (Box<ProcedureContext?>(nil), Record<String>())
    let graph = ProcedureGraph("cancel") { g in
      g.values(for: Cell.self) { cell, context in
        executed.append(cell.name)
        started.set()
        await go.wait()
        return context.isCancelled ? -1 : 1
      }
      let cancelled = g.add(
        ProcedureTask("cancelled") {
          first.update { $0 = ProcedureContext.current }
          _ = try await ProcedureContext.value(of: Cell("a"))
        }.catchingErrors())
      let other = g.add("other") { try await ProcedureContext.value(of: Cell("a")) }
      return g.add("both", from: cancelled.catchingErrors(), other) { $1 }
    }
    let handle = queue.add(graph)
    await started.wait()
    try await eventually { queue.snapshot().procedures.count { $0.wait?.isForValue ?? false } == 2 }
    first.value?.cancel()
    try await eventually { queue.snapshot().procedures.count { $0.wait?.isForValue ?? false } == 1 }
    go.set()
    #expect(try await handle.value == 1)
    #expect(executed.values == ["a"])
  }

  @Test("When no request is left, the computation is cancelled, and a later request starts it after the earlier one")
  func cancelAll() async throws {
    let (queue, started, executed) = (ProcedureQueue("q"), Signal(), Record<String>())
    let graph = ProcedureGraph("cancel") { g in
      g.values(for: Cell.self) { _, context in
        executed.append("begin")
        defer { executed.append("end") }
        guard executed.values.count == 1 else { return 2 }
        started.set()
        await untilCancelled()
        return 1
      }
      return g.add("first") {
        let request = Task { try await ProcedureContext.value(of: Cell("a")) }
        await started.wait()
        request.cancel()
        await #expect(throws: CancellationError.self) { try await request.value }
        return try await ProcedureContext.value(of: Cell("a"))
      }
    }
    #expect(try await queue.run(graph) == 2)
    #expect(executed.values == ["begin", "end", "begin", "end"])
  }

  @Test("A cancelled graph cancels all computations, and ends after them", arguments: 0..<3)
  func cancelGraph(way: Int) async throws {
    let (queue, ended) = (ProcedureQueue("q"), Record<String>())
    let started = ["a", "b", "c"].map { _ in Signal() }
    let graph = ProcedureGraph("cancelled") { g in
      g.values(for: Cell.self) { cell, context in
        started[["a", "b", "c"].firstIndex(of: cell.name)!].set()
        defer { ended.append(cell.name) }
        if cell.name == "a" { return try await context.value(of: Cell("b")) }
        await untilCancelled()
        return 1
      }
      let requests = ["a", "c"].map { name in g.add(name) { try await ProcedureContext.value(of: Cell(name)) } }
      g.add("failure") {
        for signal in started { await signal.wait() }
        if way == 0 { throw TestError(code: 1) }
      }
      return g.add(from: requests)
    }
    let handle = queue.add(graph)
    for signal in started { await signal.wait() }
    switch way {
    case 0: break
    case 1: handle.cancel(TestError(code: 1))
    default: queue.cancelAll(TestError(code: 1))
    }
    await #expect(throws: TestError(code: 1)) { try await handle.value }
    #expect(ended.values.sorted() == ["a", "b", "c"])
  }

  @Test("A cancelled body starts no computation, but can use a value that exists")
  func cancelledBody() async throws {
    let executed = Record<String>()
    let graph = ProcedureGraph("cancelled") { g in
      g.values(for: Cell.self) { cell, _ in
        executed.append(cell.name)
        return 1
      }
      return g.add("first") {
        _ = try await ProcedureContext.value(of: Cell("a"))
        ProcedureContext.current?.cancel(TestError(code: 2))
        #expect(try await ProcedureContext.value(of: Cell("a")) == 1)
        await #expect(throws: TestError(code: 2)) { try await ProcedureContext.value(of: Cell("b")) }
      }
    }
    await #expect(throws: TestError(code: 2)) { try await ProcedureQueue("q").run(graph) }
    #expect(executed.values == ["a"])
  }

  @Test("A task that outlives the graph gets an error, not a value")
  func late() async throws {
    let escaped = Box<ProcedureContext?>(nil)
    let graph = ProcedureGraph("left", returning: Void.self) { g in
      g.values(for: Cell.self) { _, _ in 1 }
      g.add("first") { escaped.update { $0 = ProcedureContext.current } }
    }
    try await ProcedureQueue("q").run(graph)
    let context = try #require(escaped.value)
    await #expect(throws: GraphKeyError.self) { try await context.value(of: Cell("a")) }
  }

  @Test("A value is released when the graph has ended")
  func released() async throws {
    struct Key: GraphKey {
      typealias Value = Tracked
      var number: Int
    }
    let (live, queue) = (Box(0), ProcedureQueue("q"))
    let graph = ProcedureGraph("values", returning: Void.self) { g in
      g.values(for: Key.self) { key, context in
        if key.number > 0 { _ = try await context.value(of: Key(number: key.number - 1)) }
        return Tracked(live)
      }
      g.add("first") {
        _ = try await ProcedureContext.value(of: Key(number: 3))
        #expect(live.value == 4)
      }
    }
    try await queue.run(graph)
    try await eventually { live.value == 0 }
    try await queue.add(graph).value
    await queue.shutDown()
    try await eventually { live.value == 0 }
  }

  @Test("A chain of 10,000 requests ends, as does a cycle of 10,000 keys")
  func scale() async throws {
    let count = TestDepth.size(10_000)
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 2)
    #expect(try await queue.run(graph(of: ["0"]) { $0 == "\(count)" ? [] : ["\(Int($0)! + 1)"] }) == [count + 1])
    let cycle = graph(of: ["0"]) { $0 == "\(count)" ? ["0"] : ["\(Int($0)! + 1)"] }
    let error = await #expect(throws: GraphKeyError.self) { try await queue.run(cycle) }
    #expect(error?.keys.count == count + 2)
  }

  // MARK: The queue

  @Test("On a suspended queue, a request waits, and receives its value when the queue is resumed")
  func suspended() async throws {
    let queue = ProcedureQueue("q")
    let executed = Record<String>()
    let graph = ProcedureGraph("suspended") { g in
      g.values(for: Cell.self) { cell, _ in
        executed.append(cell.name)
        return 1
      }
      return g.add("first") {
        queue.suspend()
        return try await ProcedureContext.value(of: Cell("a"))
      }
    }
    let handle = queue.add(graph)
    try await eventually { queue.snapshot().procedures.contains { $0.procedure.name == "a" && $0.state == .waiting } }
    #expect(executed.values == [] && handle.state != .finished)
    queue.resume()
    #expect(try await handle.value == 1)
  }

  @Test("Events report each request, and that the values are children of the graph")
  func events() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let recorder = EventRecorder(queue)
    let handle = queue.add(graph(of: ["a", "a"]) { $0 == "a" ? ["b"] : [] })
    _ = try await handle.value
    await queue.shutDown()
    try await recorder.waitUntilEnded()
    let events = recorder.events
    let requests = events.compactMap { event in
      if case .didRequest(let run) = event.step { "\(event.name) \(run.name)" } else { nil }
    }
    #expect(requests.sorted() == ["a b", "node 0 a", "node 1 a"])
    for name in ["a", "b"] {
      let attached = events.filter { $0.name == name && $0.kind == .didAttach }
      #expect(attached.map(\.parent) == [handle.id] && attached.map(\.graph) == [nil])
    }
    let waits = events.filter { $0.name == "a" }.compactMap(\.awaited?.name)
    #expect(waits == ["b"])
  }

  @Test("Progress counts the values, and snapshots show which value a body waits for")
  func progress() async throws {
    let queue = ProcedureQueue("q")
    let steps = (0..<3).map { _ in Signal() }
    let graph = ProcedureGraph("progress") { g in
      g.values(for: Cell.self) { _, _ in
        await steps[0].wait()
        return 1
      }
      let first = g.add("first") {
        let value = try await ProcedureContext.value(of: Cell("a"))
        await steps[1].wait()
        return value
      }
      return g.add("second", from: first) { number in
        await steps[2].wait()
        return number
      }
    }
    let handle = queue.add(graph)
    let reader = Task { [progress = handle.progress] in for await _ in progress {} }
    try await eventually { queue.snapshot().procedures.contains { $0.wait?.isForValue ?? false } }
    // The graph has two nodes and a value, which end one after the other.
    for (step, percent) in zip(steps, [0, 33, 66]) {
      try await eventually {
        let entry = queue.snapshot().procedures.first { $0.procedure.name == "progress" }
        return Int((entry?.progress ?? 0) * 100) == percent
      }
      step.set()
    }
    #expect(try await handle.value == 1)
    await reader.value
  }
}

extension QueueSnapshot.Wait {
  /// Whether a body waits for the value of the cell `a`.
  fileprivate var isForValue: Bool {
    if case .procedures(let procedures) = self { procedures.contains { $0.name == "a" } } else { false }
  }
}
