import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

/// What reviews have found lost, deaf or kept, each made to happen.
@Suite(.timeLimit(.atDepth)) struct LostWorkTests {
  /// A clock that calls a function of the current task whenever it is read.
  private struct CallingClock: Clock {
    @TaskLocal static var call: (@Sendable () -> Void)?
    let clock = VirtualClock()

    var now: VirtualClock.Instant {
      Self.call?()
      return clock.now
    }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: VirtualClock.Instant, tolerance: Duration?) async throws {
      try await clock.sleep(until: deadline, tolerance: tolerance)
    }
  }

  private static let endless = ProcedureTask("endless") { await untilCancelled() }

  @Test("R4: a claim that is refused after a pause leaves nothing that takes the next answer")
  func refusedAfterPause() async throws {
    let clock = VirtualClock()
    let queue = ProcedureQueue("q", clock: clock, resources: ResourceTable())
    let limiter = RateLimiter(1, per: .seconds(10), burst: 1, clock: clock)
    try await queue.run(ProcedureTask {}.rateLimited(limiter))
    // The limiter makes the attempt pause, without what it holds; then the other one holds it, and waits for this one.
    let a = queue.add(
      ProcedureTask("a") {}.rateLimited(limiter).retry(.constant(.seconds(1)), maxAttempts: 2).exclusive("x"))
    try await clock.nextSleep()
    let b = queue.add(ProcedureTask("b") { _ = await a.outcome }.exclusive("x"))
    try await eventually { b.state == .executing }
    try await eventually {
      if clock.sleeperCount > 0 { clock.advance(by: .seconds(1)) }
      return a.state == .finished
    }
    #expect((await a.outcome.failure as? ProcedureError)?.kind == .exclusionDeadlock)
    #expect(await b.outcome.isFinished)
  }

  @Test("R4: a level that pauses while a child holds its category goes on with what it held", arguments: [false, true])
  func pauseBesideChild(isRetry: Bool) async throws {
    let clock = VirtualClock()
    let queue = ProcedureQueue("q", clock: clock, resources: ResourceTable())
    let release = Signal()
    let count = Atomic(0)
    let body = ProcedureTask("body") {
      if count.add(1, ordering: .relaxed).newValue == 1, isRetry { throw TestError(code: 1) }
    }
    let startChild: @Sendable () async throws -> Void = {
      guard count.load(ordering: .relaxed) == 1 else { return }
      let child = ProcedureContext.current?.produce(ProcedureTask("child") { await release.wait() }.exclusive("x"))
      try await eventually { child?.state == .executing }
    }
    let retrying = body.retry(.constant(.seconds(1)), maxAttempts: 3) { _, _ in
      try? await startChild()
      return .retry
    }
    let repeating = body.repeating(.constant(.seconds(1)), maxCount: 3) { _ in
      try? await startChild()
      return true
    }
    let handle = queue.add(isRetry ? retrying.exclusive("x") : repeating.exclusive("x"))
    try await eventually {
      if clock.sleeperCount > 0 { clock.advance(by: .seconds(1)) }
      if count.load(ordering: .relaxed) >= 2 { release.set() }
      return handle.state == .finished
    }
    #expect(await handle.outcome.isFinished)
    #expect(count.load(ordering: .relaxed) == (isRetry ? 2 : 3))
  }

  @Test("C5: a deadline that passes while its procedure is being added ends it")
  func deadlineWhileAdding() async throws {
    let clock = CallingClock()
    let queue = ProcedureQueue("q", isSuspended: true, clock: clock)
    let deadline = clock.clock.now.advanced(by: .seconds(1))
    // The clock goes on each time that it is read, so that the deadline passes somewhere within `add`.
    let goesOn: @Sendable () -> Void = { clock.clock.advance(by: .milliseconds(300)) }
    let handle = CallingClock.$call.withValue(goesOn) {
      queue.add(ProcedureTask("late") {}.deadline(deadline, on: clock.clock))
    }
    clock.clock.advance(by: .seconds(2))
    #expect((await handle.outcome.failure as? ProcedureError)?.kind == .timedOut)
  }

  @Test("What is refused leaves no timer")
  func refusedTimers() async throws {
    let queue = ProcedureQueue("q", isSuspended: true, clock: VirtualClock(), maxWaitingProcedures: 1)
    queue.add(ProcedureTask {})
    for _ in 0..<100 {
      let refused = queue.add(ProcedureTask {}.deadline(.now.advanced(by: .seconds(3600))))
      #expect((await refused.outcome.failure as? ProcedureError)?.kind == .queueFull)
    }
    #expect(queue.core.timers.count == 0)
    await queue.shutDown()
  }

  @Test("C4: a nested run is cancelled although its parent was cancelled while the run came")
  func cancelledWhileComing() async throws {
    let (outer, inner) = (ProcedureQueue("outer"), ProcedureQueue("inner", isSuspended: true, clock: CallingClock()))
    await #expect(throws: CancellationError.self) {
      try await outer.run(
        ProcedureTask("outer") {
          let context = try #require(ProcedureContext.current)
          try await CallingClock.$call.withValue({ context.cancel() }) {
            try await inner.run(ProcedureTask("inner") {})
          }
        })
    }
    #expect(inner.snapshot().procedures.isEmpty)
  }

  @Test("C6: a task that a node has left behind is no part of the next node")
  func leftBehindByNode() async throws {
    let (isNext, hasLooked) = (Signal(), Signal())
    let seen = Box<String?>(nil)
    let graph = ProcedureGraph("graph") { g in
      let first = g.add("first") {
        // Left behind on purpose; it ends by the signal that the next node gives.
        Task {
          await isNext.wait()
          let context = ProcedureContext.current
          seen.update { $0 = context?.name }
          context?.cancel(TestError(code: 1))
          hasLooked.set()
        }
        return 1
      }
      return g.add("second", from: first) { value in
        isNext.set()
        await hasLooked.wait()
        return value
      }
    }
    #expect(try await ProcedureQueue("q", maxConcurrentProcedures: 1).run(graph) == 1)
    #expect(seen.value == "first")
  }

  @Test("C5: a cancelled map starts no element more")
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
    // A cancel that comes before the elements are known counts for them, too.
    let early = queue.add(
      ProcedureTask("early") {
        ProcedureContext.current?.cancel()
        _ = try? await queue.map(Array(0..<1_000), with: element)
      })
    #expect(await early.outcome.isCancelled)
    #expect(count.load(ordering: .relaxed) == 1)
  }

  @Test("Releasing a long chain of parents overflows no stack")
  func longChain() async throws {
    let queue = ProcedureQueue("q")
    let last = Box<ProcedureHandle<Void>?>(nil)
    @Sendable func link(_ depth: Int) -> ProcedureTask<Void, Void> {
      ProcedureTask("link") {
        guard depth > 0 else { return }
        let child = ProcedureContext.current?.produce(link(depth - 1))
        if depth == 1 { last.update { $0 = child } }
      }
    }
    #expect(await queue.add(link(TestDepth.isAtLeastGate ? 50_000 : 20_000)).outcome.isFinished)
    await queue.waitUntilIdle()
    last.update { $0 = nil }
  }

  @Test(
    "L3: a retry that is cancelled in its pause calls `onDidExecute` once, outermost or not", arguments: [false, true])
  func didExecuteInPause(isInner: Bool) async throws {
    let clock = VirtualClock()
    let (will, did) = (Box(0), Box(0))
    let failing = ProcedureTask("failing") { throw TestError(code: 1) }.retry(.constant(.seconds(3600)))
      .onWillExecute { will.update { $0 += 1 } }.onDidExecute { _ in did.update { $0 += 1 } }
    let queue = ProcedureQueue("q", clock: clock)
    let handle = queue.add(isInner ? failing.map { $0 } : failing)
    try await clock.nextSleep()
    handle.cancel()
    #expect(await handle.outcome.isCancelled)
    #expect(will.value == 1 && did.value == 1)
    var names: [String] = []
    for await event in handle.events { names.append(event.shortName) }
    #expect(names.count { $0 == "willExecute" } == names.count { $0 == "didExecute" }, "\(names)")
  }

  @Test(
    "L3: hooks of the end are called in a task that is not cancelled, also if the cancel comes while children are awaited"
  )
  func hooksWhileSettling() async throws {
    for cancels in [true, false] {
      let queue = ProcedureQueue("q")
      let seen = Box<Bool?>(nil)
      let childStarted = Signal()
      let release = Signal()
      let handle = queue.add(
        ProcedureTask("parent") {
          ProcedureContext.current?.produce(
            ProcedureTask("child") {
              childStarted.set()
              if cancels { return await untilCancelled() }
              await release.wait()
              throw TestError(code: 1)
            })
        }.onWillFinish { _ in
          let isCancelled = Task.isCancelled
          seen.update { $0 = isCancelled }
        })
      await childStarted.wait()
      try await eventually { handle.state == .finishing }
      if cancels { handle.cancel() } else { release.set() }
      _ = await handle.outcome
      #expect(seen.value == false)
    }
  }

  @Test("A run and a produced child take no room among those that wait")
  func room() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1, maxWaitingProcedures: 1)
    let (started, release) = (Signal(), Signal())
    let blocking = queue.add(
      ProcedureTask("blocking") {
        started.set()
        await release.wait()
        ProcedureContext.current?.produce(ProcedureTask("child") {})
        return await queue.add(ProcedureTask("beside a child") {}).outcome.isFinished
      })
    await started.wait()
    let running = Task { try await queue.run(ProcedureTask("run") {}) }
    try await eventually { queue.snapshot().procedures.count >= 2 }
    let added = queue.add(ProcedureTask("added") {})
    #expect(added.state == .waiting)
    added.cancel()
    _ = await added.outcome
    release.set()
    #expect(try await blocking.value)
    try await running.value
  }

  @Test("A dependent that ends before its dependency leaves nothing there")
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

  @Test("L2: a body that shuts its queue down is seen to its end")
  func shutDownInBody() async throws {
    let queue = ProcedureQueue("q")
    let events = queue.events
    let handle = queue.add(ProcedureTask("last") { await queue.shutDown() })
    var names: [String] = []
    for await event in events { names.append(event.shortName) }
    #expect(names == ["didAttach", "willExecute", "didExecute", "willFinish", "didFinish"])
    #expect(await handle.outcome.isFinished)
  }

  @Test("Q7: a dependent of low priority moves a dependency of background priority up")
  func lowOverBackground() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1, isSuspended: true)
    let order = Box<[String]>([])
    func task(_ name: String, _ priority: TaskPriority) -> ProcedureTask<Void, Void> {
      ProcedureTask(name, priority: priority) { order.update { $0.append(name) } }
    }
    queue.add(task("other", .background))
    let dependency = queue.add(task("dependency", .background))
    let dependent = queue.add(task("dependent", .low), after: [dependency])
    await queue.resume()
    try await dependent.value
    await queue.waitUntilIdle()
    #expect(order.value == ["dependency", "dependent", "other"])
  }

  @Test("A claim of an inner level costs as much among many that wait as among few")
  func innerClaims() async throws {
    func costOfEach(among count: Int) async throws -> Duration {
      let queue = ProcedureQueue("q", resources: ResourceTable())
      let (started, release) = (Signal(), Signal())
      let holder = queue.add(
        ProcedureTask("holder") {
          started.set()
          await release.wait()
        }.exclusive("x"))
      await started.wait()
      let inner = ProcedureTask("inner") {}.exclusive("x").map {}
      let start = ContinuousClock.now
      let handles = (0..<count).map { _ in queue.add(inner) }
      release.set()
      for handle in handles { try await handle.value }
      try await holder.value
      return (ContinuousClock.now - start) / count
    }
    // A search through all that wait for each claim would cost twenty times as much.
    let (few, many) = (try await costOfEach(among: 200), try await costOfEach(among: 4_000))
    #expect(many < few * 8 + .milliseconds(1))
  }
}

extension ProcedureOutcome {
  fileprivate var isFinished: Bool { if case .finished = self { true } else { false } }
}
