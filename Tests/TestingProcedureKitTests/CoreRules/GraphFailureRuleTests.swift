import ProcedureKit
import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

@Suite("Rules D1, D3, D4, C8: nodes that fail, are ignored or are cancelled", .timeLimit(.atDepth))
struct GraphFailureRuleTests {
  @Test("D4: a failure that all dependents accept as a result does not fail the graph")
  func acceptedFailure() async throws {
    for policy in [FailurePolicy.failFast, .collect] {
      let graph = ProcedureGraph("g") { g in
        let risky = g.add(ProcedureTask<Void, Int>("risky") { throw TestError(code: 1) })
        let dependent = g.add(ProcedureTask("dependent") { (x: Int) in x }, from: risky)
        let cached = g.add("cached", from: risky.catchingErrors()) { (try? $0.get()) ?? 10 }
        return g.add("sum", from: cached, dependent.catchingErrors()) { cached, dependent in
          if case .failure(let error as ProcedureError) = dependent, error.kind == .dependencyFailed {
            cached + 1
          } else {
            0
          }
        }
      }
      #expect(try await graph.onFailure(policy).execute() == 11)
    }
    let output = ProcedureGraph("g") { g in
      g.add(ProcedureTask<Void, Int> { throw TestError(code: 2) }).catchingErrors()
    }
    guard case .failure(let error) = try await output.execute() else {
      Issue.record("not a failure")
      return
    }
    #expect(error as? TestError == TestError(code: 2))
  }

  @Test("D1: dependents of an ignored node are ignored, and so is the graph if its output depends on the node")
  func ignored() async throws {
    let ran = Box(0)
    let side = ProcedureGraph("side") { g in
      let gate = g.add(ProcedureTask("gate") {}.condition("closed") { false })
      g.add(ProcedureTask { ran.update { $0 += 1 } }, after: [gate])
      return g.add(ProcedureTask { 5 })
    }
    #expect(try await side.execute() == 5)
    #expect(ran.value == 0)
    let output = ProcedureGraph("output") { g in
      g.add(ProcedureTask { (x: Int) in x }, from: g.add(ProcedureTask { 1 }.condition("closed") { false }))
    }
    guard case .ignored(by: "closed") = await ProcedureQueue("q").add(output).outcome else {
      Issue.record("not ignored")
      return
    }
  }

