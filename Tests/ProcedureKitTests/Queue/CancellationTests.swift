import ProcedureKit
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct CancellationTests {
  @Test("C1: the first cancel wins; one after the body has returned is ignored")
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
    "C4: where the caller is cancelled, what its procedure comes to is not used, with a queue and without",
    arguments: [false, true], [false, true])
  func cancelledCaller(hasQueue: Bool, fails: Bool) async {
    let (started, told) = (Signal(), Box<[String]>([]))
    let procedure = ProcedureTask<Void, Int> {
      started.set()
      await untilCancelled()
      if fails { throw TestError(code: 4) }
      return 1
    }
    .onDidFinish { outcome in told.update { $0.append("\(outcome)") } }
    let caller = Task {
      hasQueue ? try await ProcedureQueue("q").run(procedure) : try await procedure.execute()
    }
    await started.wait()
    caller.cancel()
    await #expect(throws: CancellationError.self) { try await caller.value }
    #expect(told.value.count == 1 && told.value[0].contains("cancelled"))
  }

  @Test(
    "C1: where the caller is cancelled while the hooks of the end are called, what they were told holds",
    arguments: [false, true], [false, true])
  func cancelledInHooks(hasQueue: Bool, atTheVeryEnd: Bool) async throws {
    let (called, goOn) = (Signal(), Signal())
    let procedure = ProcedureTask<Void, Int> {
      try await #require(ProcedureContext.current).produce(ProcedureTask { 1 }).value
    }
    let hooked =
      atTheVeryEnd
      ? procedure.onDidFinish { _ in
        called.set()
        await goOn.wait()
      }
      : procedure.onWillFinish { _ in
        called.set()
        await goOn.wait()
      }
    let caller = Task {
      hasQueue ? try await ProcedureQueue("q").run(hooked) : try await hooked.execute()
    }
    await called.wait()
    caller.cancel()
    goOn.set()
    #expect(try await caller.value == 1)
  }

  @Test("C2: a cancel while conditions are evaluated: the body never runs", arguments: [false, true], [false, true])
  func cancelledAtConditions(hasQueue: Bool, hasHooks: Bool) async throws {
    let (evaluating, goOn) = (Signal(), Signal())
    let ran = Box(0)
    let body = ProcedureTask { ran.update { $0 += 1 } }.condition("slow") {
      evaluating.set()
      await goOn.wait()
      return true
    }
    let procedure = hasHooks ? body.onDidFinish { _ in } : body
    let caller = Task {
      if hasQueue { try await ProcedureQueue("q").run(procedure) } else { try await procedure.execute() }
    }
    await evaluating.wait()
    caller.cancel()
    goOn.set()
    await #expect(throws: CancellationError.self) { try await caller.value }
    #expect(ran.value == 0)
  }

  @Test("C2: a caller that was cancelled before executes no body", arguments: [false, true], [false, true])
  func callerCancelledBefore(hasQueue: Bool, hasHooks: Bool) async throws {
    let (ran, told) = (Box(0), Box<[String]>([]))
    let body = ProcedureTask { ran.update { $0 += 1 } }
    let procedure = hasHooks ? body.onDidFinish { outcome in told.update { $0.append("\(outcome)") } } : body
    let isCancelled = Signal()
    let caller = Task {
      await isCancelled.wait()
      if hasQueue { try await ProcedureQueue("q").run(procedure) } else { try await procedure.execute() }
    }
    caller.cancel()
    isCancelled.set()
    await #expect(throws: CancellationError.self) { try await caller.value }
    #expect(ran.value == 0)
    #expect(told.value == (hasHooks ? ["cancelled"] : []))
  }

  @Test("C2: a cancel before the body starts: the body never runs, whatever the run was waiting for")
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
      // The blocker still executes: nothing but the cancel can have finished it.
      await #expect(throws: CancellationError.self) { try await handle.value }
      let events = await handle.events.reduce(into: [String]()) { $0.append($1.shortName) }
      #expect(events == ["didAttach", "didCancel", "willFinish", "didFinish"])
    }
    release.set()
    try await blocker.value
    await queue.waitUntilIdle()
    #expect(ran.value == 0)
    // Nothing that the cancelled ones had queued for is lost: the queue still has its one slot.
    #expect(try await queue.run(ProcedureTask { 1 }) == 1)
  }

  @Test("C2: a condition that ignores a cancel does not keep an added procedure from finishing")
  func stubbornCondition() async throws {
    let queue = ProcedureQueue("q")
    let evaluating = Signal()
    let release = Signal()
    let handle = queue.add(
      ProcedureTask {}.condition("stubborn") {
        evaluating.set()
        await release.wait()
        return true
      })
    await evaluating.wait()
    handle.cancel()
    await #expect(throws: CancellationError.self) { try await handle.value }
    release.set()
    #expect(try await queue.add(ProcedureTask { 1 }).value == 1)
  }

  @Test("C3: a body that is cancelled sees it, its handlers run, and the outcome is cancelled whatever it returns")
  func cancelWhileExecuting() async throws {
    let queue = ProcedureQueue("q")
    for throwsInstead in [false, true] {
      let started = Signal()
      let handlerRan = Box(false)
      let sawCancel = Box(false)
      let handle = queue.add(
        ProcedureTask {
          let cancelled = Signal()
          await withTaskCancellationHandler {
            started.set()
            await cancelled.wait()
          } onCancel: {
            handlerRan.update { $0 = true }
            cancelled.set()
          }
          sawCancel.update { $0 = Task.isCancelled }
          if throwsInstead { throw TestError(code: 9) }
          return 5
        })
      await started.wait()
      handle.cancel()
      let outcome = await handle.outcome
      guard case .cancelled(reason: nil) = outcome else {
        Issue.record("\(outcome)")
        return
      }
      #expect(handlerRan.value && sawCancel.value)
      let events = await handle.events.reduce(into: [String]()) { $0.append($1.shortName) }
      #expect(events == ["didAttach", "willExecute", "didCancel", "didExecute", "willFinish", "didFinish"])
    }
  }

  @Test("C4: cancelling the caller of run cancels the procedure, and run returns only when the body has")
  func cancelCallerOfRun() async throws {
    let queue = ProcedureQueue("q")
    let started = Signal()
    let release = Signal()
    let bodyEnded = Box(false)
    let caller = Task {
      try await queue.run(
        ProcedureTask {
          started.set()
          await untilCancelled()
          await release.wait()
          bodyEnded.update { $0 = true }
          return 1
        })
    }
    await started.wait()
    caller.cancel()
    release.set()
    await #expect(throws: CancellationError.self) { try await caller.value }
    #expect(bodyEnded.value)
  }

  @Test("C4: a caller of run that is cancelled while it waits for a slot gives up at once")
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

  @Test("C4: cancelling a task that awaits a value ends the wait, and not the procedure")
  func awaitingFromCancelledTask() async throws {
    let queue = ProcedureQueue("q")
    let release = Signal()
    let handle = queue.add(
      ProcedureTask {
        await release.wait()
        return Task.isCancelled ? 0 : 1
      })
    let reader = Task { try await handle.value }
    reader.cancel()
    await #expect(throws: CancellationError.self) { try await reader.value }
    release.set()
    #expect(try await handle.value == 1)
  }

  @Test("C6: cancelling one run disturbs neither its worker's successors nor its neighbours")
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

  @Test("cancelAll cancels what waits and what executes, with its reason, and nothing that comes later")
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
    await queue.cancelAll(TestError(code: 4))
    for handle in [executing] + waiting {
      await #expect(throws: TestError(code: 4)) { try await handle.value }
    }
    #expect(try await queue.add(ProcedureTask { 1 }).value == 1)
  }

  @Test("cancelAll reaches a run through its context, without cancelling the caller's task")
  func cancelAllReachesRun() async throws {
    let queue = ProcedureQueue("q")
    let started = Signal()
    let go = Signal()
    let caller = Task { () -> Bool in
      await #expect(throws: TestError(code: 5)) {
        try await queue.run(
          ProcedureTask {
            started.set()
            await go.wait()
            #expect(ProcedureContext.current?.isCancelled == true)
            #expect(ProcedureContext.current?.cancellationReason as? TestError == TestError(code: 5))
          })
      }
      return Task.isCancelled
    }
    await started.wait()
    await queue.cancelAll(TestError(code: 5))
    go.set()
    #expect(await caller.value == false)
  }

  @Test("C1, C3: 10,000 handles cancelled at random moments end as cancelled or finished, and nothing is left behind")
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

  @Test("C2, C3: cancelAll ends the wait of a run for its turn on a suspended queue, and for a condition")
  func cancelAllEndsWaits() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let (inFirst, go, evaluating) = (Signal(), Signal(), Signal())
    let chain = ProcedureGraph("chain") { g in
      let first = g.add(
        ProcedureTask {
          inFirst.set()
          await go.wait()
        })
      g.add(ProcedureTask { Issue.record("started on a suspended queue") }, after: [first])
    }
    let graph = Task { try await queue.run(chain) }
    await inFirst.wait()
    await queue.suspend()
    go.set()
    await queue.cancelAll()
    await #expect(throws: CancellationError.self) { try await graph.value }
    await queue.resume()
    let condition = Task {
      try await queue.run(
        ProcedureTask { Issue.record("executed") }.condition("patient") {
          evaluating.set()
          await untilCancelled()
          return true
        })
    }
    await evaluating.wait()
    await queue.cancelAll(TestError(code: 2))
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
    await queue.cancelAll(TestError(code: 3))
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
