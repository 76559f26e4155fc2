import TestSupport
import Testing
import TestingProcedureKit

@Suite("Rules L1 and L2 under every order: states and events", .timeLimit(.atDepth))
struct EventRuleTests {
  @Test("L1: an observer sees the states of a run only move forward, up to a single finish")
  func states() async throws {
    try await exploreRace(
      "pending", "evaluating", "waiting", "executing", "finished", "cancelled", schedules: TestDepth.count(2_000)
    ) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let first = queue.add(ProcedureTask { await pause(env, upTo: 3) })
      let handle = queue.add(
        ProcedureTask { await pause(env, upTo: 3) }.condition("slow") {
          await pause(env, upTo: 3)
          return true
        }, after: env.random.below(2) == 0 ? [first] : [])
      async let cancel: Void = {
        await pause(env, upTo: 16)
        if env.random.below(2) == 0 { handle.cancel() }
      }()
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<2 {
          group.addTask {
            var last = ProcedureState.pending
            while last != .finished {
              let state = handle.state
              env.check(last <= state, "from \(last) to \(state)")
              if state != .finished { env.tally("\(state)") }
              last = state
              await Task.yield()
            }
          }
        }
      }
      env.tally(await handle.outcome.label)
      env.check(handle.state == .finished)
      await cancel
      await queue.shutDown()
    }
  }

  @Test("L2: all subscribers get the same events of a run in the same order, however late they subscribe")
  func lateSubscribers() async throws {
    try await exploreRace(
      "early", "in between", "in the hook", "late", "finished", "cancelled", schedules: TestDepth.count(2_000)
    ) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let recorder = EventRecorder(queue)
      queue.add(ProcedureTask { await pause(env, upTo: 2) })
      let body = ProcedureTask { await pause(env, upTo: 4) }
      let handle = queue.add(body.onWillFinish { _ in await pause(env, upTo: 4) })
      async let cancel: Void = {
        await pause(env, upTo: 14)
        handle.cancel()
      }()
      let heard = await withTaskGroup(of: [ProcedureEvent.Kind].self) { group in
        for _ in 0..<3 {
          group.addTask {
            await pause(env, upTo: 12)
            let state = handle.state
            env.tally(
              state < .executing
                ? "early" : state == .finished ? "late" : state == .finishing ? "in the hook" : "in between")
            return await handle.allEvents().steps()
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      await cancel
      await queue.shutDown()
      try await recorder.waitUntilEnded()
      let steps = recorder.steps(of: handle.id)
      env.check(heard.allSatisfy { $0 == steps }, "\(heard), but \(steps)")
      env.check(recorder.events.orderViolations().isEmpty, "\(recorder.events.orderViolations())")
      env.tally(await handle.outcome.label)
    }
  }

  @Test(
    "L2: a repetition that is cancelled or stopped in its pause, and then awaits a child, reports the end of its body once",
    arguments: [false, true])
  func endInPause(isStopped: Bool) async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let queue = env.makeQueue()
      let repeated = ProcedureTask {}.repeating(.constant(.seconds(10))) { _ in
        let context = ProcedureContext.current
        // A child in a shield ends some time after its parent was cancelled.
        context?.produce(
          ProcedureTask("shielded") {
            try await ProcedureContext.current?.shielded { try await env.clock.sleep(for: .seconds(2)) }
          })
        if isStopped { context?.produce(ProcedureTask("fails") { throw Reason() }.delay(.seconds(1))) }
        return true
      }
      let handle = queue.add(repeated)
      try await env.clock.sleep(for: .seconds(1))
      if !isStopped { handle.cancel() }
      let steps = await handle.allEvents().steps()
      env.check(steps.count { $0 == .didExecute } == 1, "\(steps)")
      await queue.shutDown()
    }
  }

  @Test("L2: a subscriber that stops at any time does not affect the others")
  func unsubscribing() async throws {
    try await exploreRace("stopped early", "heard all", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue()
      let handle = queue.add(ProcedureTask { await pause(env, upTo: 4) })
      let task = Task(executorPreference: env.executor) {
        var count = 0
        for await _ in handle.events { count += 1 }
        return count
      }
      await pause(env, upTo: 12)
      task.cancel()
      let steps = await handle.allEvents().steps()
      env.check(steps == [.didAttach, .willExecute, .didExecute, .willFinish, .didFinish], "\(steps)")
      env.tally(await task.value < steps.count ? "stopped early" : "heard all")
      env.check(await handle.outcome.isFinished)
      await queue.shutDown()
    }
  }

  @Test("L2: work that outlives the body adds no event to the run, either before didFinish or after it")
  func lateReports() async throws {
    let queue = ProcedureQueue("q")
    let recorder = EventRecorder(queue)
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
    let complete: [ProcedureEvent.Kind] = [.didAttach, .willExecute, .didExecute, .willFinish, .didFinish]
    #expect(await handle.allEvents().steps() == complete)
    await queue.shutDown()
    try await recorder.waitUntilEnded()
    #expect(recorder.steps() == complete)
  }

  @Test("L2: a refused run has no didAttach, regardless of what it would have waited for")
  func refused() async throws {
    let queue = ProcedureQueue("q")
    await queue.shutDown()
    for task in [ProcedureTask {}, ProcedureTask {}.condition("c") { true }, ProcedureTask {}.onWillFinish { _ in }] {
      let handle = queue.add(task)
      await #expect(throws: ProcedureError.self) { try await handle.value }
      #expect(await handle.allEvents().steps() == [.willFinish, .didFinish])
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
}
