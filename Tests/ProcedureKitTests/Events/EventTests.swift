import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.atDepth)) struct EventTests {
  private static let complete = ["didAttach", "willExecute", "didExecute", "willFinish", "didFinish"]

  @Test("Each of very many added procedures finishes exactly once")
  func million() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 4)
    let finished = Box(0)
    let count = TestDepth.isAtLeastGate ? TestDepth.load(1_000_000) : 20_000
    for _ in 0..<count { queue.add(ProcedureTask { finished.update { $0 += 1 } }) }
    await queue.waitUntilIdle()
    #expect(finished.value == count)
  }

  @Test(
    "A queue publishes the events of all its procedures, nodes included, until it is shut down")
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

  @Test("A subscriber that stops listening and one that never reads delay no procedure")
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

  @Test("Cancelling the iterating task ends the iteration")
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

  @Test("The events of a queue end when its last reference is released, even while a handle is kept")
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

  @Test("The events of a queue include the end of a body that shuts the queue down")
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
