import TestSupport
import Testing
import TestingProcedureKit

@Suite("Q3, T2: a pause holds nothing, and ends immediately when cancelled", .timeLimit(.atDepth))
struct PauseRuleTests {
  @Test("During a pause, other runs can use the slot and the categories", arguments: [false, true])
  func holdsNothing(isAdded: Bool) async throws {
    try await exploreSchedules(TestDepth.count(500)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let monitor = ConcurrencyMonitor()
      let flaky = Flaky(failing: 2, env)
      let pausing = ProcedureTask { try await monitor.during("x") { try await flaky.execute() } }
        .exclusive("inner").retry(.constant(.seconds(10))).exclusive("x").shared("y")
      let other = ProcedureTask {
        await monitor.during("x") { await env.wait(until: .seconds(5)) }
      }.exclusive("x", "inner").exclusive("y")
      async let number = isAdded ? queue.add(pausing).value : queue.run(pausing)
      await env.wait(until: .seconds(1))
      let handle = env.watch(queue.add(other))
      env.check(await handle.outcome.isFinished)
      env.check(env.elapsed == .seconds(5))
      let value = try await number
      env.check(value == 3)
      env.check(flaky.starts.value == [.zero, .seconds(10), .seconds(20)], "\(flaky.starts.value)")
      env.check(monitor.most(in: "x") == 1 && env.resources.count == 0)
      await queue.shutDown()
    }
  }

  @Test("A run that took the slot or the category in the meantime keeps it, and the next attempt waits for both")
  func waitsForItsTurn() async throws {
    try await exploreSchedules(TestDepth.count(500)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let flaky = Flaky(failing: 1, env)
      let handle = env.watch(queue.add(flaky.retry(.constant(.seconds(1))).exclusive("x")))
      await env.settle()
      let slot = queue.add(ProcedureTask("slot") { await env.wait(until: .seconds(4)) })
      let category = env.makeQueue("other").add(
        ProcedureTask("category") { await env.wait(until: .seconds(7)) }.exclusive("x"))
      await env.wait(until: .seconds(2))
      // After the pause, the run waits for its resources, and then for the slot.
      env.check(handle.state == .waiting, "\(handle.state)")
      guard case .resources? = queue.snapshot().procedures.first?.wait else {
        return env.check(false, "\(queue.snapshot())")
      }
      env.check(try await handle.value == 2)
      env.check(flaky.starts.value == [.zero, .seconds(7)], "\(flaky.starts.value)")
      _ = await (slot.outcome, category.outcome)
      await queue.shutDown()
    }
  }

