import TestSupport
import Testing

@testable import ProcedureKit

/// Each test waits for the release by yielding, because the last steps of a worker cannot be awaited.
@Suite(.timeLimit(.minutes(10))) struct LifetimeTests {
  @Test("D3: in a graph, a value is released as soon as its last consumer has taken it, also if that one was skipped")
  func valuesOfGraphs() async throws {
    let live = Box(0)
    let seen = Box<[Int]>([])
    let graph = ProcedureGraph("g") { g in
      let big = g.add(ProcedureTask("big") { Tracked(live) })
      let unused = g.add(ProcedureTask("unused") { Tracked(live) })
      let first = g.add(ProcedureTask("first") { (_: Tracked) in }, from: big, after: [unused])
      let failing = g.add(ProcedureTask<Void, Int>("failing") { throw TestError() }, after: [first])
      g.add("skipped", from: big, failing) { _, _ in }
      g.add(ProcedureTask("look") { seen.update { $0.append(live.value) } }, after: [failing.asResult])
    }
    _ = try? await graph.limit(1).errorPolicy(.continue).execute()
    #expect(seen.value == [0])
    #expect(live.value == 0)
  }

  @Test("A queue, its runs, graphs and their values are released when they are done")
  func everythingIsReleased() async throws {
    let live = Box(0)
    weak var weakQueue: ProcedureQueue?
    weak var weakRun: Run?
    do {
      let queue = ProcedureQueue("q", maxConcurrentProcedures: 2)
      weakQueue = queue
      let captured = Tracked(live)
      let graph = ProcedureGraph("g") { (g, input: Node<Tracked>) in
        let nodes = (0..<10).map { _ in g.add(ProcedureTask { (_: Tracked) in Tracked(live) }, from: input) }
        g.add(ProcedureTask { (all: [Tracked]) in #expect(all.count == 10) }, from: nodes)
      }
      try await queue.run(graph, input: Tracked(live))
      let handle = queue.add(
        ProcedureTask { () -> Tracked in
          _ = captured
          return Tracked(live)
        })
      weakRun = handle.run
      let dependent = queue.add(ProcedureTask { (_: Tracked) in }, from: handle)
      let cancelled = queue.add(ProcedureTask { (_: Tracked) in await untilCancelled() }, from: handle)
      let failed = queue.add(ProcedureTask { (_: Tracked) in throw TestError() }, from: handle)
      let ignored = queue.add(ProcedureTask { _ = captured }.condition("c") { live.value < 0 })
      try await dependent.value
      cancelled.cancel()
      _ = await (cancelled.outcome, failed.outcome, ignored.outcome)
      for await _ in handle.events {}
      await queue.waitUntilIdle()
    }
    try await eventually { live.value == 0 }
    try await eventually { weakQueue == nil && weakRun == nil }
  }

  @Test("What a body captures and is given is released when it has ended, not when its handle goes")
  func bodiesAreReleased() async throws {
    let live = Box(0)
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let handles = (0..<100).map { i in
      let captured = Tracked(live)
      return queue.add(
        ProcedureTask { (_: Tracked) in _ = captured }.condition("c") { [i] in
          _ = captured
          return i.isMultiple(of: 2)
        }, input: Tracked(live))
    }
    for handle in handles { _ = await handle.outcome }
    try await eventually { live.value == 0 }
    #expect(handles.count == 100)
  }

  @Test(
    "What hooks capture and carriers carry is released when a run has ended, not when its handle goes",
    arguments: [false, true])
  func endingsAreReleased(hasHooks: Bool) async throws {
    let live = Box(0)
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1, contextCarriers: [ContextCarrier(Carried.$value)])
    func add(_ task: ProcedureTask<Void, Void>) -> ProcedureHandle<Void> {
      let captured = Tracked(live)
      let hooked = hasHooks ? task.onWillFinish { _ in _ = captured }.onDidFinish { _ in _ = captured } : task
      return Carried.$value.withValue(Tracked(live)) { queue.add(hooked) }
    }
    let (started, release) = (Signal(), Signal())
    var handles = [
      add(
        ProcedureTask {
          started.set()
          await release.wait()
        })
    ]
    await started.wait()
    handles += (0..<20).map { _ in add(ProcedureTask {}) }
    handles += (0..<20).map { _ in add(ProcedureTask { () throws in throw TestError() }) }
    for handle in handles[1..<5] { handle.cancel() }
    release.set()
    await queue.shutDown()
    handles.append(add(ProcedureTask {}))
    for handle in handles { _ = await handle.outcome }
    try await eventually { live.value == 0 }
    #expect(handles.count == 42)
  }

  @Test("What pauses inside of what it holds is released when it has ended, on any level")
  func pausesWhileHolding() async throws {
    let live = Box(0)
    let queue = ProcedureQueue("q", resources: ResourceTable())
    func paused() -> ProcedureTask<Void, Void> {
      let captured = Tracked(live)
      let failing = ProcedureTask<Void, Void> {
        _ = captured
        throw TestError()
      }
      return failing.retry(.constant(.nanoseconds(1)), maxAttempts: 2).timeout(.seconds(100))
    }
    _ = try? await queue.run(paused().exclusive("a").recover { throw $0 })
    _ = try? await queue.run(paused().map {}.exclusive("a"))
    _ = try? await queue.add(paused().map {}.exclusive("a")).value
    _ = try? await queue.run(ProcedureGraph("g") { g in g.add(paused().exclusive("a")) })
    _ = try? await paused().exclusive("a").execute()
    try await eventually { live.value == 0 }
  }

  @Test("Dropped streams and unread queues keep nothing")
  func streamsAreReleased() async throws {
    weak var weakQueue: ProcedureQueue?
    do {
      let queue = ProcedureQueue("q")
      weakQueue = queue
      _ = queue.events
      let events = queue.events
      try await queue.run(ProcedureTask {})
      _ = events
    }
    try await eventually { weakQueue == nil }
  }
}

private enum Carried {
  @TaskLocal static var value: Tracked?
}
