import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.atDepth)) struct SnapshotTests {
  @Test("A snapshot shows what every procedure is waiting for")
  func waits() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let started = Signal()
    let release = Signal()
    let executing = queue.add(
      ProcedureTask("executing") {
        started.set()
        await release.wait()
      })
    await started.wait()
    let waiting = queue.add(ProcedureTask("waiting") {})
    let evaluating = Signal()
    let judged = queue.add(
      ProcedureTask("judged") {}.condition("c") {
        evaluating.set()
        await release.wait()
        return true
      })
    await evaluating.wait()
    let pending = queue.add(ProcedureTask("pending") {}, after: [executing, judged, executing])
    let snapshot = queue.snapshot()
    #expect(snapshot.procedures.map(\.procedure.name) == ["executing", "waiting", "judged", "pending"])
    #expect(snapshot.procedures.map(\.state) == [.executing, .waiting, .evaluating, .pending])
    #expect(
      snapshot.procedures.map(\.wait) == [
        nil, .slot, .conditions(["c"]), .dependencies([executing.identity, judged.identity, executing.identity]),
      ])
    #expect(snapshot.slotsInUse == 1 && snapshot.maxConcurrentProcedures == 1 && !snapshot.isSuspended)
    #expect("\(snapshot)".contains("\"pending\" (\(pending.id)) pending, waits for \"executing\""))
    queue.suspend()
    #expect(queue.snapshot().procedures[1].wait == .resumption)
    queue.resume()
    release.set()
    for handle in [executing, waiting, judged, pending] { try await handle.value }
    #expect(queue.snapshot().procedures.isEmpty)
  }

  @Test("A snapshot shows that a body that awaits others on its queue has released its slot")
  func loans() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let snapshot = try await queue.run(
      ProcedureTask("outer") {
        try await queue.run(ProcedureTask("inner") { queue.snapshot() })
      })
    let inner = try #require(snapshot.procedures.last)
    #expect(snapshot.procedures.map(\.wait) == [.procedures([inner.procedure]), nil])
    #expect(inner.parent == snapshot.procedures.first?.procedure)
    #expect(snapshot.slotsInUse == 1)
  }
}

@Suite("Snapshots of waiting bodies and of graphs", .timeLimit(.atDepth))
struct SnapshotOfBodiesTests {
  @Test("A snapshot names what a body is waiting for: procedures, events, room, or the idleness of a queue")
  func bodies() async throws {
    let (queue, others, release) = (ProcedureQueue("q"), ProcedureQueue("others", maxWaitingProcedures: 1), Signal())
    let awaited = others.add(ProcedureTask("awaited") { await release.wait() })
    try await eventually { awaited.state == .executing }
    others.suspend()
    let filling = others.add(ProcedureTask("filling") {})
    let bodies: [ProcedureTask<Void, Void>] = [
      ProcedureTask("value") { try await awaited.value },
      ProcedureTask("events") { for await _ in awaited.events {} },
      ProcedureTask("events of a queue") { for await _ in others.events {} },
      ProcedureTask("room") { try await others.enqueue(ProcedureTask {}) },
      ProcedureTask("idleness") { await others.waitUntilIdle() },
    ]
    for body in bodies { queue.add(body) }
    let expected: [QueueSnapshot.Wait?] = [
      .procedures([awaited.identity]), .events(of: "awaited"), .events(of: "others"), .room(on: "others"),
      .idleness(of: "others"),
    ]
    try await eventually { queue.snapshot().procedures.map(\.wait) == expected }
    #expect("\(queue.snapshot())".contains("waits for room in the queue \"others\""))
    others.resume()
    release.set()
    try await filling.value
    await others.shutDown()
    await queue.waitUntilIdle()
  }

  @Test(
    "A snapshot shows each node that is executing or waiting for a slot once, with its graph as the parent")
  func nodes() async throws {
    let (queue, release) = (ProcedureQueue("q", maxConcurrentProcedures: 2), Signal())
    let graph = ProcedureGraph("graph", returning: Void.self) { g in
      let first = (0..<4).map { number in g.add(ProcedureTask("node \(number)") { await release.wait() }) }
      let conditional = g.add(ProcedureTask("conditional") { await release.wait() }.condition("yes") { true })
      g.add(ProcedureTask("last") {}, after: first + [conditional])
    }
    let handle = queue.add(graph)
    var entries: [QueueSnapshot.Entry] = []
    try await eventually {
      entries = queue.snapshot().procedures
      return entries.count { $0.parent == handle.identity && $0.state == .executing } == 2
    }
    #expect(Set(entries.map(\.procedure)).count == entries.count)
    #expect(entries.first?.procedure == handle.identity && entries.first?.wait == .nodes)
    let names = entries.dropFirst().filter { $0.parent == handle.identity }.map(\.procedure.name)
    #expect(Set(names) == ["node 0", "node 1", "node 2", "node 3", "conditional"])
    #expect(entries.count { $0.wait == .slot } >= 2)
    release.set()
    try await handle.value
    #expect(queue.snapshot().procedures.isEmpty)
  }

