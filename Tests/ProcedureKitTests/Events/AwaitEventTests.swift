import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite("The event didAwait", .timeLimit(.atDepth))
struct AwaitEventTests {
  enum Way: CaseIterable, Sendable {
    case value, result, outcome, events, progress, idle, run, results, graph, graphCall, map, childValue, childAtTheEnd
  }

  private func body(_ way: Way, _ queue: ProcedureQueue) -> ProcedureTask<Void, Void> {
    let inner = ProcedureTask("inner") { await Task.yield() }
    if way == .graph {
      return ProcedureGraph("outer") { g in g.add(inner) }.procedureTask
    }
    return ProcedureTask("outer") {
      switch way {
      case .value: try await queue.add(inner).value
      case .result: _ = await queue.add(inner).result
      case .outcome: _ = await queue.add(inner).outcome
      case .events: for await _ in queue.add(inner).events {}
      case .progress: for await _ in queue.add(inner).progress {}
      case .idle:
        queue.add(inner)
        await queue.waitUntilIdle()
      case .run: try await queue.run(inner)
      case .results:
        for try await _ in queue.results(
          of: ProcedureTask("inner") { (_: Int) in }, over: [1], maxConcurrentElements: 1)
        {}
      case .graphCall: try await ProcedureGraph("graph") { g in g.add(inner) }()
      case .map: _ = try await queue.map([1], with: ProcedureTask("inner") { (_: Int) in })
      case .childValue: try await ProcedureContext.current!.produce(inner).value
      case .childAtTheEnd: ProcedureContext.current?.produce(inner)
      case .graph: break
      }
    }
  }

  @Test("Each way of waiting for another run ends with the event, in the awaiting run", arguments: Way.allCases)
  func ways(_ way: Way) async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let events = queue.events
    // If the inner run has ended before the body begins to wait, there is no wait and no event.
    queue.suspend()
    let handle = queue.add(body(way, queue))
    queue.resume()
    try await handle.value
    await queue.shutDown()
    let all = await events.reduce(into: [ProcedureEvent]()) { $0.append($1) }
    #expect(all.orderViolations().isEmpty)
    let awaits = all.filter { $0.kind == .didAwait && $0.id == handle.id }
    // After its only element, a loop may also wait for the end of the sequence, and a body for the end of its child.
    #expect(awaits.count == 1 || [.results, .childValue].contains(way) && awaits.count == 2, "\(all)")
    #expect(awaits.allSatisfy { $0.awaited?.name == "inner" }, "\(all)")
    // The awaited run has already ended.
    let end = try #require(all.firstIndex { $0.kind == .didFinish && $0.id == awaits.first?.awaited?.id })
    let wait = try #require(all.firstIndex { $0.kind == .didAwait && $0.id == handle.id })
    #expect(end < wait)
    // A body continues in a slot; after the body, there is none.
    #expect((awaits.first?.slot == nil) == (way == .childAtTheEnd))
  }

  @Test("A run that follows a shared execution has awaited the run that led it, even if another run has taken over")
  func sharedExecution() async throws {
    let (queue, closed) = (ProcedureQueue("q"), ProcedureQueue("closed", isSuspended: true))
    let opening = closed.add(ProcedureTask("opening") {})
    let events = queue.events
    let (scope, starts) = (CoalescingScope(), Box(0))
    func work(_ name: String) -> ProcedureTask<Void, Void> {
      ProcedureTask(name) {
        starts.update { $0 += 1 }
        try await opening.value
      }.coalesced(by: "k", in: scope)
    }
    func follows(_ handle: ProcedureHandle<Void>) -> Bool {
      let entry = queue.snapshot().procedures.first { $0.procedure == handle.identity }
      if case .resources? = entry?.wait { return true }
      return false
    }
    let first = queue.add(work("first"))
    try await eventually { starts.value == 1 }
    let second = queue.add(work("second"))
    try await eventually { follows(second) }
    let third = queue.add(work("third"))
    try await eventually { follows(third) }
    first.cancel()
    try await eventually { starts.value == 2 }
    closed.resume()
    try await second.value
    try await third.value
    await queue.shutDown()
    let awaits = await events.reduce(into: [String: [String]]()) { awaits, event in
      if event.kind == .didAwait { awaits[event.name, default: []].append(event.awaited?.name ?? "") }
    }
    #expect(awaits == ["second": ["opening"], "third": ["second"]])
  }

  @Test("A subscriber to the handle receives the event while it listens, and a later one does not")
  func subscribers() async throws {
    let (queue, gate) = (ProcedureQueue("q", maxConcurrentProcedures: 1), Signal())
    let handle = queue.add(
      ProcedureTask("outer") {
        await gate.wait()
        try await queue.run(ProcedureTask("inner") {})
      }.retry(.constant(.seconds(1)), maxAttempts: 1))
    let listening = handle.events
    gate.set()
    try await handle.value
    func kinds(_ events: AsyncStream<ProcedureEvent>) async -> [ProcedureEvent.Kind] {
      await events.reduce(into: []) { $0.append($1.kind) }
    }
    #expect(await kinds(listening).count { $0 == .didAwait } == 1)
    #expect(await !kinds(handle.events).contains(.didAwait))
    let other = queue.add(ProcedureTask("other") { try await queue.run(ProcedureTask("inner") {}) })
    try await other.value
    #expect(await kinds(other.events) == [.didAttach, .willExecute, .didExecute, .willFinish, .didFinish])
  }

  @Test("A wait that is cancelled or refused, and a wait for a run that has already ended, have no event")
  func without() async throws {
    let (queue, suspended) = (ProcedureQueue("q"), ProcedureQueue("suspended", isSuspended: true))
    let events = queue.events
    let never = suspended.add(ProcedureTask("never") {})
    let ended = queue.add(ProcedureTask("ended") {})
    try await ended.value
    let body = queue.add(
      ProcedureTask("outer") {
        try await ended.value
        try await never.value
      })
    try await eventually { queue.snapshot().procedures.first?.wait == .procedures([never.identity]) }
    body.cancel()
    _ = await body.outcome
    await queue.shutDown()
    var kinds: [ProcedureEvent.Kind] = []
    for await event in events where event.id == body.id { kinds.append(event.kind) }
    #expect(!kinds.contains(.didAwait) && kinds.contains(.didFinish))
    never.cancel()
  }
}
