import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

/// Each of these tests waits for the release by yielding, because the last steps of a worker cannot be awaited.
@Suite(.timeLimit(.atDepth)) struct LifetimeTests {
  @Test("A queue, its runs, graphs and their values are released when they finish")
  func everythingIsReleased() async throws {
    let live = Box(0)
    weak var weakQueue: ProcedureQueue?
    weak var weakRun: Run?
    do {
      let queue = ProcedureQueue("q", maxConcurrentProcedures: 2)
      weakQueue = queue
      let captured = Tracked(live)
      let graph = ProcedureGraph("g", returning: Void.self) { (g, input: Node<Tracked>) in
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

  @Test("The captures and the input of a body are released when it ends, not when its handle is released")
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
    withExtendedLifetime(handles) {}
  }

  @Test(
    "Captures of hooks and values of carriers are released when a run ends, not when its handle is released",
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
    withExtendedLifetime(handles) {}
  }

  @Test("A layer that pauses while an outer layer holds a resource is released when it ends")
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

  @Test("No worker retains a run that has paused: the run is released when it ends")
  func pausedRuns() async throws {
    weak var weakRun: Run?
    do {
      let queue = ProcedureQueue("q")
      let failing = ProcedureTask<Void, Void> { throw TestError() }
      let handle = queue.add(failing.retry(.constant(.nanoseconds(1)), maxAttempts: 2))
      weakRun = handle.run
      await #expect(throws: TestError()) { try await handle.value }
    }
    try await eventually { weakRun == nil }
  }

  @Test("A dropped stream and an unread one do not retain the queue")
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

  /// Refers to a run without retaining it.
  private struct Weak {
    weak var run: Run?
  }

  private final class Chain: Sendable {
    let queue = ProcedureQueue("q")
    let scopes = Mutex<[Weak]>([])
    let end = Signal()
    /// The number of runs that existed when the last body executed.
    let alive = Box(0)
    let isExclusive: Bool

    init(isExclusive: Bool) { self.isExclusive = isExclusive }

    /// Returns a procedure whose body starts a task that runs the next link, and does not wait for the task.
    func link(_ number: Int) -> ProcedureTask<Void, Void> {
      let task = ProcedureTask("link") { [self] in
        scopes.withLock { $0.append(Weak(run: ProcedureContext.current?.run)) }
        guard number > 0 else {
          alive.update { $0 = scopes.withLock { $0.filter { $0.run != nil }.count } }
          return end.set()
        }
        _ = Task { try await queue.run(link(number - 1)) }
      }
      return isExclusive ? task.exclusive(number % 2) : task
    }
  }

  @Test(
    "A run that starts the next one in a task that outlives its body is released when it finishes",
    arguments: [false, true])
  func chainOfLeftTasks(isExclusive: Bool) async throws {
    let chain = Chain(isExclusive: isExclusive)
    _ = Task { try await chain.queue.run(chain.link(500)) }
    await chain.end.wait()
    await chain.queue.waitUntilIdle()
    let count = chain.scopes.withLock { $0.count }
    #expect(count == 501)
    // The release of the last runs may still be in progress.
    #expect((1..<20).contains(chain.alive.value))
  }

  @Test("Releasing a long chain of parents does not overflow the stack")
  func chainOfParents() async throws {
    let queue = ProcedureQueue("q")
    let last = Box<ProcedureHandle<Void>?>(nil)
    @Sendable func link(_ depth: Int) -> ProcedureTask<Void, Void> {
      ProcedureTask("link") {
        guard depth > 0 else { return }
        let child = ProcedureContext.current?.produce(link(depth - 1))
        if depth == 1 { last.update { $0 = child } }
      }
    }
    #expect(await queue.add(link(TestDepth.isAtLeastGate ? 50_000 : 8_000)).outcome.isFinished)
    await queue.waitUntilIdle()
    last.update { $0 = nil }
  }

  @Test("A dependent that ends before its dependency leaves no listener behind")
  func endedDependents() async throws {
    let queue = ProcedureQueue("q")
    let release = Signal()
    let service = queue.add(ProcedureTask("service") { await release.wait() })
    for _ in 0..<100 {
      let dependent = queue.add(ProcedureTask {}, after: [service, service])
      dependent.cancel()
      #expect(await dependent.outcome.isCancelled)
    }
    #expect(service.run.core.read { $0.runs[service.run].details.observers.listeners.count } == 0)
    let twice = queue.add(ProcedureTask {}, after: [service, service])
    release.set()
    #expect(await twice.outcome.isFinished)
  }
}

private enum Carried {
  @TaskLocal static var value: Tracked?
}
