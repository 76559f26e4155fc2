import ProcedureKit
import TestSupport
import Testing

/// What once went wrong, each with the interleaving that showed it.
@Suite(.timeLimit(.atDepth)) struct RegressionTests {
  @Test("Q3: a body whose graph waits for its turn while another of its tasks ends a wait goes on")
  func twoWaitsOfOneBody() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 2)
    let (inFirst, go, release) = (Signal(), Signal(), Signal())
    let other = queue.add(ProcedureTask { await release.wait() })
    let chain = ProcedureGraph("chain") { g in
      let first = g.add(
        ProcedureTask("first") {
          inFirst.set()
          await go.wait()
        })
      g.add(ProcedureTask("second") {}, after: [first])
    }
    let body = queue.add(
      ProcedureTask {
        async let graph: Void = chain.execute(())
        async let value: Void = other.value
        _ = try await (graph, value)
      })
    await inFirst.wait()
    await queue.suspend()
    go.set()
    release.set()
    try await other.value
    await queue.resume()
    try await body.value
    #expect(queue.snapshot().slotsInUse == 0)
  }

  @Test("Q3: a graph that a body has left behind in a task of its own still ends")
  func escapedGraph() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let (inFirst, go) = (Signal(), Signal())
    let chain = ProcedureGraph("chain") { g in
      let first = g.add(
        ProcedureTask {
          inFirst.set()
          await go.wait()
        })
      g.add(ProcedureTask {}, after: [first])
    }
    let escaped = Box<Task<Void, any Error>?>(nil)
    try await queue.add(
      ProcedureTask {
        escaped.update { $0 = Task { try await chain.execute(()) } }
        await inFirst.wait()
      }
    ).value
    go.set()
    try await escaped.value?.value
  }

  @Test("C2, C5: cancelAll ends what run waits for: a turn on a suspended queue, and a condition")
  func cancelAllEndsWaits() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let (inFirst, go, evaluating) = (Signal(), Signal(), Signal())
    let chain = ProcedureGraph("chain") { g in
      let first = g.add(
        ProcedureTask {
          inFirst.set()
          await go.wait()
        })
      g.add(ProcedureTask { Issue.record("started on a suspended queue") }, after: [first])
    }
    let graph = Task { try await queue.run(chain) }
    await inFirst.wait()
    await queue.suspend()
    go.set()
    await queue.cancelAll()
    await #expect(throws: CancellationError.self) { try await graph.value }
    await queue.resume()
    let condition = Task {
      try await queue.run(
        ProcedureTask { Issue.record("executed") }.condition("patient") {
          evaluating.set()
          await untilCancelled()
          return true
        })
    }
    await evaluating.wait()
    await queue.cancelAll(TestError(code: 2))
    await #expect(throws: TestError(code: 2)) { try await condition.value }
    await queue.waitUntilIdle()
  }

  @Test("C2: what a body runs after its queue has cancelled it does not start")
  func nestedRunAfterCancel() async throws {
    let queue = ProcedureQueue("q")
    let (started, go) = (Signal(), Signal())
    let caller = Task {
      try await queue.run(
        ProcedureTask {
          started.set()
          await go.wait()
          _ = try await queue.run(ProcedureTask { Issue.record("started") })
        })
    }
    await started.wait()
    await queue.cancelAll(TestError(code: 3))
    go.set()
    await #expect(throws: TestError(code: 3)) { try await caller.value }
  }

  @Test("Q4: bodies run and add on their own queue while it is shut down")
  func nestedWhileShuttingDown() async throws {
    for _ in 0..<100 {
      let values = try await withProcedureQueue(maxConcurrentProcedures: 2) { queue in
        (0..<4).map { i in
          queue.add(
            ProcedureTask {
              try await queue.run(ProcedureTask { i }) + queue.add(ProcedureTask { 1 }).value
            })
        }
      }
      for (i, handle) in values.enumerated() { #expect(try await handle.value == i + 1) }
    }
  }

  @Test("Q1: a graph under way is not overtaken by what came later")
  func graphKeepsItsPlace() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let order = Box<[String]>([])
    let log = { @Sendable (name: String) in ProcedureTask(name) { order.update { $0.append(name) } } }
    let later = Box<ProcedureHandle<Void>?>(nil)
    let graph = ProcedureGraph("graph") { g in
      let first = g.add(
        ProcedureTask {
          let handle = queue.add(log("later"))
          later.update { $0 = handle }
        })
      g.add(log("node"), after: [first])
      g.add(log("node"), after: [first])
    }
    try await queue.run(graph)
    try await later.value?.value
    #expect(order.value == ["node", "node", "later"])
  }

  @Test("C5, D4: no node of a cancelled graph starts, although the cancel reaches its bodies first")
  func cancelStartsNothing() async throws {
    for _ in 0..<50 {
      let started = [Signal(), Signal()]
      let graph = ProcedureGraph("g") { g in
        for i in 0..<2 {
          let patient = g.add(
            ProcedureTask {
              started[i].set()
              await untilCancelled()
            })
          g.add(ProcedureTask { Issue.record("started after the cancel") }, after: [patient])
        }
      }
      let caller = Task { try await graph.execute() }
      for signal in started { await signal.wait() }
      caller.cancel()
      await #expect(throws: CancellationError.self) { try await caller.value }
    }
  }

  @Test("L2: the events of a queue end when the queue is gone, also while a handle is kept")
  func eventsOfDroppedQueue() async throws {
    var queue: ProcedureQueue? = ProcedureQueue("q")
    let events = try #require(queue?.events)
    let handle = try #require(queue?.add(ProcedureTask { 1 }))
    queue = nil
    var last: String?
    for await event in events { last = event.shortName }
    #expect(last == "didFinish")
    #expect(try await handle.value == 1)
  }

  @Test("Q1: a node whose conditions hold waits its turn: ready nodes of higher priority come first")
  func judgedNodesWaitTheirTurn() async throws {
    let order = Box<[String]>([])
    let log = { @Sendable (name: String, priority: TaskPriority) in
      ProcedureTask(name, priority: priority) { order.update { $0.append(name) } }
    }
    let graph = ProcedureGraph("g") { g in
      let loads = (0..<3).map { i in g.add(log("load \(i)", .low).condition("there") { true }) }
      for (i, load) in loads.enumerated() { g.add(log("write \(i)", .medium), after: [load]) }
    }
    try await ProcedureQueue("q", maxConcurrentProcedures: 1).run(graph)
    let pairs = stride(from: 0, to: 6, by: 2).map { order.value[$0...].prefix(2).map { $0.split(separator: " ")[0] } }
    #expect(pairs == [["load", "write"], ["load", "write"], ["load", "write"]], "\(order.value)")
  }

  @Test("Q4: who waits outside of a queue does not go on while a body waits inside for it to be idle")
  func outsideWaitsForBodiesThatWait() async throws {
    for _ in 0..<100 {
      let queue = ProcedureQueue("q")
      let (started, go, release) = (Signal(), Signal(), Signal())
      let waiting = queue.add(
        ProcedureTask {
          started.set()
          await queue.waitUntilIdle()
          await release.wait()
        })
      let other = queue.add(ProcedureTask { await go.wait() })
      await started.wait()
      let outside = Task {
        await queue.shutDown()
        return waiting.state
      }
      go.set()
      try await other.value
      await Task.yield()
      release.set()
      #expect(await outside.value == .finished)
    }
  }
}

