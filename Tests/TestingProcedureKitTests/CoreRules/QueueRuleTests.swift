import TestSupport
import Testing
import TestingProcedureKit

@Suite("Rules Q1 to Q4 and L4 under every order: the queue", .timeLimit(.atDepth))
struct QueueRuleTests {
  @Test("Q1: the number of executing bodies, run or added, does not exceed the width, even while the width changes")
  func widthChanges() async throws {
    try await exploreRace("1 at once", "2 at once", "3 at once", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 2)
      let monitor = ConcurrencyMonitor()
      let bound = Locked(2)
      let body = ProcedureTask {
        monitor.enter()
        env.check(monitor.current <= bound.value, "\(monitor.current) execute where \(bound.value) may")
        await pause(env, upTo: 3)
        monitor.leave()
      }
      let handles = (0..<4).map { _ in queue.add(body) }
      let callers = (0..<2).map { _ in Task(executorPreference: env.executor) { try await queue.run(body) } }
      for _ in 0..<3 {
        await pause(env)
        let width = 1 + env.random.below(3)
        if width > bound.value { bound { $0 = width } }
        queue.setMaxConcurrentProcedures(width)
        // A smaller width applies to later starts. A run with a slot continues, even if its body starts later.
        if queue.snapshot().slotsInUse <= width { bound { $0 = width } }
      }
      for handle in handles { env.check(await handle.outcome.isFinished) }
      for caller in callers { try await caller.value }
      env.tally("\(monitor.most) at once")
      await queue.shutDown()
    }
  }

  @Test("Q1: of the runs that wait for a slot, the highest priority starts first, then the first added")
  func order() async throws {
    try await exploreRace("all waited", "some had started", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let (blocker, started) = (ProbeProcedure("blocker"), Locked<[Int]>([]))
      queue.add(blocker)
      try await blocker.waitUntilStarted()
      async let word: Void = {
        await pause(env, upTo: 12)
        blocker.finish()
      }()
      let urgencies = (0..<4).map { _ in env.random.below(3) }
      for (number, urgency) in urgencies.enumerated() {
        await pause(env, upTo: 2)
        let priority: TaskPriority = [.low, .medium, .high][urgency]
        queue.add(ProcedureTask { started { $0.append(number) } }.priority(priority))
      }
      let allWaited = blocker.waitingCount == 1
      env.tally(allWaited ? "all waited" : "some had started")
      await word
      await queue.waitUntilIdle()
      let expected = urgencies.indices.sorted { (urgencies[$1], $0) < (urgencies[$0], $1) }
      let seen = started.value
      env.check(allWaited ? seen == expected : seen.sorted() == [0, 1, 2, 3], "\(seen), urgencies \(urgencies)")
      await queue.shutDown()
    }
  }

  @Test("Q1: all nodes of a graph that has started start before a procedure that was added later")
  func nodesStartFirst() async throws {
    try await exploreRace("some nodes waited", "no node waited", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let (order, later) = (Locked<[String]>([]), Locked<ProcedureHandle<Void>?>(nil))
      let doesWait = (0..<3).map { _ in env.random.below(2) == 0 }
      let graph = ProcedureGraph("graph", returning: Void.self) { g in
        let first = g.add("first") {
          let handle = queue.add(ProcedureTask { order { $0.append("later") } })
          later { $0 = handle }
        }
        for doesWait in doesWait {
          let node = ProcedureTask("node") {
            order { $0.append("node") }
            guard doesWait else { return }
            // The node holds no slot while it waits (Q3), so another node starts.
            try await queue.run(ProcedureTask { await pause(env, upTo: 2) })
          }
          g.add(node, after: [first])
        }
      }
      try await queue.run(graph)
      try await later.value?.value
      env.check(order.value == ["node", "node", "node", "later"], "\(order.value)")
      env.tally(doesWait.contains(true) ? "some nodes waited" : "no node waited")
      await queue.shutDown()
    }
  }

  @Test("Q1: a node whose conditions are satisfied waits in line behind ready nodes of higher priority")
  func nodesWithConditions() async throws {
    try await exploreSchedules(TestDepth.count(500)) { env in
      let (queue, order) = (env.makeQueue(maxConcurrentProcedures: 1), Locked<[String]>([]))
      let log = { @Sendable (name: String, priority: TaskPriority) in
        ProcedureTask(name, priority: priority) { order { $0.append(name) } }
      }
      let graph = ProcedureGraph("graph", returning: Void.self) { g in
        for load in (0..<3).map({ _ in g.add(log("load", .low).condition("there") { true }) }) {
          g.add(log("write", .medium), after: [load])
        }
      }
      try await queue.run(graph)
      env.check(order.value == ["load", "write", "load", "write", "load", "write"], "\(order.value)")
      await queue.shutDown()
    }
  }

  @Test(
    "Q1: a procedure that a body runs on its own queue, or the first copy of a hedge, starts before one that is waiting",
    arguments: [false, true])
  func nestedStartsFirst(isHedged: Bool) async throws {
    try await exploreSchedules(TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let order = Locked<[String]>([])
      let probe = ProcedureTask {
        queue.add(ProcedureTask { order { $0.append("later") } })
        await pause(env, upTo: 2)
        let nested = ProcedureTask { order { $0.append("nested") } }
        if isHedged { try await nested.hedged(after: .seconds(1))() } else { try await queue.run(nested) }
      }
      try await queue.run(probe)
      await queue.waitUntilIdle()
      env.check(order.value == ["nested", "later"], "\(order.value)")
      await queue.shutDown()
    }
  }

  @Test("C8: a graph that is cancelled while its workers start ends, and its slots become free")
  func cancelledWhileWorkersStart() async throws {
    try await exploreRace("finished", "cancelled", "workers", schedules: TestDepth.count(2_000)) { env in
      let width = 1 + env.random.below(3)
      let queue = env.makeQueue(maxConcurrentProcedures: width)
      let executed = Locked(0)
      let graph = ProcedureGraph("graph", returning: Void.self) { g in
        for _ in 0..<4 {
          g.add("node") {
            executed { $0 += 1 }
            await pause(env, upTo: 1)
          }
        }
      }
      let handle = queue.add(graph.procedureTask)
      await pause(env, upTo: 12)
      handle.cancel()
      let outcome = await handle.outcome
      if (1...3).contains(executed.value) { env.tally("workers") }
      env.tally(outcome.label)
      env.check(!outcome.isFinished || executed.value == 4, "\(outcome), \(executed.value)")
      let probe = ProbeProcedure("takes a slot")
      for _ in 0..<width { queue.add(probe) }
      try await probe.waitUntilStarted(width)
      probe.finishAll()
      await queue.shutDown()
    }
  }

  @Test("Q2: a suspended queue starts nothing, executing runs continue, and after resuming all runs start")
  func suspendAndResume() async throws {
    try await exploreRace("executing", "waiting", "finished", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 2)
      let started = Locked<Set<Int>>([])
      let handles = (0..<4).map { number in
        queue.add(
          ProcedureTask("\(number)") {
            started { _ = $0.insert(number) }
            await pause(env, upTo: 3)
          }.condition("is odd or even") {
            await pause(env, upTo: 1)
            return true
          })
      }
      for _ in 0..<2 {
        await pause(env)
        queue.suspend()
        let states = handles.map(\.state)
        await pause(env)
        for (number, state) in states.enumerated() where [.pending, .evaluating, .waiting].contains(state) {
          env.check(!started.value.contains(number), "\(number) started although suspended when \(state)")
          env.check(handles[number].state <= .waiting)
          env.tally("waiting")
        }
        if states.contains(.executing) { env.tally("executing") }
        if states.contains(.finished) { env.tally("finished") }
        queue.resume()
      }
      for handle in handles { env.check(await handle.outcome.isFinished) }
      await queue.shutDown()
    }
  }

  @Test("Q4: a run is executed if added before a shutdown, and refused if added later")
  func addOrShutDown() async throws {
    try await exploreRace("all", "some", "none", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1 + env.random.below(2))
      let executed = Locked<Set<String>>([])
      let isDown = Locked(false)
      async let adding = {
        var handles: [ProcedureHandle<Void>] = []
        for number in 0..<3 {
          await pause(env, upTo: 3)
          handles.append(
            queue.add(
              ProcedureTask("\(number)") {
                env.check(!isDown.value, "executes after the shutdown")
                await pause(env, upTo: 2)
                executed { _ = $0.insert("\(number)") }
              }))
        }
        return handles
      }()
      await pause(env, upTo: 12)
      await queue.shutDown()
      isDown { $0 = true }
      let executedBefore = executed.value
      for handle in await adding {
        let outcome = await handle.outcome
        let wasExecuted = executedBefore.contains(handle.name)
        env.check(wasExecuted ? outcome.isFinished : outcome.procedureError?.kind == .queueShutDown, "\(outcome)")
      }
      env.tally(executedBefore.count == 3 ? "all" : executedBefore.isEmpty ? "none" : "some")
    }
  }

  @Test("Q4: bodies run and add procedures on their own queue while it shuts down")
  func nestedWhileShuttingDown() async throws {
    try await exploreSchedules(TestDepth.count(1_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 2)
      let handles = (0..<3).map { number in
        queue.add(
          ProcedureTask {
            await pause(env, upTo: 3)
            return try await queue.run(ProcedureTask { number }) + queue.add(ProcedureTask { 1 }).value
          })
      }
      await queue.shutDown()
      for (number, handle) in handles.enumerated() { env.check(try await handle.value == number + 1) }
    }
  }

  @Test("Q4: shutDown waits for a body that itself waits until the queue is idle")
  func shutDownBesideWaitingBody() async throws {
    try await exploreSchedules(TestDepth.count(1_000)) { env in
      let (queue, isWaiting, hasEnded) = (env.makeQueue(), Locked(false), Locked(false))
      queue.add("waits") {
        isWaiting { $0 = true }
        await queue.waitUntilIdle()
        await pause(env, upTo: 4)
        hasEnded { $0 = true }
      }
      queue.add("other") { await pause(env) }
      try await eventually { isWaiting.value }
      await queue.shutDown()
      env.check(hasEnded.value)
    }
  }

  @Test("Q4: waiting for idleness covers all earlier runs, including those added by bodies")
  func waitUntilIdle() async throws {
    try await exploreSchedules(TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let ended = Locked(0)
      let child = ProcedureTask("child") {
        await pause(env, upTo: 2)
        ended { $0 += 1 }
      }
      for _ in 0..<2 {
        queue.add(
          ProcedureTask("parent") {
            queue.add(child)
            await pause(env, upTo: 2)
            ended { $0 += 1 }
          })
      }
      await queue.waitUntilIdle()
      env.check(ended.value == 4, "\(ended.value) of 4 have ended")
    }
  }

  @Test("Q4: dropping the last reference to a queue loses nothing")
  func droppedQueue() async throws {
    try await exploreSchedules(TestDepth.count(2_000)) { env in
      var queue: ProcedureQueue? = env.makeQueue(maxConcurrentProcedures: 1, isSuspended: env.random.below(2) == 0)
      let handles = (0..<3).compactMap { number in
        queue?.add(
          ProcedureTask {
            await pause(env, upTo: 2)
            return number
          })
      }
      await pause(env)
      queue = nil
      for (number, handle) in handles.enumerated() { env.check(try await handle.value == number) }
    }
  }

  @Test("Q3: a queue of width one does not deadlock on itself", arguments: ["run", "value", "graph"])
  func nested(_ way: String) async throws {
    try await exploreRace("finished", "cancelled", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let monitor = ConcurrencyMonitor()
      let leaf = ProcedureTask("leaf") {
        monitor.enter()
        await pause(env, upTo: 2)
        monitor.leave()
        return 1
      }
      let parent = ProcedureTask("parent") {
        switch way {
        case "run": return try await queue.run(leaf) + queue.run(leaf)
        case "value":
          let (first, second) = (queue.add(leaf), queue.add(leaf))
          return try await first.value + second.value
        default:
          let graph = ProcedureGraph { g in
            g.add("sum", from: g.add(leaf), g.add(leaf)) { $0 + $1 }
          }
          return try await queue.run(graph)
        }
      }
      let handles = [queue.add(parent), queue.add(parent)]
      async let cancel: Void = {
        await pause(env, upTo: 20)
        handles[1].cancel()
      }()
      env.check(await handles[0].outcome.isFinished(2))
      let outcome = await handles[1].outcome
      env.check(outcome.isFinished(2) || outcome.isCancelled, "\(outcome)")
      env.tally(outcome.isCancelled ? "cancelled" : "finished")
      await cancel
      await queue.shutDown()
      env.check(monitor.most == 1, "\(monitor.most) leaves executed at once")
    }
  }

  @Test("L4: when the value can be read, the run is finished and its slot is free, for any number of waiters")
  func valueAndFinish() async throws {
    try await exploreRace("before", "after", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let handle = queue.add(
        ProcedureTask {
          await pause(env)
          return 42
        })
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<3 {
          group.addTask {
            await pause(env)
            env.tally(handle.state == .finished ? "after" : "before")
            env.check((try? await handle.value) == 42)
            env.check(handle.state == .finished)
            let steps = await handle.allEvents().steps()
            env.check(steps == [.didAttach, .willExecute, .didExecute, .willFinish, .didFinish], "\(steps)")
          }
        }
      }
      let next = queue.add(ProcedureTask { 43 })
      env.check((try? await next.value) == 43)
      await queue.shutDown()
    }
  }

  @Test("A scope returns only when all runs have finished, and an error cancels the rest first")
  func scope() async throws {
    try await exploreRace("finished", "cancelled", schedules: TestDepth.count(2_000)) { env in
      let running = Locked(0)
      let outcomes = Locked<[ProcedureHandle<Void>]>([])
      await #expect(throws: Reason.self) {
        let configuration = env.adapted(.init("scope", maxConcurrentProcedures: 2))
        try await withProcedureQueue(configuration) { queue in
          for _ in 0..<3 {
            let handle = queue.add(
              ProcedureTask {
                running { $0 += 1 }
                await pause(env, upTo: 2)
                running { $0 -= 1 }
              })
            outcomes { $0.append(handle) }
          }
          await pause(env, upTo: 12)
          throw Reason()
        }
      }
      env.check(running.value == 0)
      for handle in outcomes.value {
        env.check(handle.state == .finished)
        env.tally(await handle.outcome.isFinished ? "finished" : "cancelled")
      }
    }
  }
}
