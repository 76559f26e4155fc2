import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct GraphTests {
  private static let widths = [1, 2, 5, Int.max]

  @Test("A complete graph does not wait for the slot of a worker that has nothing left to do")
  func spareWorker() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 2)
    let (started, release) = (Signal(), Signal())
    let blocker = queue.add(
      ProcedureTask("blocker") {
        started.set()
        await release.wait()
      })
    await started.wait()
    let graph = ProcedureGraph("wide", returning: Void.self) { g in
      for number in 0..<4 { g.add(ProcedureTask("\(number)") { await Task.yield() }) }
    }
    let handle = queue.add(graph)
    try await eventually { handle.state == .finished }
    #expect(blocker.state == .executing)
    release.set()
    try await blocker.value
  }

  @Test("Any number of typed inputs are passed on, at every width", arguments: widths)
  func typedInputs(width: Int) async throws {
    let graph = ProcedureGraph("g") { (g, x: Node<Int>) in
      let text = g.add(ProcedureTask { (x: Int) in "\(x)" }, from: x)
      let half = g.add(ProcedureTask { (x: Int) in Double(x) / 2 }, from: x)
      let none = g.add(ProcedureTask("constant") { [1, 2, 3] })
      let five = g.add("five", from: x, text, half, none, text) { a, b, c, d, e in "\(a) \(b) \(c) \(d.count) \(e)" }
      return g.add(
        ProcedureTask { (all: String, n: [Int]) in all + " \(n.reduce(0, +))" }, from: five, none, after: [text])
    }
    #expect(try await ProcedureQueue("q", maxConcurrentProcedures: width).run(graph, input: 4) == "4 4 2.0 3 4 6")
    #expect(try await graph.maxConcurrentNodes(1).execute(6) == "6 6 3.0 3 6 6")
  }

  @Test("The values of nodes of one type are collected in order, even if there are none")
  func gather() async throws {
    let graph = ProcedureGraph("g") { g in
      let nodes = (0..<20).map { i in g.add(ProcedureTask { i }) }
      let sum = g.add(ProcedureTask { (all: [Int]) in all.reduce(0, +) }, from: nodes)
      let empty = g.add(ProcedureTask { (all: [Int]) in all.count }, from: [])
      return g.add("both", from: g.add(from: nodes), sum, empty) { all, sum, empty in all + [sum, empty] }
    }
    #expect(try await graph.execute() == Array(0..<20) + [190, 0])
  }

  @Test("`after:` orders nodes that pass no value, and a graph without an output runs all of its nodes")
  func after() async throws {
    let order = Box<[String]>([])
    let graph = ProcedureGraph("g", returning: Void.self) { g in
      let log = { @Sendable (name: String) in ProcedureTask(name) { order.update { $0.append(name) } } }
      let first = g.add(log("first"))
      let second = g.add(log("second"), after: [first])
      g.add(log("third"), after: [first, second])
    }
    try await ProcedureQueue("q").run(graph)
    #expect(order.value == ["first", "second", "third"])
  }

  @Test("Graphs can be nested, run again, and run concurrently")
  func nesting() async throws {
    let inner = ProcedureGraph("inner") { (g, x: Node<Int>) in
      let a = g.add(ProcedureTask { (x: Int) in x + 1 }, from: x)
      let b = g.add(ProcedureTask { (x: Int) in x + 2 }, from: x)
      return g.add("product", from: a, b) { $0 * $1 }
    }
    let outer = ProcedureGraph("outer") { (g, x: Node<Int>) in
      let nodes = (0..<10).map { i in g.add(inner.map { $0 + i }, from: x) }
      return g.add(ProcedureTask { (all: [Int]) in all.reduce(0, +) }, from: nodes)
    }
    for width in Self.widths {
      let queue = ProcedureQueue("q", maxConcurrentProcedures: width)
      let handles = (0..<20).map { queue.add(outer, input: $0) }
      for (x, handle) in handles.enumerated() { #expect(try await handle.value == 10 * (x + 1) * (x + 2) + 45) }
    }
  }

  @Test("A body can execute several graphs concurrently, whose nodes are runs")
  func besideEachOther() async throws {
    let (queue, started) = (ProcedureQueue("q"), (0..<3).map { _ in Signal() })
    let graphs = started.indices.map { number in
      ProcedureGraph("graph \(number)") { g in
        let first = g.add("first") {
          started[number].set()
          for signal in started { await signal.wait() }
          return number
        }
        return g.add(ProcedureTask("second") { (number: Int) in number + 1 }.condition("yes") { true }, from: first)
      }
    }
    let body = ProcedureTask("body") {
      async let first = graphs[0].execute()
      async let second = graphs[1].execute()
      async let third = graphs[2].execute()
      return try await [first, second, third]
    }
    #expect(try await queue.run(body) == [1, 2, 3])
  }

  @Test("map, compactMap, filter and reduce keep the order, and accept an empty array", arguments: widths)
  func collections(width: Int) async throws {
    let graph = ProcedureGraph("g") { (g, numbers: Node<[Int]>) in
      let squares = g.map(numbers, with: ProcedureTask { (x: Int) in x * x }, maxConcurrentElements: 3)
      let even = g.filter(squares, with: ProcedureTask { (x: Int) in x.isMultiple(of: 2) })
      let halves = g.compactMap(even, with: ProcedureTask { (x: Int) in x == 16 ? nil : x / 2 })
      return g.reduce(halves, "") { "\($0) \($1)" }
    }
    let queue = ProcedureQueue("q", maxConcurrentProcedures: width)
    #expect(try await queue.run(graph, input: Array(0..<9)) == " 0 2 18 32")
    #expect(try await queue.run(graph, input: []) == "")
  }

  @Test("map, compactMap and filter accept closures as well as procedures", arguments: widths)
  func collectionFunctions(width: Int) async throws {
    let graph = ProcedureGraph("g") { (g, numbers: Node<[Int]>) in
      let squares = g.map("squares", numbers) { $0 * $0 }
      let even = g.filter(squares) { $0.isMultiple(of: 2) }
      let halves = g.compactMap(even) { $0 == 16 ? nil : $0 / 2 }
      return g.reduce(halves, "") { "\($0) \($1)" }
    }
    #expect(graph.mermaid.matches(of: /\["(squares|filter|compactMap|reduce)"\]/).count == 4)
    let queue = ProcedureQueue("q", maxConcurrentProcedures: width)
    #expect(try await queue.run(graph, input: Array(0..<9)) == " 0 2 18 32")
    #expect(try await queue.run(graph, input: []) == "")
  }

  @Test("The number of closures that execute concurrently reaches the limit, and does not exceed it")
  func limitOfFunctions() async throws {
    try await exploreSchedules(20) { env in
      let (queue, clock) = (env.makeQueue(), env.clock)
      let graph = ProcedureGraph("g") { (g, numbers: Node<[Int]>) in
        let mapped = g.map(numbers, maxConcurrentElements: 2) { number in
          try await clock.sleep(for: .seconds(1))
          return number
        }
        let kept = g.filter(mapped, maxConcurrentElements: 3) { number in
          try await clock.sleep(for: .seconds(10))
          return number > 1
        }
        return g.compactMap(kept, maxConcurrentElements: 5) { number in
          try await clock.sleep(for: .seconds(100))
          return number > 2 ? number : nil
        }
      }
      env.check(try await queue.run(graph, input: Array(1...6)) == [3, 4, 5, 6])
      env.check(clock.now.offset == .seconds(3 + 20 + 100), "\(clock.now.offset)")
      await queue.shutDown()
    }
  }

  @Test("A closure that fails for an element is named with the element's index, and the policy applies to the failure")
  func failingFunctions() async throws {
    func graph(_ policy: FailurePolicy) -> ProcedureGraph<[Int], [Int]> {
      ProcedureGraph("g") { g, numbers in
        let odd = g.map("odd", numbers, onFailure: policy) { number in
          if number.isMultiple(of: 2) { throw TestError(code: number) }
          return number
        }
        return g.filter(odd, onFailure: policy) { number in
          if number == 3 { throw TestError(code: number) }
          return true
        }
      }
    }
    await #expect(throws: TestError(code: 4)) { try await graph(.failFast).execute([1, 4]) }
    do {
      _ = try await graph(.collect).execute(Array(0..<6))
      Issue.record("did not throw")
    } catch let error as ProcedureError {
      #expect(error.kind == .childrenFailed)
      #expect(Set(error.failures.map(\.procedure.name)) == ["odd[0]", "odd[2]", "odd[4]"])
    }
  }

  @Test("A closure for elements does not execute on the actor that builds and runs the graph")
  @MainActor func isolationOfFunctions() async throws {
    let graph = ProcedureGraph("g") { (g, numbers: Node<[Int]>) in
      g.reduce(g.map(numbers) { _ in isOnMainActor() ? 1 : 0 }, 0) { $0 + $1 }
    }
    #expect(try await graph.execute([1, 2, 3]) == 0)
  }

  @Test(
    "The failure of an element is fatal, collected or omitted, depending on the policy; an ignored element is omitted")
  func elementFailures() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 4)
    let odd = ProcedureTask("odd") { (x: Int) in
      if x.isMultiple(of: 2) { throw TestError(code: x) }
      return x
    }
    #expect(try await queue.map(0..<10, with: odd.replacingErrorsWithNil()).compactMap(\.self) == [1, 3, 5, 7, 9])
    let graph = ProcedureGraph("g") { (g, numbers: Node<[Int]>) in
      g.compactMap(numbers, with: odd.replacingErrorsWithNil())
    }
    #expect(try await queue.run(graph, input: Array(0..<10)) == [1, 3, 5, 7, 9])
    await #expect(throws: TestError.self) { try await queue.map(0..<10, with: odd) }
    do {
      _ = try await queue.map(0..<10, with: odd, onFailure: .collect)
      Issue.record("did not throw")
    } catch let error as ProcedureError {
      #expect(error.kind == .childrenFailed)
      #expect(error.failures.compactMap { ($0.error as? TestError)?.code }.sorted() == [0, 2, 4, 6, 8])
      #expect(error.failures.contains { $0.procedure.name == "odd[4]" })
    }
    let gated = odd.condition("closed") { false }
    #expect(try await queue.map(0..<10, with: gated) == [])
  }

  @Test("A limit bounds the number of concurrently executing nodes, regardless of the width of the queue")
  func limit() async throws {
    for (limit, width) in [(3, Int.max), (8, 2), (1, 5)] {
      let running = Box((now: 0, most: 0))
      let graph = ProcedureGraph("g", returning: Void.self) { g in
        for _ in 0..<50 {
          g.add(
            ProcedureTask {
              running.update {
                $0.now += 1
                $0.most = max($0.most, $0.now)
              }
              for _ in 0..<5 { await Task.yield() }
              // The other workers need time to start. If only one node executes at a time, it must not wait for them.
              try await eventually { min(limit, width) == 1 || running.value.most > 1 }
              running.update { $0.now -= 1 }
            })
        }
      }
      try await ProcedureQueue("q", maxConcurrentProcedures: width).run(graph.maxConcurrentNodes(limit))
      #expect(running.value.most <= min(limit, width))
      #expect(min(limit, width) == 1 || running.value.most > 1)
    }
  }

  @Test("The diagram of a graph shows its names, its input and output, and a dotted arrow where a failure is accepted")
  func diagrams() {
    let graph = ProcedureGraph("kitten \"small\"") { (g, path: Node<String>) in
      let photo = g.add(ProcedureTask("load") { (p: String) in p }, from: path)
      let small = g.add(ProcedureTask("resize") { (p: String) in p.count }, from: photo)
      return g.add("re\"port", from: small.catchingErrors()) { (try? $0.get()) ?? 0 }
    }
    #expect(
      graph.mermaid == """
        flowchart TD
          input(["String"])
          n0["load"]
          n1["resize"]
          n2["re#quot;port"]
          output(["Int"])
          input --> n0
          n0 --> n1
          n1 -.-> n2
          n2 --> output
        """)
    #expect(
      graph.dot == """
        digraph "kitten \\"small\\"" {
          input [label="String", shape=ellipse];
          n0 [label="load", shape=box];
          n1 [label="resize", shape=box];
          n2 [label="re\\"port", shape=box];
          output [label="Int", shape=ellipse];
          input -> n0;
          n0 -> n1;
          n1 -> n2 [style=dotted];
          n2 -> output;
        }
        """)
  }

  @Test("A graph can be given constants, and functions of arrays of nodes")
  func constantsAndArrays() async throws {
    let double = ProcedureTask("double") { (number: Int) in number * 2 }
    let graph = ProcedureGraph("sum") { g in
      let numbers = (1...4).map { g.add(double, input: $0) }
      return g.add("sum", from: numbers) { $0.reduce(0, +) }
    }
    #expect(try await ProcedureQueue("q").run(graph) == 20)
    #expect(try await graph.execute() == 20)
  }

  @Test("`after:` accepts one or several nodes, in every function that adds a node", .timeLimit(.minutes(10)))
  func oneOrSeveral() async throws {
    let (first, order) = (Signal(), Box<[String]>([]))
    let log = { @Sendable (name: String) in order.update { $0.append(name) } }
    let graph = ProcedureGraph("g", returning: Void.self) { (g, x: Node<Int>) in
      let gate = g.add("gate") {
        await first.wait()
        log("gate")
      }
      let (none, one) = (ProcedureTask { log("none") }, ProcedureTask { (_: Int) in log("one") })
      let (two, many) = (ProcedureTask { (_: Int, _: Int) in log("two") }, ProcedureTask { (_: [Int]) in log("many") })
      g.add(none, after: gate)
      g.add(none, after: gate.catchingErrors())
      g.add(one, input: 1, after: gate)
      g.add(one, from: x, after: gate)
      g.add(two, from: x, x, after: gate)
      g.add(many, from: [x], after: gate)
      g.add("f0", after: gate) { log("f0") }
      g.add("f1", from: x, after: gate) { _ in log("f1") }
      g.add("f2", from: x, x, after: gate) { _, _ in log("f2") }
      g.add("f3", from: x, x, x, after: gate) { _, _, _ in log("f3") }
      g.add("f4", from: x, x, x, x, after: gate) { _, _, _, _ in log("f4") }
      g.add("array", from: [x], after: gate) { _ in log("array") }
      g.add("several", from: x, after: [gate, x]) { _ in log("several") }
      g.add("beside", from: x) { _ in first.set() }
    }
    try await ProcedureQueue("q").run(graph, input: 1)
    #expect(order.value.first == "gate" && order.value.count == 14, "\(order.value)")
  }

  @Test("A graph without nodes does nothing, and can return its input", .timeLimit(.minutes(10)))
  func empty() async throws {
    let names: [String] = []
    let empty = ProcedureGraph("empty", returning: Void.self) { g in for name in names { g.add(name) {} } }
    let onlyInput = ProcedureGraph<Int, Void>("only input", returning: Void.self) { _, _ in }
    let identity = ProcedureGraph("identity") { (_, x: Node<String>) in x }
    let result = ProcedureGraph("result") { (_, x: Node<String>) in x.catchingErrors() }
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let recorder = EventRecorder(queue)
    try await queue.run(empty)
    try await queue.run(empty.maxConcurrentNodes(1).onFailure(.collect))
    try await queue.run(onlyInput, input: 1)
    #expect(
      try await queue.run(identity, input: "a value of more than fifteen bytes") == "a value of more than fifteen bytes"
    )
    #expect(try await queue.run(result, input: "a").get() == "a")
    try await empty.execute()
    let handle = queue.add(empty.retry(.immediate, maxAttempts: 2).timeout(.seconds(5)))
    var last: Double?
    for await progress in handle.progress { last = progress.fraction }
    #expect(last == 1)
    try await handle.value
    try await queue.run(ProcedureGraph("outer") { g in g.add("after", after: g.add(empty)) {} })
    #expect(empty.nodeCount == 0)
    #expect(empty.mermaid == "flowchart TD")
    #expect(empty.dot == "digraph \"empty\" {\n}")
    let suspended = ProcedureQueue("suspended", isSuspended: true)
    let cancelled = suspended.add(empty)
    cancelled.cancel()
    #expect(await cancelled.outcome.isCancelled)
    await suspended.shutDown()
    await queue.shutDown()
    #expect(recorder.events.orderViolations() == [])
  }
}
