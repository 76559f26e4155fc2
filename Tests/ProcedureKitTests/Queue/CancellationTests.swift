import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

/// Tests what `CancelRules` does not cover for each way of running: the order of admission, several runs, and random times.
@Suite(.timeLimit(.minutes(10))) struct CancellationTests {
  @Test("C1: the first cancellation wins, and one after the body has returned is ignored")
  func firstCancelWins() async throws {
    let queue = ProcedureQueue("q")
    let started = Signal()
    let handle = queue.add(
      ProcedureTask {
        started.set()
        await untilCancelled()
      })
    await started.wait()
    handle.cancel(TestError(code: 1))
    handle.cancel(TestError(code: 2))
    await #expect(throws: TestError(code: 1)) { try await handle.value }

    let done = queue.add(ProcedureTask { 7 })
    #expect(try await done.value == 7)
    done.cancel(TestError(code: 3))
    #expect(await done.outcome.value == 7)
    #expect(try await done.value == 7)
  }

  @Test(
    "C1: a cancellation of the caller while end hooks execute does not change the outcome that they received",
    arguments: [false, true], [false, true])
  func cancelledInHooks(hasQueue: Bool, atTheVeryEnd: Bool) async throws {
    let (called, gate) = (Signal(), Signal())
    let procedure = ProcedureTask<Void, Int> {
      try await #require(ProcedureContext.current).produce(ProcedureTask { 1 }).value
    }
    let hooked =
      atTheVeryEnd
      ? procedure.onDidFinish { _ in
        called.set()
        await gate.wait()
      }
      : procedure.onWillFinish { _ in
        called.set()
        await gate.wait()
      }
    let caller = Task {
      hasQueue ? try await ProcedureQueue("q").run(hooked) : try await hooked.execute()
    }
    await called.wait()
    caller.cancel()
    gate.set()
    #expect(try await caller.value == 1)
  }

  @Test("C2: a run that is cancelled while it waits for a dependency, a slot or a condition never executes its body")
  func cancelBeforeBody() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let release = Signal()
    let ran = Box(0)
    let body = ProcedureTask { ran.update { $0 += 1 } }
    let blocker = queue.add(ProcedureTask { await release.wait() })
    let waitsForDependency = queue.add(body, after: [blocker])
    let waitsForSlot = queue.add(body)
    let evaluating = Signal()
    let waitsForCondition = queue.add(
      body.condition("never") {
        evaluating.set()
        await untilCancelled()
        return true
      })
    await evaluating.wait()
    #expect(waitsForDependency.state == .pending)
    #expect(waitsForSlot.state == .waiting)
    #expect(waitsForCondition.state == .evaluating)
    for handle in [waitsForDependency, waitsForSlot, waitsForCondition] {
      handle.cancel()
      // The blocker is still executing, so only the cancellation can have finished the run.
      await #expect(throws: CancellationError.self) { try await handle.value }
      let events = await handle.events.reduce(into: [String]()) { $0.append($1.shortName) }
      #expect(events == ["didAttach", "didCancel", "willFinish", "didFinish"])
    }
    release.set()
    try await blocker.value
    await queue.waitUntilIdle()
    #expect(ran.value == 0)
    // The queue still has its one slot.
    #expect(try await queue.run(ProcedureTask { 1 }) == 1)
  }

  @Test("C4: a caller of `run` that is cancelled while it is waiting for a slot returns immediately")
  func cancelWaitingCaller() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let release = Signal()
    let blocker = queue.add(ProcedureTask { await release.wait() })
    let ran = Box(false)
    var events = queue.events.makeAsyncIterator()
    let caller = Task { try await queue.run(ProcedureTask("waiter") { ran.update { $0 = true } }) }
    while let event = await events.next() { if event.name == "waiter" { break } }
    caller.cancel()
    await #expect(throws: CancellationError.self) { try await caller.value }
    release.set()
    try await blocker.value
    #expect(!ran.value)
    #expect(try await queue.run(ProcedureTask { 3 }) == 3)
  }

  @Test("C6: cancelling one run affects neither the next runs of its worker nor its neighbours")
  func cancelDisturbsNobody() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 2)
    for _ in 0..<100 {
      let bothStarted = [Signal(), Signal()]
      let victim = queue.add(
        ProcedureTask {
          bothStarted[0].set()
          await untilCancelled()
        })
      let release = Signal()
      let neighbour = queue.add(
        ProcedureTask {
          bothStarted[1].set()
          await release.wait()
          return Task.isCancelled
        })
      let successors = (0..<4).map { _ in queue.add(ProcedureTask { Task.isCancelled }) }
      for signal in bothStarted { await signal.wait() }
      victim.cancel()
      for successor in successors { #expect(try await successor.value == false) }
      release.set()
      #expect(try await neighbour.value == false)
    }
  }

  @Test("C2, C3: cancelAll cancels waiting and executing procedures with its reason, but no later ones")
  func cancelAll() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let started = Signal()
    let executing = queue.add(
      ProcedureTask {
        started.set()
        await untilCancelled()
      })
    let waiting = (0..<10).map { _ in queue.add(ProcedureTask {}) }
    await started.wait()
    queue.cancelAll(TestError(code: 4))
    for handle in [executing] + waiting {
      await #expect(throws: TestError(code: 4)) { try await handle.value }
    }
    #expect(try await queue.add(ProcedureTask { 1 }).value == 1)
  }

  @Test("C1, C3: 10,000 runs that are cancelled at random moments finish or are cancelled, and leave nothing behind")
  func cancelAtRandomMoments() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 3)
    let counts = Box((ran: 0, live: 0))
    var cancelled = 0
    var finished = 0
    for batch in 0..<10 {
      let handles = (0..<1_000).map { _ in
        queue.add(
          ProcedureTask {
            counts.update {
              $0.ran += 1
              $0.live += 1
            }
            await Task.yield()
            counts.update { $0.live -= 1 }
          })
      }
      var order = handles
      var random = SeededGenerator(seed: UInt64(batch))
      order.shuffle(using: &random)
      await withTaskGroup(of: Void.self) { group in
        for half in [order.prefix(500), order.suffix(500)] {
          group.addTask { for handle in half { handle.cancel() } }
        }
      }
      for handle in handles {
        switch await handle.outcome {
        case .finished: finished += 1
        case .cancelled: cancelled += 1
        case .failed, .ignored: Issue.record("batch \(batch): \(handle)")
        }
      }
    }
    await queue.waitUntilIdle()
    #expect(cancelled + finished == 10_000)
    #expect(cancelled > 0)
    #expect(counts.value.live == 0)
    #expect(try await queue.run(ProcedureTask { 1 }) == 1)
  }

  enum Place: CaseIterable { case run, add, node, nodeOfWorker }

  @Test(
    "C2: a task group cancels the procedure that its child task calls, wherever the body executes",
    arguments: Place.allCases)
  func taskGroup(in place: Place) async throws {
    let (queue, executed) = (ProcedureQueue("q"), Box(0))
    let body = ProcedureTask("body") {
      await withTaskGroup(of: Void.self) { group in
        group.addTask {
          await untilCancelled()
          try? await ProcedureTask("called") { executed.update { $0 += 1 } }.called()
        }
        group.cancelAll()
      }
    }
    switch place {
    case .run: try await queue.run(body)
    case .add: try await queue.add(body).value
    case .node: try await queue.run(ProcedureGraph("graph") { g in g.add(body) })
    case .nodeOfWorker:
      try await queue.run(
        ProcedureGraph("graph", returning: Void.self) { g in
          g.add(body)
          g.add(body)
        })
    }
    #expect(executed.value == 0)
  }

  @Test("C2, C3: cancelAll ends the wait of a run for its turn on a suspended queue, and for a condition")
  func cancelAllEndsWaits() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let (inFirst, go, evaluating) = (Signal(), Signal(), Signal())
    let chain = ProcedureGraph("chain", returning: Void.self) { g in
      let first = g.add(
        ProcedureTask {
          inFirst.set()
          await go.wait()
        })
      g.add(ProcedureTask { Issue.record("started on a suspended queue") }, after: [first])
    }
    let graph = Task { try await queue.run(chain) }
    await inFirst.wait()
    queue.suspend()
    go.set()
    queue.cancelAll()
    await #expect(throws: CancellationError.self) { try await graph.value }
    queue.resume()
    let condition = Task {
      try await queue.run(
        ProcedureTask { Issue.record("executed") }.condition("patient") {
          evaluating.set()
          await untilCancelled()
          return true
        })
    }
    await evaluating.wait()
    queue.cancelAll(TestError(code: 2))
    await #expect(throws: TestError(code: 2)) { try await condition.value }
    await queue.waitUntilIdle()
  }

  @Test("C2: a procedure that a body runs after cancelAll has reached the body does not start")
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
    queue.cancelAll(TestError(code: 3))
    go.set()
    await #expect(throws: TestError(code: 3)) { try await caller.value }
  }

  @Test("C3: a nested run is cancelled even if its parent is cancelled during its admission")
  func cancelledDuringAdmission() async throws {
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
}