  @Test("A pause holds no slot, even if a task that the body has left behind waits for the slot when the pause begins")
  func leftBehind() async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let (queue, elsewhere) = (env.makeQueue(maxConcurrentProcedures: 1), env.makeQueue("elsewhere"))
      let late = Locked<Task<Void, any Error>?>(nil)
      let body = ProcedureTask("body") {
        guard ProcedureContext.current?.attempt == 1 else { return }
        let task = Task(executorPreference: env.executor) {
          try await elsewhere.run(ProcedureTask { await env.wait(until: .seconds(2)) })
        }
        late { $0 = task }
        await env.wait(until: .seconds(1))
        throw Reason()
      }
      let retried = body.retry(.constant(.seconds(5))) { _, _ in
        await env.wait(until: .seconds(3))
        return .retry
      }
      let handle = env.watch(queue.add(retried))
      await env.wait(until: .milliseconds(500))
      // This run has the slot that the body has released, and that the task of the body requests after two seconds.
      let other = queue.add(ProcedureTask("other") { await env.wait(until: .seconds(4)) })
      await env.wait(until: .milliseconds(4_500))
      try await other.value
      try await late.value?.value
      let third = env.watch(queue.add(ProcedureTask("third") { await env.wait(until: .seconds(5)) }))
      try await third.value
      env.check(env.elapsed == .seconds(5), "the slot was free after \(env.elapsed)")
      try await handle.value
      env.check(env.elapsed == .seconds(8), "finished after \(env.elapsed)")
      env.check(queue.snapshot().slotsInUse == 0)
      for queue in [queue, elsewhere] { await queue.shutDown() }
    }
  }

  @Test(
    "The failure of a produced child immediately ends a pause, and the wait for a slot after it", arguments: [2, 12])
  func failingChild(after seconds: Int) async throws {
    try await exploreRace("added", "run", schedules: TestDepth.count(500)) { env in
      let (queue, flaky) = (env.makeQueue(maxConcurrentProcedures: 1), Flaky(env))
      // This run has the slot after the first second.
      let other = queue.add(ProcedureTask("other") { await env.wait(until: .seconds(15)) }.delay(.seconds(1)))
      let failing = ProcedureTask("failing") {}.condition("late") {
        await env.wait(until: .seconds(seconds))
        throw Reason()
      }
      let procedure = flaky.retry(.constant(.seconds(10))).onWillExecute {
        ProcedureContext.current?.produce(failing)
      }
      do {
        if env.random.below(2) == 0 {
          env.tally("added")
          _ = try await queue.add(procedure).value
        } else {
          env.tally("run")
          _ = try await queue.run(procedure)
        }
        env.check(false, "finished")
      } catch let error as ProcedureError {
        env.check(error.kind == .conditionFailed, "\(error)")
      }
      env.check(env.elapsed == .seconds(seconds), "failed after \(env.elapsed)")
      env.check(flaky.starts.value == [.zero], "\(flaky.starts.value)")
      try await other.value
      await queue.shutDown()
      env.check(env.clock.sleeperCount == 0 && queue.snapshot().slotsInUse == 0)
    }
  }

  @Test("A suspended queue starts no attempt")
  func suspended() async throws {
    try await exploreSchedules(TestDepth.count(300)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let flaky = Flaky(failing: 1, env)
      let handle = env.watch(queue.add(flaky.retry(env.random.below(2) == 0 ? .immediate : .constant(.seconds(1)))))
      await pause(env, upTo: 4)
      queue.suspend()
      await env.wait(until: .seconds(3))
      let count = flaky.starts.value.count
      await env.wait(until: .seconds(5))
      env.check(flaky.starts.value.count == count && env.resources.count == 0)
      queue.resume()
      env.check(try await handle.value == 2)
      await queue.shutDown()
    }
  }

  @Test("A cancellation immediately ends a pause, and the wait for a slot after it")
  func cancelled() async throws {
    try await exploreRace("added", "run", "cancelAll", "timeout", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let flaky = Flaky(env)
      var procedure = flaky.retry(.constant(.seconds(10))).exclusive("x")
      let moment = Duration.seconds(2 + 10 * env.random.below(2))
      let way = env.random.below(4)
      if way == 3 { procedure = procedure.timeout(moment) }
      let ended = Locked<Duration?>(nil)
      let hooked = procedure.onDidFinish { _ in ended { $0 = env.elapsed } }
      let handle = way == 0 || way == 3 ? queue.add(hooked) : nil
      await withTaskGroup(of: Void.self) { group in
        if handle == nil { group.addTask { _ = try? await queue.run(hooked) } }
        await env.wait(until: .seconds(1))
        let blocker = queue.add(ProcedureTask("blocker") { await env.wait(until: .seconds(100)) })
        await env.wait(until: moment)
        switch way {
        case 0: handle?.cancel()
        case 1: group.cancelAll()
        case 2: queue.cancelAll()
        default: break
        }
        await group.waitForAll()
        _ = await handle?.outcome
        await env.settle()
        env.check(ended.value == moment, "ended at \(String(describing: ended.value)), not \(moment)")
        env.check(flaky.starts.value == [.zero], "\(flaky.starts.value)")
        env.check(env.resources.count == 0)
        env.check(way == 2 || queue.snapshot().slotsInUse == 1, "\(queue.snapshot())")
        _ = await blocker.outcome
      }
      env.tally(["added", "run", "cancelAll", "timeout"][way])
      env.check(env.clock.sleeperCount == 0)
      await queue.shutDown()
    }
  }

  @Test("A pause occupies no task: one sleeper serves a hundred pauses")
  func takesNoTask() async throws {
    try await exploreSchedules(TestDepth.count(60, least: 20)) { env in
      let queue = env.makeQueue()
      let handles = (1...100).map { number in
        queue.add(Flaky(failing: 1, env).retry(.constant(.milliseconds(number))).delay(.seconds(1)))
      }
      await env.settle()
      env.check(env.clock.sleeperCount == 1, "\(env.clock.sleeperCount)")
      env.check(handles.allSatisfy { $0.state == .pausing })
      let end = queue.snapshot().procedures.first?.wait
      env.check("\(end.map { "\($0)" } ?? "")".contains("pause"), "\(String(describing: end))")
      await env.wait(until: .microseconds(1_050_500))
      env.check(env.clock.sleeperCount == 1, "\(env.clock.sleeperCount)")
      for handle in handles { env.check(await handle.outcome.isFinished) }
      env.check(env.elapsed == .milliseconds(1_100), "\(env.elapsed)")
      await queue.shutDown()
    }
  }

  @Test(
    "One task sleeps for all timers of a queue: timeouts, deadlines, retries, delays, limits and hedges")
  func oneSleeper() async throws {
    try await exploreSchedules(TestDepth.count(60, least: 20)) { env in
      let queue = env.makeQueue()
      let limiter = RateLimiter(1, per: .seconds(100), clock: env.clock)
      let gate = ProbeProcedure()
      let endless = ProcedureTask { try await gate.execute(()) }
      let kinds: [ProcedureTask<Void, Void>] = [
        endless.timeout(.seconds(90)), endless.timeout(.seconds(91)).map {},
        endless.deadline(.init(offset: .seconds(92)), on: env.clock),
        ProcedureTask { throw Reason() }.retry(.constant(.seconds(93))), endless.delay(.seconds(94)),
        ProcedureTask {}.repeating(every: .seconds(95)), ProcedureTask {}.rateLimited(limiter),
        endless.hedged(after: .seconds(96)),
      ]
      var handles = (0..<5).flatMap { _ in kinds.map { queue.add($0) } }
      async let runs: Void = withTaskGroup { group in
        for kind in kinds { group.addTask { _ = try? await queue.run(kind) } }
      }
      await env.settle()
      env.check(env.clock.sleeperCount == 1, "\(env.clock.sleeperCount) sleep")
      env.check(env.clock.nextDeadline?.offset == .seconds(90))
      queue.cancelAll()
      handles.removeAll { $0.state == .finished }
      for handle in handles { _ = await handle.outcome }
      await runs
      env.check(env.clock.sleeperCount == 0 && queue.snapshot().slotsInUse == 0)
      await queue.shutDown()
    }
  }

  @Test("A body keeps its resources while a procedure that it calls pauses")
  func bodyKeepsItsHold() async throws {
    try await exploreSchedules(TestDepth.count(300)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let flaky = Flaky(failing: 1, env)
      let inner = flaky.exclusive("inner").retry(.constant(.seconds(10)))
      let body = queue.add(ProcedureTask("body") { try await inner.execute() }.exclusive("x"))
      await env.settle()
      let stranger = queue.add(ProcedureTask { env.elapsed }.exclusive("x"))
      let free = queue.add(ProcedureTask { env.elapsed }.exclusive("inner"))
      env.check(try await free.value < .seconds(1))
      env.check(try await stranger.value >= .seconds(10))
      env.check(try await body.value == 2)
      await queue.shutDown()
    }
  }

  @Test("A pausing node releases its slot and category, and cancelling the graph ends the pause")
  func node() async throws {
    try await exploreRace("finished", "cancelled", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let flaky = Flaky(failing: 2, env)
      let other = Locked<Duration?>(nil)
      let graph = ProcedureGraph("graph") { (g: GraphBuilder) -> Node<Int> in
        let node = g.add(flaky.exclusive("x").retry(.constant(.seconds(10))))
        g.add(ProcedureTask { other { $0 = env.elapsed } }.exclusive("x"))
        return node
      }
      let handle = env.watch(queue.add(graph))
      let moment = Duration.seconds(5 + 10 * env.random.below(3))
      await env.wait(until: .seconds(4))
      env.check(try await queue.run(ProcedureTask { 1 }.exclusive("x")) == 1)
      env.check(env.elapsed == .seconds(4) && other.value == .zero, "\(String(describing: other.value))")
      await env.wait(until: moment)
      handle.cancel()
      let outcome = await handle.outcome
      env.check(outcome.isCancelled == (moment < .seconds(20)) && env.elapsed == moment, "\(outcome)")
      env.check(env.resources.count == 0 && queue.snapshot().slotsInUse == 0 && env.clock.sleeperCount == 0)
      env.tally(outcome.isCancelled ? "cancelled" : "finished")
      await queue.shutDown()
    }
  }

  @Test("A delay holds the resources of the level around it, and none of its own", arguments: [false, true])
  func resourcesOfDelay(isAround: Bool) async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let (queue, other) = (env.makeQueue(), env.makeQueue("other"))
      let delayed = ProcedureTask {}.delay(.seconds(5))
      queue.add((isAround ? delayed.map {} : delayed).exclusive("x"))
      await env.wait(until: .seconds(1))
      env.check(await other.add(ProcedureTask {}.exclusive("x")).outcome.isFinished)
      env.check(env.elapsed == .seconds(isAround ? 5 : 1), "\(env.elapsed)")
      await queue.shutDown()
      await other.shutDown()
    }
  }

  @Test("A deadline in the past is refused without calling hooks")
  func pastDeadline() async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      let queue = env.makeQueue()
      let calls = Locked(0)
      let hooked = ProcedureTask { calls { $0 += 1 } }
        .onWillExecute { calls { $0 += 1 } }.onDidCancel { _ in calls { $0 += 1 } }
        .onWillFinish { _ in calls { $0 += 1 } }.onDidFinish { _ in calls { $0 += 1 } }
      await env.wait(until: .seconds(2))
      let late = hooked.deadline(.init(offset: .seconds(1)), on: env.clock)
      env.check(await queue.add(late).outcome.procedureError?.kind == .timedOut)
      do {
        try await queue.run(late)
        env.check(false, "executed")
      } catch {
        env.check((error as? ProcedureError)?.kind == .timedOut)
      }
      env.check(calls.value == 0, "\(calls.value)")
      await queue.shutDown()
    }
  }

  @Test("A delay that is not positive has no effect, and any other is exact", arguments: [-1, 0, 3])
  func delay(seconds: Int) async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      try await queue.run(ProcedureTask.delay(.seconds(seconds)))
      env.check(env.elapsed == .seconds(max(seconds, 0)))
      let value = try await queue.add(env.sleeper(for: .zero).delay(.seconds(seconds)), input: 7).value
      env.check(value == 7 && env.elapsed == .seconds(2 * max(seconds, 0)))
      await queue.shutDown()
    }
  }

  @Test("Without a queue, a procedure pauses on the clock of the process")
  func withoutQueue() async throws {
    let attempts = Locked(0)
    let task = ProcedureTask {
      if attempts({
        $0 += 1
        return $0
      }) < 3 {
        throw Reason()
      }
    }.exclusive("PauseRuleTests.withoutQueue").retry(.constant(.nanoseconds(1)))
    try await task.execute()
    #expect(attempts.value == 3)
  }

  @Test(
    "R4: of two executions of a layer, one reclaims its resource inside the enclosing layer while the other holds it",
    arguments: [false, true])
  func pausesTwiceAtOnce(hasOtherResource: Bool) async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let (queue, count) = (env.makeQueue(maxConcurrentProcedures: 3), Locked(0))
      let task = ProcedureTask("repeated") {
        count { $0 += 1 }
        await env.wait(until: env.elapsed + .seconds(3))
      }
      .repeating(.constant(.seconds(2)), maxCount: 2)
      .exclusive("x")
      .intercepted { _, next in
        async let other: Void = next()
        try await next()
        try await other
      }
      .exclusive("x")
      // The interceptor separates the layers. The outermost layer releases its resource, and the layer inside it keeps its own.
      let separated = task.intercepted { _, next in try await next() }.exclusive("y")
      try await queue.run(hasOtherResource ? separated : task)
      env.check(count.value == 4)
      await queue.shutDown()
    }
  }
}