  @Test("D4: in random graphs with random failures, every node ends once, and at most `width` nodes execute at a time")
  func randomGraphs() async throws {
    for seed in 0..<TestDepth.count(1_000) {
      var random = SeededGenerator(seed: UInt64(seed))
      let count = Int.random(in: 1...30, using: &random)
      let width = [1, 2, 3, Int.max].randomElement(using: &random) ?? 1
      let state = Box((running: 0, most: 0, ran: 0))
      let failing = Set(
        (0..<Int.random(in: 0...2, using: &random)).map { _ in Int.random(in: 0..<count, using: &random) })
      let yields = Bool.random(using: &random)
      let graph = ProcedureGraph("g", returning: Void.self) { g in
        var nodes: [Node<Int>] = []
        for i in 0..<count {
          let inputs = nodes.filter { _ in Int.random(in: 0..<4, using: &random) == 0 }
          nodes.append(
            g.add(
              ProcedureTask("n\(i)") { (values: [Int]) in
                state.update {
                  $0.running += 1
                  $0.ran += 1
                  $0.most = max($0.most, $0.running)
                }
                if yields { await Task.yield() }
                state.update { $0.running -= 1 }
                if failing.contains(i) { throw TestError(code: i) }
                return values.reduce(1, +)
              }, from: inputs))
        }
      }
      let policy = Bool.random(using: &random) ? FailurePolicy.failFast : .collect
      let queue = ProcedureQueue("q", maxConcurrentProcedures: width)
      let outcome = await queue.add(graph.onFailure(policy)).outcome
      let message: Comment = "seed \(seed)"
      #expect((outcome.error != nil) == !failing.isEmpty, message)
      #expect(state.value.running == 0 && state.value.most <= width, message)
      if failing.isEmpty { #expect(state.value.ran == count, message) }
      #expect(try await queue.run(ProcedureTask { 1 }) == 1, message)
    }
  }

  @Test("C8, D4: a cancelled graph starts no further node, even if its executing bodies are cancelled first")
  func cancelStartsNothing() async throws {
    for _ in 0..<50 {
      let started = [Signal(), Signal()]
      let graph = ProcedureGraph("g", returning: Void.self) { g in
        for i in 0..<2 {
          let patient = g.add(
            ProcedureTask {
              started[i].set()
              await untilCancelled()
            })
          g.add(ProcedureTask { Issue.record("started after the cancellation") }, after: [patient])
        }
      }
      let caller = Task { try await graph.execute() }
      for signal in started { await signal.wait() }
      caller.cancel()
      await #expect(throws: CancellationError.self) { try await caller.value }
    }
  }

  @Test("C8: if a node fails because its graph is being cancelled, its dependents end as cancelled, and not as failed")
  func dependentsOfCancelledNode() async throws {
    let (queue, closed) = (ProcedureQueue("q", executor: InlineExecutor()), ProcedureQueue("closed", isSuspended: true))
    let recorder = EventRecorder(queue)
    let opening = closed.add(ProcedureTask("opening") {})
    let awaited = queue.add(ProcedureTask("awaited") {}, after: opening)
    let graph = ProcedureGraph("g", returning: Void.self) { g in
      let waiting = g.add("waiting") { try await awaited.value }
      g.add("dependent", after: [waiting]) {}
    }
    let handle = queue.add(graph)
    try await eventually { queue.snapshot().procedures.contains { $0.wait == .procedures([awaited.identity]) } }
    // The awaited procedure ends first. Its end resumes the node immediately, before the cancellation has reached the graph.
    queue.cancelAll(TestError(code: 1))
    await #expect(throws: TestError(code: 1)) { try await handle.value }
    await queue.shutDown()
    try await recorder.waitUntilEnded()
    let ends = recorder.events.filter { $0.kind == .didFinish && $0.graph != nil }
    #expect(ends.map(\.name) == ["waiting", "dependent"])
    #expect(ends.allSatisfy { $0.outcome?.isCancelled == true }, "\(ends)")
    opening.cancel()
  }

  @Test("D4: a handler that a node of a clean-up graph registers after another node has failed is called immediately")
  func lateHandler() async throws {
    let (started, isCalled) = (Signal(), Box(false))
    let graph = ProcedureGraph("clean-up", returning: Void.self) { g in
      g.add("bad") {
        await started.wait()
        throw TestError()
      }
      g.add("late") {
        started.set()
        try await eventually { ProcedureContext.current?.isCancelled == true }
        await ProcedureContext.withCancellationHandler {
        } onCancel: {
          isCalled.update { $0 = true }
        }
      }
    }
    let body = ProcedureQueue("q").add(
      ProcedureTask("body") {
        await untilCancelled()
        await #expect(throws: TestError()) { try await graph() }
      })
    try await eventually { body.state == .executing }
    body.cancel()
    #expect(await body.outcome.isCancelled)
    #expect(isCalled.value)
  }

  @Test("C8: a cancelled map starts no further element")
  func cancelledMap() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let started = Signal()
    let count = Atomic(0)
    let element = ProcedureTask("element") { (_: Int) in
      if count.add(1, ordering: .relaxed).newValue == 1 {
        started.set()
        await untilCancelled()
      }
    }
    let handle = queue.add(ProcedureTask("job") { _ = try await queue.map(Array(0..<1_000), with: element) })
    await started.wait()
    handle.cancel()
    #expect(await handle.outcome.isCancelled)
    #expect(count.load(ordering: .relaxed) == 1)
    // A cancellation also applies to elements that are not known yet.
    let early = queue.add(
      ProcedureTask("early") {
        ProcedureContext.current?.cancel()
        _ = try? await queue.map(Array(0..<1_000), with: element)
      })
    #expect(await early.outcome.isCancelled)
    #expect(count.load(ordering: .relaxed) == 1)
  }

  @Test("D3: a graph releases a value when its last consumer takes it or is skipped")
  func valuesOfGraphs() async throws {
    let live = Box(0)
    let seen = Box<[Int]>([])
    let graph = ProcedureGraph("g", returning: Void.self) { g in
      let big = g.add(ProcedureTask("big") { Tracked(live) })
      let unused = g.add(ProcedureTask("unused") { Tracked(live) })
      let first = g.add(ProcedureTask("first") { (_: Tracked) in }, from: big, after: [unused])
      let failing = g.add(ProcedureTask<Void, Int>("failing") { throw TestError() }, after: [first])
      g.add("skipped", from: big, failing) { _, _ in }
      g.add(ProcedureTask("look") { seen.update { $0.append(live.value) } }, after: [failing.catchingErrors()])
    }
    _ = try? await graph.maxConcurrentNodes(1).onFailure(.collect).execute()
    #expect(seen.value == [0])
    #expect(live.value == 0)
  }
}
