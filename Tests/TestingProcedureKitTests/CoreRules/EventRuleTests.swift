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
    try await exploreRace("early", "in between", "late", "finished", "cancelled", schedules: TestDepth.count(2_000)) {
      env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let recorder = EventRecorder(queue)
      queue.add(ProcedureTask { await pause(env, upTo: 2) })
      let handle = queue.add(ProcedureTask { await pause(env, upTo: 4) })
      async let cancel: Void = {
        await pause(env, upTo: 14)
        handle.cancel()
      }()
      let heard = await withTaskGroup(of: [ProcedureEvent.Kind].self) { group in
        for _ in 0..<3 {
          group.addTask {
            await pause(env, upTo: 12)
            let state = handle.state
            env.tally(state < .executing ? "early" : state < .finished ? "in between" : "late")
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
}
