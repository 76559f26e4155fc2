import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.atDepth)) struct EventTests {
  private static let complete = ["didAttach", "willExecute", "didExecute", "willFinish", "didFinish"]

  private func names(_ events: AsyncStream<ProcedureEvent>) async -> [String] {
    await events.reduce(into: []) { $0.append($1.shortName) }
  }

  /// Returns the outcome of each run, by its name.
  private func ends(_ events: AsyncStream<ProcedureEvent>) async -> [String: ProcedureOutcome<Void>] {
    await events.reduce(into: [:]) { ends, event in
      if event.kind == .didFinish { ends[event.name] = event.outcome }
    }
  }

  private func failing(after signal: Signal) -> ProcedureTask<Void, Int> {
    ProcedureTask("bad") {
      await signal.wait()
      throw TestError()
    }
  }

  @Test(
    "L2: the events of a run are totally ordered, with ID, name and instants; a late subscriber receives all of them")
  func replay() async throws {
    let queue = ProcedureQueue("q")
    let handle = queue.add(ProcedureTask("p") {})
    let early = handle.events
    try await handle.value
    let late = handle.events
    for stream in [early, late, handle.events] {
      let events = await stream.reduce(into: [ProcedureEvent]()) { $0.append($1) }
      #expect(events.map(\.shortName) == Self.complete)
      #expect(events.allSatisfy { $0.id == handle.id && $0.name == "p" })
      #expect(events.map(\.instant) == events.map(\.instant).sorted())
    }
  }

  @Test("L2: a subscriber that arrives during the end hooks receives the end of the body")
  func replayAtTheEnd() async throws {
    let (ends, gate) = (Signal(), Signal())
    let handle = ProcedureQueue("q").add(
      ProcedureTask {}.onWillFinish { _ in
        ends.set()
        await gate.wait()
      })
    await ends.wait()
    let events = handle.events
    gate.set()
    #expect(await names(events) == Self.complete)
    #expect(await names(handle.events) == Self.complete)
  }

  @Test("L2: work that outlives the body adds no event to the run, either before didFinish or after it")
  func lateReports() async throws {
    let queue = ProcedureQueue("q")
    let watched = queue.events
    let (go, late) = (Signal(), Box<Task<Void, Never>?>(nil))
    let handle = queue.add(
      ProcedureTask {
        let task = Task {
          await go.wait()
          let failing = ProcedureTask<Void, Void>("late") { throw TestError() }
          _ = try? await failing.retry(.immediate, maxAttempts: 2).execute()
        }
        late.update { $0 = task }
      }.onDidFinish { _ in
        go.set()
        await late.value?.value
      })
    try await handle.value
    await late.value?.value
    #expect(await names(handle.events) == Self.complete)
    await queue.shutDown()
    #expect(await names(watched) == Self.complete)
  }

  @Test("L2: a refused run has no didAttach, regardless of what it would have waited for")
  func refused() async throws {
    let queue = ProcedureQueue("q")
    await queue.shutDown()
    for task in [ProcedureTask {}, ProcedureTask {}.condition("c") { true }, ProcedureTask {}.onWillFinish { _ in }] {
      let handle = queue.add(task)
      await #expect(throws: ProcedureError.self) { try await handle.value }
      #expect(await names(handle.events) == ["willFinish", "didFinish"])
    }
  }

  @Test("L2: the events of a queue do not include refused runs, however they were added")
  func refusedOnQueue() async throws {
    var configuration = ProcedureQueue.Configuration("q", maxConcurrentProcedures: 1, isSuspended: true)
    configuration.maxWaitingProcedures = 1
    configuration.collectsTotals = true
    let queue = ProcedureQueue(configuration)
    let recorder = EventRecorder(queue)
    let names = ["full", "deadline", "hook"]
    let fits = queue.add(ProcedureTask("fits") {})
    _ = await queue.add(ProcedureTask("full") {}).outcome
    #expect(throws: ProcedureError.self) { try queue.tryAdd(ProcedureTask("full") {}) }
    let late = ProcedureTask("late") {}.deadline(ContinuousClock.now)
    _ = await queue.add(late).outcome
    queue.resume()
    try await fits.value
    try await queue.run(ProcedureTask("plain") {})
    try await queue.run(ProcedureTask("child") {}.condition("c") { true })
    _ = try? await queue.run(late)
    _ = try? await queue.run(ProcedureGraph("graph") { g in g.add(late) })
    await queue.shutDown()
    for task in [ProcedureTask("full") {}, ProcedureTask("hook") {}.onWillFinish { _ in }] {
      _ = await queue.add(task).outcome
      _ = try? await queue.run(task)
    }
    try await recorder.waitUntilEnded()
    let events = recorder.events
    #expect(events.orderViolations() == [])
    #expect(events.allSatisfy { !names.contains($0.name) }, "\(names)")
    // A run whose deadline has passed was admitted, and ends at once.
    let (attached, ended) = (ProcedureEvent.Kind.didAttach, ProcedureEvent.Kind.didFinish)
    #expect(events.filter { $0.name == "late" && $0.kind == attached }.count == 3)
    let present = Set(events.filter { $0.kind == ended }.map(\.name))
    #expect(present == ["fits", "plain", "child", "graph", "late"])
  }

  @Test("L1: states only move forward, in agreement with the events")
  func states() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let releases = [Signal(), Signal(), Signal()]
    let reached = [Signal(), Signal()]
    let dependency = queue.add(ProcedureTask { await releases[0].wait() })
    let handle = queue.add(
      ProcedureTask {
        reached[1].set()
        await releases[2].wait()
      }.condition("c") {
        reached[0].set()
        await releases[1].wait()
        return true
      }, after: [dependency])
    var states = [handle.state]
    releases[0].set()
    await reached[0].wait()
    states.append(handle.state)
    let slot = Signal()
    let blocker = queue.add(
      ProcedureTask("blocker") {
        slot.set()
        await untilCancelled()
      })
    await slot.wait()
    releases[1].set()
    try await eventually { handle.state == .waiting }
    states.append(handle.state)
    blocker.cancel()
    await reached[1].wait()
    states.append(handle.state)
    releases[2].set()
    try await handle.value
    states.append(handle.state)
    #expect(states == [.pending, .evaluating, .waiting, .executing, .finished])
  }

  @Test("L1: each of very many added procedures finishes exactly once")
  func million() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 4)
    let finished = Box(0)
    let count = TestDepth.isAtLeastGate ? TestDepth.load(1_000_000) : 20_000
    for _ in 0..<count { queue.add(ProcedureTask { finished.update { $0 += 1 } }) }
    await queue.waitUntilIdle()
    #expect(finished.value == count)
  }

  @Test(
    "L2: a queue publishes the events of all its procedures, nodes included, until it is shut down")
  func queueEvents() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 2)
    let events = queue.events
    let graph = ProcedureGraph("graph") { g in
      let a = g.add(ProcedureTask("a") { 1 })
      let b = g.add(ProcedureTask("b") { 2 })
      let bad = g.add(ProcedureTask<Void, Int>("bad") { throw TestError() })
      g.add(ProcedureTask("skipped") { (_: Int) in }, from: bad)
      return g.add("sum", from: a, b) { a, b in a + b }
    }
    _ = try? await queue.run(graph.onFailure(.collect))
    try await queue.run(ProcedureTask("run") {})
    try await queue.add(ProcedureTask("add") {}).value
    await queue.shutDown()
    var byRun: [ProcedureID: [ProcedureEvent]] = [:]
    for await event in events { byRun[event.id, default: []].append(event) }
    let byName = Dictionary(uniqueKeysWithValues: byRun.values.map { ($0[0].name, $0.map(\.shortName)) })
    #expect(Set(byName.keys) == ["graph", "a", "b", "bad", "skipped", "sum", "run", "add"])
    for name in ["a", "b", "bad", "sum", "run", "add"] { #expect(byName[name] == Self.complete, "\(name)") }
    // The graph waited for its nodes.
    #expect(byName["graph"] == ["didAttach", "willExecute", "didAwait", "didExecute", "willFinish", "didFinish"])
    #expect(byName["skipped"] == ["didAttach", "willFinish", "didFinish"])
  }

  @Test("C8: all nodes of a cancelled graph have a didCancel event with its reason, even those that depend on others")
  func cancelledGraph() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 2)
    let events = queue.events
    let started = Signal()
    let graph = ProcedureGraph("graph", returning: Void.self) { g in
      let a = g.add(
        ProcedureTask("a") {
          started.set()
          await untilCancelled()
          try Task.checkCancellation()
        })
      let b = g.add(ProcedureTask("b") {}, after: [a])
      g.add(ProcedureTask("c") {}, after: [b])
      let d = g.add(ProcedureTask("d") { await untilCancelled() })
      g.add(ProcedureTask("e") {}, after: [d])
    }
    let handle = queue.add(graph)
    await started.wait()
    handle.cancel(TestError(code: 5))
    await #expect(throws: TestError(code: 5)) { try await handle.value }
    await queue.shutDown()
    let ends = await ends(events)
    #expect(Set(ends.keys) == ["graph", "a", "b", "c", "d", "e"])
    for (name, outcome) in ends {
      guard case .cancelled(let reason) = outcome else {
        Issue.record("\(name): \(outcome)")
        continue
      }
      #expect(reason as? TestError == TestError(code: 5), "\(name)")
    }
  }

  @Test("L2: the dependents of a node that a failure cancels have a didCancel event as well")
  func behindFailFast() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 2)
    let events = queue.events
    let graph = ProcedureGraph("graph", returning: Void.self) { g in
      let started = Signal()
      let bad = g.add(failing(after: started))
      g.add(ProcedureTask("behind bad") {}, after: [bad])
      let patient = g.add(
        ProcedureTask("patient") {
          started.set()
          await untilCancelled()
          try Task.checkCancellation()
        })
      g.add(ProcedureTask("behind patient") {}, after: [patient])
    }
    await #expect(throws: TestError()) { try await queue.run(graph) }
    await queue.shutDown()
    let ends = await ends(events).mapValues { if case .cancelled = $0 { "cancelled" } else { "\($0)" } }
    #expect(ends["patient"] == "cancelled" && ends["behind patient"] == "cancelled")
    #expect(ends["bad"] != "cancelled" && ends["behind bad"]?.contains("depends on \"bad\"") ?? false, "\(ends)")
  }

  @Test("L2: nodes that fail-fast leaves unstarted have a didCancel event, and every node finishes exactly once")
  func failFastEvents() async throws {
    let queue = ProcedureQueue("q")
    let events = queue.events
    let graph = ProcedureGraph("graph", returning: Void.self) { g in
      let started = Signal()
      let bad = g.add(failing(after: started))
      g.add(
        ProcedureTask("patient") {
          started.set()
          await untilCancelled()
        })
      g.add(ProcedureTask("other") {}, after: [g.add(ProcedureTask("after bad") { (_: Int) in }, from: bad)])
    }
    _ = try? await queue.run(graph)
    await queue.shutDown()
    var byName: [String: [String]] = [:]
    for await event in events { byName[event.name, default: []].append(event.shortName) }
    #expect(byName["patient"] == ["didAttach", "willExecute", "didCancel", "didExecute", "willFinish", "didFinish"])
    #expect(byName.values.allSatisfy { $0.filter { $0 == "didFinish" }.count == 1 && $0.last == "didFinish" })
    #expect(byName.count == 5)
  }

  @Test("L2: a subscriber that stops listening and one that never reads delay no procedure")
  func idleSubscribers() async throws {
    let queue = ProcedureQueue("q")
    let never = queue.events
    do {
      var dropped = queue.events.makeAsyncIterator()
      queue.add(ProcedureTask {})
      _ = await dropped.next()
    }
    for handle in (0..<1_000).map({ i in queue.add(ProcedureTask { i }) }) { _ = try await handle.value }
    await queue.shutDown()
    let count = await never.reduce(into: 0) { count, _ in count += 1 }
    #expect(count == 5_005)
  }

  @Test("L2: cancelling the iterating task ends the iteration")
  func cancelIteration() async throws {
    let queue = ProcedureQueue("q")
    let first = Signal()
    let reader = Task {
      var count = 0
      for await _ in queue.events {
        count += 1
        first.set()
      }
      return count
    }
    while !first.isSet {
      try await queue.run(ProcedureTask {})
    }
    reader.cancel()
    #expect(await reader.value > 0)
  }

  @Test("L4: when didFinish is observable, the value is available and the slot is released")
  func finishIsLast() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let events = queue.events
    for i in 0..<200 {
      let handle = queue.add(ProcedureTask { i })
      for await event in handle.events where event.shortName == "didFinish" {
        #expect(handle.state == .finished)
      }
      // The only slot is free, so the procedure starts without a wait.
      let next = queue.add(ProcedureTask("next") { i })
      #expect(try await next.value == i)
    }
    await queue.shutDown()
    var executing = 0
    for await event in events {
      if event.shortName == "willExecute" { executing += 1 }
      if event.shortName == "didFinish" { executing -= 1 }
      #expect(executing <= 1)
    }
  }

  @Test("L2: the events of a queue end when its last reference is released, even while a handle is kept")
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

  @Test("L2: the events of a queue include the end of a body that shuts the queue down")
  func shutDownInBody() async throws {
    let queue = ProcedureQueue("q")
    let events = queue.events
    let handle = queue.add(ProcedureTask("last") { () -> Void in await queue.shutDown() })
    var names: [String] = []
    for await event in events { names.append(event.shortName) }
    #expect(names == ["didAttach", "willExecute", "didExecute", "willFinish", "didFinish"])
    #expect(await handle.outcome.isFinished)
  }
}
