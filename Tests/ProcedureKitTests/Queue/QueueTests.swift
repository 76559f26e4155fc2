import ProcedureKit
import Testing

@Suite(.timeLimit(.minutes(10))) struct QueueTests {
  @Test("Q1: at most `width` bodies execute at a time, whether they are added or run", arguments: [1, 2, 8])
  func width(_ width: Int) async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: width)
    let running = Box((now: 0, most: 0))
    let task = ProcedureTask {
      running.update {
        $0.now += 1
        $0.most = max($0.most, $0.now)
      }
      await Task.yield()
      running.update { $0.now -= 1 }
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<200 {
        group.addTask { try await queue.run(task) }
        queue.add(task)
      }
      try await group.waitForAll()
    }
    await queue.waitUntilIdle()
    #expect(running.value.most <= width)
    #expect(running.value.now == 0)
    #expect(width == 1 || running.value.most > 1)
  }

  @Test("Q1: runs start in order of priority, highest first, then in order of admission")
  func order() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1, isSuspended: true)
    let order = Box<[String]>([])
    let priorities: [TaskPriority] = [.low, .high, .medium]
    for i in 0..<30 {
      let priority = priorities[i % 3]
      queue.add(
        ProcedureTask("\(priority.rawValue)-\(i)", priority: priority) {
          let name = ProcedureContext.current?.name ?? ""
          order.update { $0.append(name) }
        })
    }
    queue.resume()
    await queue.waitUntilIdle()
    let expected = [TaskPriority.high, .medium, .low].flatMap { priority in
      (0..<30).filter { priorities[$0 % 3] == priority }.map { "\(priority.rawValue)-\($0)" }
    }
    #expect(order.value == expected)
  }

  @Test("Q1: a new width takes effect for the bodies that start next")
  func changingWidth() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let started = (0..<4).map { _ in Signal() }
    let release = Signal()
    let handles = (0..<4).map { i in
      queue.add(
        ProcedureTask {
          started[i].set()
          await release.wait()
        })
    }
    await started[0].wait()
    #expect(handles[1].state == .waiting)
    queue.setMaxConcurrentProcedures(3)
    await started[1].wait()
    await started[2].wait()
    #expect(handles[3].state == .waiting)
    queue.setMaxConcurrentProcedures(1)
    release.set()
    for handle in handles { try await handle.value }
    #expect(queue.maxConcurrentProcedures == 1)
  }

  @Test("Q2: a suspended queue starts no run and no node of an executing graph; executing bodies continue")
  func suspension() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 2)
    let started = Signal()
    let release = Signal()
    let later = Box(false)
    let graph = ProcedureGraph("g", returning: Void.self) { g in
      let first = g.add(
        ProcedureTask("first") {
          started.set()
          await release.wait()
        })
      g.add(ProcedureTask("second") { later.update { $0 = true } }, after: [first])
    }
    var events = queue.events.makeAsyncIterator()
    let handle = queue.add(graph)
    await started.wait()
    queue.suspend()
    let added = queue.add(ProcedureTask {})
    release.set()
    while let event = await events.next(), !(event.name == "first" && event.shortName == "didFinish") {}
    for _ in 0..<50 { await Task.yield() }
    #expect(!later.value)
    #expect(added.state == .waiting)
    queue.resume()
    try await handle.value
    try await added.value
    #expect(later.value)
  }

  @Test("Q3: a queue of width one does not deadlock on procedures that its own bodies run, add, await or build")
  func nestingOnOneSlot() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let other = ProcedureQueue("other", maxConcurrentProcedures: 1)
    let leaf = ProcedureTask("leaf") { (x: Int) in x }
    let graph = ProcedureGraph("g") { (g, x: Node<Int>) in
      let nodes = (0..<5).map { i in
        g.add(ProcedureTask { (x: Int) in try await queue.run(leaf, input: x + i) }, from: x)
      }
      return g.add(ProcedureTask { (all: [Int]) in all.reduce(0, +) }, from: nodes)
    }
    let root = ProcedureTask("root") {
      let run = try await queue.run(leaf, input: 1)
      let added = try await queue.add(leaf, input: 2).value
      let outcome = await queue.add(leaf, input: 3).outcome.value ?? 0
      async let left = queue.run(leaf, input: 4)
      async let right = queue.run(leaf, input: 5)
      let both = try await left + right
      let through = try await other.run(ProcedureTask { try await queue.run(leaf, input: 6) })
      let inGraph = try await queue.run(graph, input: 0)
      let direct = try await graph.execute(0)
      return run + added + outcome + both + through + inGraph + direct
    }
    #expect(try await queue.run(root) == 41)
    #expect(try await queue.add(root).value == 41)
    let handles = (0..<20).map { _ in queue.add(root) }
    for handle in handles { #expect(try await handle.value == 41) }
  }

  @Test("Q3: conditions of an inner layer hold no slot")
  func innerConditionsHoldNoSlot() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let condition = Condition("needs the slot") { try await queue.add(ProcedureTask { true }).value }
    let task = ProcedureTask { 1 }.condition(condition).recover { _ in 2 }
    #expect(try await queue.run(task) == 1)
  }

  @Test("Q4: waitUntilIdle and shutDown cover every procedure that was added before them")
  func idle() async throws {
    for _ in 0..<200 {
      let queue = ProcedureQueue("q", maxConcurrentProcedures: 2)
      let ran = Box(0)
      for _ in 0..<20 { queue.add(ProcedureTask { ran.update { $0 += 1 } }) }
      await queue.waitUntilIdle()
      #expect(ran.value == 20)
      for _ in 0..<20 { queue.add(ProcedureTask { ran.update { $0 += 1 } }) }
      await queue.shutDown()
      #expect(ran.value == 40)
      let refused = queue.add(ProcedureTask("late") {})
      let error = try #require(await refused.outcome.failure as? ProcedureError)
      #expect(error.kind == .queueShutDown)
      #expect("\(error)" == "\(refused.identity) was refused: the queue \"q\" was shut down")
      await #expect(throws: ProcedureError.self) { try await queue.run(ProcedureTask {}) }
    }
  }

  @Test("Q4: one or several bodies can wait until the rest of their own queue is idle")
  func idleFromInside() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let ran = Box(0)
    let waiting = ProcedureTask {
      for _ in 0..<5 { queue.add(ProcedureTask { ran.update { $0 += 1 } }) }
      try await queue.run(ProcedureTask { await queue.waitUntilIdle() })
      return ran.value
    }
    let handles = [queue.add(waiting), queue.add(waiting)]
    for handle in handles { #expect(try await handle.value >= 5) }
  }

  @Test("Q4: releasing the last reference to a queue, suspended or not, does not lose its procedures")
  func droppedQueue() async throws {
    for isSuspended in [false, true] {
      func add() -> [ProcedureHandle<Int>] {
        let queue = ProcedureQueue("q", maxConcurrentProcedures: 1, isSuspended: isSuspended)
        return (0..<10).map { i in queue.add(ProcedureTask { i }) }
      }
      for (i, handle) in add().enumerated() { #expect(try await handle.value == i) }
    }
  }

  @Test("withProcedureQueue returns when everything has finished; an error or a cancellation cancels the rest first")
  func scope() async throws {
    let ran = Box(0)
    let returned = try await withProcedureQueue(maxConcurrentProcedures: 2) { queue in
      for _ in 0..<50 { queue.add(ProcedureTask { ran.update { $0 += 1 } }) }
      return 7
    }
    #expect(returned == 7 && ran.value == 50)
    let cancelled = Box(0)
    await #expect(throws: TestError(code: 1)) {
      try await withProcedureQueue { queue in
        let started = Signal()
        queue.add(
          ProcedureTask {
            started.set()
            await untilCancelled()
            cancelled.update { $0 += 1 }
          })
        await started.wait()
        throw TestError(code: 1)
      }
    }
    #expect(cancelled.value == 1)
    let started = Signal()
    let scope = Task {
      try await withProcedureQueue { queue in
        let first = queue.add(
          ProcedureTask {
            started.set()
            await untilCancelled()
          })
        _ = await first.outcome
        let late = queue.add(ProcedureTask { 1 })
        return await late.outcome.value
      }
    }
    await started.wait()
    scope.cancel()
    #expect(try await scope.value == nil)
  }

  @Test("Q1: a node whose conditions are satisfied waits in line behind ready nodes of higher priority")
  func judgedNodesWaitTheirTurn() async throws {
    let order = Box<[String]>([])
    let log = { @Sendable (name: String, priority: TaskPriority) in
      ProcedureTask(name, priority: priority) { order.update { $0.append(name) } }
    }
    let graph = ProcedureGraph("g", returning: Void.self) { g in
      let loads = (0..<3).map { i in g.add(log("load \(i)", .low).condition("there") { true }) }
      for (i, load) in loads.enumerated() { g.add(log("write \(i)", .medium), after: [load]) }
    }
    try await ProcedureQueue("q", maxConcurrentProcedures: 1).run(graph)
    let pairs = stride(from: 0, to: 6, by: 2).map { order.value[$0...].prefix(2).map { $0.split(separator: " ")[0] } }
    #expect(pairs == [["load", "write"], ["load", "write"], ["load", "write"]], "\(order.value)")
  }
}