  @Test("A snapshot shows one moment: at most `width` bodies execute, and no run has finished")
  func moment() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 2)
    let count = TestDepth.isAtLeastGate ? 20_000 : 200
    let handles = (0..<count).map { _ in queue.add(ProcedureTask { await Task.yield() }) }
    try await eventually {
      let snapshot = queue.snapshot()
      #expect(snapshot.procedures.allSatisfy { $0.state != .finished })
      #expect(snapshot.procedures.count { $0.state == .executing } <= 2)
      return handles.allSatisfy { $0.state == .finished }
    }
  }
}

@Suite("Snapshots of waits inside bodies", .timeLimit(.atDepth))
struct InnerWaitTests {
  @Test("A snapshot names the resource, its holder and the conditions that a body is waiting for")
  func innerWaits() async throws {
    let queue = ProcedureQueue("q", resources: ResourceTable())
    let (held, release, judging) = (Signal(), Signal(), Signal())
    let holder = queue.add(
      ProcedureTask("holder") {
        held.set()
        await release.wait()
      }.exclusive("a"))
    await held.wait()
    let claiming = queue.add(ProcedureTask("claiming") { try await ProcedureTask("inner") {}.exclusive("a").execute() })
    let evaluating = queue.add(
      ProcedureTask("evaluating") {
        try await ProcedureTask("inner") {}.condition("slow") {
          judging.set()
          await release.wait()
          return true
        }.execute()
      })
    await judging.wait()
    try await eventually { queue.snapshot().procedures[1].wait != nil }
    let waits = queue.snapshot().procedures.map(\.wait)
    #expect(waits[0] == nil)
    guard case .resources(let resources) = waits[1] else { return #expect(Bool(false), "\(waits)") }
    #expect(resources.map(\.resource) == ["a"] && resources.map(\.holder) == [holder.identity])
    #expect(waits[2] == .conditions(["slow"]))
    release.set()
    for handle in [claiming, evaluating, holder] { try await handle.value }
    #expect(queue.snapshot().procedures.isEmpty)
  }

  @Test("A snapshot names only the holders that block a claim, and no ancestor of the claim")
  func holdersAround() async throws {
    let queue = ProcedureQueue("q", resources: ResourceTable())
    let (gpu, held, release) = (Resource("gpu", capacity: 4), Signal(), Signal())
    let other = queue.add(
      ProcedureTask("other") {
        held.set()
        await release.wait()
      }.uses(gpu, units: 2))
    await held.wait()
    let holder = queue.add(
      ProcedureTask("holder") { try await ProcedureTask("inner") {}.uses(gpu, units: 3).execute() }.uses(gpu, units: 2))
    var holders: [ProcedureIdentity]?
    try await eventually {
      if case .resources(let waits)? = queue.snapshot().procedures.last?.wait { holders = waits.map(\.holder) }
      return holders != nil
    }
    #expect(holders == [other.identity])
    release.set()
    for handle in [other, holder] { try await handle.value }
  }
}

extension SnapshotTests {
  private func wait(
    of name: String, on queue: ProcedureQueue, is wait: QueueSnapshot.Wait,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    try await eventually(sourceLocation: sourceLocation) {
      queue.snapshot().procedures.first { $0.procedure.name == name }?.wait == wait
    }
  }

  @Test("A snapshot shows waits for a rate limiter, for the limit of a graph, and for a suspended queue")
  func rareWaits() async throws {
    let clock = VirtualClock()
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 4, clock: clock)
    let limiter = RateLimiter(1, per: .seconds(1), clock: clock)
    try await queue.run(ProcedureTask {}.rateLimited(limiter))
    let limited = queue.add(ProcedureTask("limited") {}.rateLimited(limiter))
    try await wait(of: "limited", on: queue, is: .rateLimit)
    clock.advance(by: .seconds(1))
    try await limited.value

    let gate = Signal()
    let graph = queue.add(
      ProcedureGraph("graph") { g in
        _ = g.add("a") { await gate.wait() }
        return g.add("b") {}
      }.maxConcurrentNodes(1))
    try await wait(of: "b", on: queue, is: .graphLimit(1))
    queue.suspend()
    try await wait(of: "b", on: queue, is: .resumption)
    queue.resume()
    gate.set()
    try await graph.value
  }