@Suite("Q3: a body that waits keeps no slot, whatever it waits for", .timeLimit(.atDepth))
struct LendingTests {
  @Test("Q3: a body may iterate the events of what it has added to its own queue of width one")
  func events() async throws {
    let queue = ProcedureQueue("narrow", maxConcurrentProcedures: 1)
    let names = try await queue.run(
      ProcedureTask("outer") {
        var kinds: [String] = []
        for await event in queue.add(ProcedureTask("inner") {}).events { kinds.append(event.shortName) }
        return kinds
      })
    #expect(names.first == "didAttach" && names.last == "didFinish")
  }

  @Test("Q3: two queues of width one whose bodies wait for each other's queue do not block each other")
  func twoQueues() async throws {
    let (one, two) = (
      ProcedureQueue("one", maxConcurrentProcedures: 1), ProcedureQueue("two", maxConcurrentProcedures: 1)
    )
    let nested = { @Sendable (outer: ProcedureQueue, inner: ProcedureQueue) in
      ProcedureTask("outer") {
        try await inner.run(ProcedureTask("inner") { try await outer.add(ProcedureTask("innermost") {}).value })
        try await withProcedureQueue { _ in try await inner.add(ProcedureTask("added") {}).value }
      }
    }
    let handles = (0..<20).map { $0 % 2 == 0 ? one.add(nested(one, two)) : two.add(nested(two, one)) }
    for handle in handles { try await handle.value }
  }
}

@Suite("Long lines and chains of what waits for resources", .timeLimit(.atDepth))
struct LongLineTests {
  @Test("R1, Q2: what suspended queues do not keep is passed on, however many wait on however many queues")
  func suspendedWaiters() async throws {
    let table = ResourceTable()
    let queues = (0..<2).map { ProcedureQueue("queue \($0)", resources: table) }
    let release = Signal()
    let started = Signal()
    let holder = ProcedureQueue("holder", resources: table).add(
      ProcedureTask("holder") {
        started.set()
        await release.wait()
      }.exclusive("a"))
    await started.wait()
    let handles = (0..<TestDepth.size(20_000)).map { queues[$0 % 2].add(ProcedureTask("waiter") {}.exclusive("a")) }
    // All of them are in line once the workers have nothing else to do.
    try await eventually { queues.allSatisfy { $0.snapshot().procedures.allSatisfy(\.waitsForResources) } }
    for queue in queues { await queue.suspend() }
    release.set()
    try await holder.value
    for queue in queues { await queue.resume() }
    for handle in handles { try await handle.value }
    #expect(table.count == 0)
  }

  @Test("Q7: the first of a chain of dependencies moves up with the last, however long the chain is")
  func raisedChain() async throws {
    let queue = ProcedureQueue("chain", maxConcurrentProcedures: 1, isSuspended: true)
    let started = Box<[String]>([])
    func task(_ name: String, _ priority: TaskPriority) -> ProcedureTask<Void, Void> {
      ProcedureTask(name, priority: priority) { started.update { $0.append(name) } }
    }
    let other = queue.add(task("other", .medium))
    let length = TestDepth.size(100_000)
    var last = queue.add(task("0", .low))
    for number in 1..<length { last = queue.add(task("\(number)", .low), after: [last]) }
    let urgent = queue.add(task("urgent", .high), after: [last])
    await queue.resume()
    try await urgent.value
    try await other.value
    #expect(started.value.first == "0")
    #expect(started.value.count == length + 2)
  }
}

extension QueueSnapshot.Entry {
  fileprivate var waitsForResources: Bool {
    if case .resources = wait { true } else { false }
  }
}
