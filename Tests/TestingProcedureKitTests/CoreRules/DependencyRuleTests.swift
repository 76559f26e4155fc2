import TestSupport
import Testing
import TestingProcedureKit

@Suite("Rules D1 to D4 under every order: dependencies and graphs", .timeLimit(.atDepth))
struct DependencyRuleTests {
  @Test(
    "D1, D2: the outcomes of a dependency and its dependent on another queue agree, whether they finish or are cancelled"
  )
  func finishOrCancel() async throws {
    try await exploreRace(
      "finished finished", "finished cancelled", "cancelled cancelled", schedules: TestDepth.count(2_000)
    ) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 2)
      let other = env.makeQueue("other")
      let hasStarted = Locked(false)
      let first = other.add(
        ProcedureTask("first") {
          await pause(env, upTo: 4)
          return 21
        })
      // The first procedure may have finished when the second is added.
      if env.random.below(2) == 0 { await pause(env) }
      let second = queue.add(
        ProcedureTask("second") { (value: Int) in
          hasStarted { $0 = true }
          await pause(env, upTo: 2)
          return value * 2
        }, from: first)
      let last = queue.add(
        ProcedureTask("last") { (result: Result<Int, any Error>) in (try? result.get()) ?? -1 },
        from: second.catchingErrors())
      let victim = env.random.below(3)
      await pause(env, upTo: 10)
      if victim == 0 { first.cancel(Reason()) }
      if victim == 1 { second.cancel(Reason()) }
      let (firstOutcome, secondOutcome) = (await first.outcome, await second.outcome)
      if firstOutcome.isCancelled {
        env.check(secondOutcome.cancellationReason is Reason && !hasStarted.value, "\(secondOutcome)")
      } else {
        env.check(firstOutcome.isFinished(21))
        env.check(secondOutcome.isFinished(42) || (victim == 1 && secondOutcome.isCancelled), "\(secondOutcome)")
      }
      env.check(await last.outcome.isFinished(secondOutcome.value ?? -1))
      env.tally("\(firstOutcome.label) \(secondOutcome.label)")
      await queue.shutDown()
      await other.shutDown()
    }
  }

  @Test("D4: the first failure of a graph cancels executing nodes, starts no more, and is thrown")
  func failFast() async throws {
    try await exploreRace(
      "neighbour finished", "neighbour cancelled", "follower started", schedules: TestDepth.count(2_000)
    ) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1 + env.random.below(3))
      let log = Locked<[String]>([])
      let graph = ProcedureGraph("graph", returning: Void.self) { g in
        let input = g.add(ProcedureTask("input") { 1 })
        g.add("failing", from: input) { _ in
          await pause(env, upTo: 4)
          log { $0.append("failed") }
          throw Reason()
        }
        let neighbour = g.add("neighbour", from: input) { value in
          await pause(env, upTo: 4)
          log { $0.append(Task.isCancelled ? "neighbour cancelled" : "neighbour finished") }
          return value
        }
        g.add("follower", from: neighbour) { _ in
          log { $0.append("follower started") }
          await pause(env, upTo: 4)
          log { $0.append("follower ended") }
        }
      }
      let error = await #expect(throws: Reason.self) {
        if env.random.below(2) == 0 { try await queue.run(graph) } else { try await queue.add(graph).value }
      }
      env.check(error == Reason())
      let seen = log.value
      for line in seen { env.tally(line) }
      env.check(seen.contains("failed"))
      env.check(seen.contains("follower started") == seen.contains("follower ended"), "\(seen)")
      if let failure = seen.firstIndex(of: "failed") {
        env.check(!seen[failure...].dropFirst(2).contains("follower started"), "\(seen)")
      }
      await queue.shutDown()
      env.check(log.value == seen, "everything had ended")
    }
  }

  @Test("D4: a graph with `collect` executes every node that does not depend on a failure, and reports all failures")
  func continuesAfterFailure() async throws {
    try await exploreRace("one two", "two one", "cancelled", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1 + env.random.below(3))
      let log = Locked<[String]>([])
      let graph = ProcedureGraph("graph", returning: Void.self) { (g: GraphBuilder) -> Void in
        for name in ["one", "two"] {
          let failing = g.add(
            ProcedureTask(name) {
              await pause(env, upTo: 4)
              log { $0.append(name) }
              throw Reason(text: name)
            })
          g.add("after \(name)", from: failing) { (_: Void) in log { $0.append("after \(name)") } }
        }
        let fine = g.add(ProcedureTask("fine") { await pause(env, upTo: 4) })
        g.add("after fine", from: fine) { (_: Void) in log { $0.append("after fine") } }
      }
      let handle = queue.add(graph.onFailure(.collect))
      async let cancel: Void = {
        await pause(env, upTo: 40)
        handle.cancel()
      }()
      let outcome = await handle.outcome
      let seen = log.value
      env.check(!seen.contains("after one") && !seen.contains("after two"), "\(seen)")
      if let failures = outcome.procedureError?.failures, !failures.isEmpty {
        let reported = failures.compactMap { ($0.error as? Reason)?.text }
        env.check(
          reported == seen.filter { $0 != "after fine" } && seen.contains("after fine"), "\(reported), but \(seen)")
        env.check(failures.map(\.procedure.name) == reported && outcome.procedureError?.kind == .childrenFailed)
        env.tally(reported.joined(separator: " "))
      } else {
        env.check(outcome.isCancelled, "\(outcome)")
        env.tally("cancelled")
      }
      await cancel
      await queue.shutDown()
    }
  }

  @Test("C8: no node of a long chain starts after the graph is cancelled", arguments: [false, true])
  func cancelledChain(isStructured: Bool) async throws {
    try await exploreRace("cancelled", "finished", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 2)
      let started = Locked(0)
      let link = ProcedureTask { (_: Int) in
        let number = started {
          $0 += 1
          return $0
        }
        if number % 10 == 0 { await Task.yield() }
        if number % 15 == 0 { env.clock.advance(by: .milliseconds(10)) }  // the worker yields for this call
        return 1
      }
      let graph = ProcedureGraph("chain") { (g: GraphBuilder) -> Node<Int> in
        (0..<60).reduce(g.add(ProcedureTask { 1 })) { node, _ in g.add(link, from: node) }
      }
      let task = Task(executorPreference: env.executor) { try await queue.run(graph) }
      let handle = isStructured ? nil : queue.add(graph)
      if !isStructured { task.cancel() }
      try await eventually { started.value != 0 }
      await pause(env, upTo: 12)
      if let handle { handle.cancel() } else { task.cancel() }
      let before = started.value
      if let handle { _ = await handle.outcome } else { _ = await task.result }
      env.check(started.value == before, "\(started.value - before) links started after the cancellation")
      env.tally(started.value < 60 ? "cancelled" : "finished")
      await queue.shutDown()
    }
  }

  @Test("Q1: graphs on one queue share its width, and all of them finish", arguments: [2, 3])
  func severalGraphs(width: Int) async throws {
    try await exploreRace("\(width - 1) at once", "\(width) at once", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: width)
      let monitor = ConcurrencyMonitor()
      let graph = ProcedureGraph("graph", returning: Void.self) { (g: GraphBuilder) -> Void in
        let layer = (0..<2).map { number in
          g.add(
            ProcedureTask("layer \(number)") {
              monitor.enter()
              await pause(env, upTo: 2)
              monitor.leave()
              return number
            })
        }
        g.add(ProcedureTask("last") { (_: [Int]) in await Task.yield() }, from: layer)
      }
      let handles = (0..<width).map { _ in env.watch(queue.add(graph)) }
      for handle in handles { env.check(await handle.outcome.isFinished) }
      env.check(monitor.most <= width && monitor.total == width * 2)
      env.tally("\(monitor.most) at once")
      await queue.shutDown()
    }
  }

  @Test(
    "C8: cancelling a graph cancels its executing nodes, starts no more nodes, and waits for them to end",
    arguments: [false, true])
  func cancelledGraph(isObserved: Bool) async throws {
    try await exploreRace("finished", "cancelled", "never started", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1 + env.random.below(3))
      let recorder = isObserved ? env.recordEvents(of: queue) : nil
      let monitor = ConcurrencyMonitor()
      let graph = ProcedureGraph("graph") { g in
        let layer = (0..<3).map { number in
          g.add(
            ProcedureTask("layer \(number)") {
              monitor.enter()
              await pause(env, upTo: 2)
              monitor.leave()
              return number
            })
        }
        return g.add(ProcedureTask("sum") { (values: [Int]) in values.reduce(0, +) }, from: layer)
      }
      let handle = queue.add(graph)
      await pause(env, upTo: 16)
      handle.cancel(Reason())
      let outcome = await handle.outcome
      env.check(monitor.current == 0, "everything had ended")
      env.check(outcome.isFinished(3) || outcome.cancellationReason(as: Reason.self) == Reason(), "\(outcome)")
      env.tally(outcome.isFinished ? "finished" : monitor.total == 0 ? "never started" : "cancelled")
      let total = monitor.total
      await queue.shutDown()
      env.check(monitor.total == total, "no node starts after the cancellation")
      if let recorder {
        try await recorder.waitUntilEnded()
        env.check(recorder.events.orderViolations().isEmpty, "\(recorder.events.orderViolations())")
      }
    }
  }
}