  @Test("A snapshot shows the keys, the limits, and whether the queue is shut down")
  func settings() async throws {
    var configuration = ProcedureQueue.Configuration("q", maxConcurrentProcedures: 3, isSuspended: true)
    configuration.maxWaitingProcedures = 7
    configuration.maxConcurrentProceduresPerKey = 2
    configuration.maxWaitingProceduresPerKey = 5
    let queue = ProcedureQueue(configuration)
    let keyed = queue.add(ProcedureTask("a") {}.keyed(by: "tenant"))
    let plain = queue.add(ProcedureTask("b") {})
    let snapshot = queue.snapshot()
    #expect(snapshot.procedures.map(\.key) == ["tenant", nil])
    #expect(snapshot.maxWaitingProcedures == 7 && snapshot.maxWaitingProceduresPerKey == 5)
    #expect(snapshot.maxConcurrentProceduresPerKey == 2 && !snapshot.isShutDown)
    #expect("\(snapshot)".contains("\"a\" (\(keyed.id)) with key \"tenant\" waiting"))
    await queue.shutDown()
    #expect(queue.snapshot().isShutDown && "\(queue.snapshot())".contains("shut down"))
    try await plain.value
  }
}

extension SnapshotTests {
  @Test("A node that a worker holds on a suspended queue waits until the queue resumes")
  func heldNode() async throws {
    let (queue, release) = (ProcedureQueue("q", maxConcurrentProcedures: 1), Signal())
    let (isExecuting, end) = (Signal(), Signal())
    let handle = queue.add(
      ProcedureGraph("graph", returning: Void.self) { g in
        let first = g.add("first") { await release.wait() }
        _ = g.add("second", after: [first]) {
          isExecuting.set()
          await end.wait()
        }
        _ = g.add(ProcedureTask("third") {}.condition("yes") { true }, after: [first])
      })
    try await eventually { queue.snapshot().procedures.contains { $0.procedure.name == "first" && $0.wait == nil } }
    queue.suspend()
    release.set()
    try await eventually { !queue.snapshot().procedures.contains { $0.procedure.name == "first" } }
    func wait(of name: String) -> QueueSnapshot.Wait? {
      queue.snapshot().procedures.first { $0.procedure.name == name }?.wait
    }
    try await eventually { wait(of: "second") == .resumption && wait(of: "third") == .resumption }
    queue.resume()
    await isExecuting.wait()
    #expect(queue.snapshot().procedures.contains { $0.procedure.name == "second" && $0.state == .executing })
    #expect(wait(of: "second") == nil)
    end.set()
    try await handle.value
  }

  @Test("A snapshot of a graph that a failure stopped has the nodes that are still executing, and no others")
  func stoppedGraph() async throws {
    let (queue, fail, end) = (ProcedureQueue("q"), Signal(), Signal())
    let graph = ProcedureGraph("graph", returning: Void.self) { g in
      g.add("bad") {
        await fail.wait()
        throw TestError()
      }
      g.add("patient") { await end.wait() }
      for number in 0..<3 { g.add("ready \(number)") {} }
    }
    let handle = queue.add(graph.maxConcurrentNodes(2))
    func names() -> Set<String> { Set(queue.snapshot().procedures.map(\.procedure.name)) }
    try await eventually { queue.snapshot().procedures.count { $0.parent != nil && $0.state == .executing } == 2 }
    #expect(names().contains("ready 0"))
    fail.set()
    try await eventually { !names().contains("bad") }
    #expect(names() == ["graph", "patient"])
    end.set()
    await #expect(throws: TestError()) { try await handle.value }
  }

  @Test("No snapshot contains an empty wait, and no node disappears from a snapshot before it has ended")
  func oneInstant() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 2, resources: ResourceTable())
    let hasSeenNodes = Signal()
    let looker = Task.detached {
      var (gone, seen): (Set<ProcedureID>, Set<ProcedureID>) = ([], [])
      var (empty, returned) = (0, 0)
      while !Task.isCancelled {
        let entries = queue.snapshot().procedures
        for entry in entries {
          switch entry.wait {
          case .dependencies([]), .resources([]), .procedures([]), .conditions([]): empty += 1
          default: break
          }
        }
        let nodes = Set(entries.filter { $0.procedure.name.hasPrefix("node") }.map(\.procedure.id))
        returned += nodes.intersection(gone).count
        gone.formUnion(seen.subtracting(nodes))
        seen.formUnion(nodes)
        if !nodes.isEmpty { hasSeenNodes.set() }
        // The yield keeps the loop from blocking a program with a single thread.
        await Task.yield()
      }
      return (empty, returned)
    }
    var rounds = 0
    // On a busy machine, the task that looks can start late.
    while rounds < TestDepth.size(400) || rounds < 1_000_000 && !hasSeenNodes.isSet {
      rounds += 1
      let first = queue.add(ProcedureTask("first") { await Task.yield() }.exclusive("SnapshotTests"))
      let second = queue.add(ProcedureTask("second") {}.exclusive("SnapshotTests"), after: [first])
      let graph = ProcedureGraph("graph", returning: Void.self) { g in
        let nodes = (0..<4).map { number in g.add("node \(number)") { await Task.yield() } }
        g.add(ProcedureTask("node 4") { await Task.yield() }.exclusive("SnapshotTests nodes"), after: nodes)
      }
      try await queue.run(graph)
      try await second.value
    }
    looker.cancel()
    let (empty, returned) = await looker.value
    #expect(empty == 0 && returned == 0 && hasSeenNodes.isSet)
  }
}
