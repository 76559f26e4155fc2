import ProcedureKit
import ProcedureKitPacing
import TestSupport
import Testing
import TestingProcedureKit

@Suite("Batches", .timeLimit(.atDepth))
struct BatchedTests {
  /// A procedure that records its batches, and returns ten times each input, or an error for a multiple of 5.
  private func server(
    _ batches: Locked<[[Int]]>, _ env: ExplorationEnvironment
  ) -> ProcedureTask<[Int], [Result<Int, any Error>]> {
    ProcedureTask("server") { inputs in
      batches.update { $0.append(inputs) }
      await pause(env)
      return inputs.map { $0 % 5 == 0 ? .failure(Flaw(number: $0)) : .success($0 * 10) }
    }
  }

  @Test("Each run receives its own value or error, however it is run", arguments: Way.allCases)
  func ways(way: Way) async throws {
    try await exploreRace("two batches", "more batches", schedules: TestDepth.count(500)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: env.random.below(2) == 0 ? 1 : .max)
      let batches = Locked<[[Int]]>([])
      let single = server(batches, env).batched(maxSize: 4, within: .seconds(1))
      let outcomes = await withTaskGroup { group in
        for input in 1...5 {
          group.addTask {
            try? await env.clock.sleep(for: .milliseconds(env.random.below(3) * 1_100))
            return (input, await way.outcome(of: single, input, on: queue))
          }
        }
        return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
      }
      for input in 1...4 { env.check(outcomes[input]?.isFinished(input * 10) == true, "\(outcomes)") }
      env.check(outcomes[5]?.error as? Flaw == Flaw(number: 5), "\(outcomes)")
      env.check(batches.value.flatMap(\.self).sorted() == [1, 2, 3, 4, 5], "\(batches.value)")
      env.check(batches.value.allSatisfy { $0.count <= 4 })
      env.tally(batches.value.count == 2 ? "two batches" : "more batches")
      env.check(queue.snapshot().procedures.isEmpty)
      await queue.shutDown()
    }
  }

  @Test("A batch starts when it is full, or after its time, and with more than one batch in progress")
  func times() async throws {
    try await exploreSchedules(TestDepth.count(200)) { env in
      let queue = env.makeQueue()
      let batches = Locked<[(time: Duration, count: Int)]>([])
      let server = ProcedureTask("server") { (inputs: [Int]) in
        batches.update { $0.append((env.clock.now.offset, inputs.count)) }
        return inputs
      }
      let single = server.batched(maxSize: 3, within: .seconds(1))
      let handles = (1...4).map { queue.add(single, input: $0) }
      for (index, handle) in handles.enumerated() { env.check(try await handle.value == index + 1) }
      env.check(batches.value.map(\.time) == [.zero, .seconds(1)], "\(batches.value)")
      env.check(batches.value.map(\.count) == [3, 1], "\(batches.value)")
      await queue.shutDown()
    }
  }

  @Test("A cancelled run withdraws its input or its share, and does not disturb the others")
  func cancelled() async throws {
    try await exploreRace("withdrawn", "executed", "cancelled too late", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue()
      let batches = Locked<[[Int]]>([])
      let single = server(batches, env).batched(maxSize: 3, within: .seconds(1))
      let handles = (1...3).map { queue.add(single, input: $0) }
      let victim = env.random.below(3)
      await pause(env)
      handles[victim].cancel()
      for (index, handle) in handles.enumerated() where index != victim {
        env.check(await handle.outcome.isFinished((index + 1) * 10))
      }
      let outcome = await handles[victim].outcome
      let hasExecuted = batches.value.contains { $0.contains(victim + 1) }
      env.check(outcome.isCancelled || outcome.isFinished((victim + 1) * 10) && hasExecuted, "\(outcome)")
      env.tally(!outcome.isCancelled ? "cancelled too late" : hasExecuted ? "executed" : "withdrawn")
      env.check(queue.snapshot().procedures.isEmpty)
      await queue.shutDown()
    }
  }

  @Test("A batch whose runs have all been cancelled is cancelled, or does not start")
  func abandoned() async throws {
    try await exploreRace("not started", "cancelled", schedules: TestDepth.count(1_000)) { env in
      let queue = env.makeQueue()
      let (hasStarted, wasCancelled) = (Locked(false), Locked(false))
      let endless = ProcedureTask("server") { (inputs: [Int]) in
        hasStarted.update { $0 = true }
        do {
          try await env.clock.sleep(for: .seconds(3_600))
        } catch {
          wasCancelled.update { $0 = true }
        }
        return inputs
      }
      let single = endless.batched(maxSize: 2, within: .seconds(1))
      let handles = (1...2).map { queue.add(single, input: $0) }
      await pause(env, upTo: 12)
      for handle in handles { handle.cancel() }
      for handle in handles { env.check(await handle.outcome.isCancelled) }
      await queue.waitUntilIdle()
      env.check(hasStarted.value == wasCancelled.value)
      env.check(env.clock.now.offset < .seconds(1))
      env.tally(hasStarted.value ? "cancelled" : "not started")
      await queue.shutDown()
    }
  }

  @Test("The failure of a batch is that of each of its runs, as is a wrong number of results")
  func failures() async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let queue = env.makeQueue()
      let failing = ProcedureTask<[Int], [Int]>("server") { _ in throw Flaw(number: 1) }
      let short = ProcedureTask<[Int], [Int]>("server") { Array($0.dropLast()) }
      let first = failing.batched(maxSize: 2, within: .seconds(1))
      let second = short.batched(maxSize: 2, within: .seconds(1))
      let handles = [queue.add(first, input: 1), queue.add(first, input: 2)]
      for handle in handles { env.check(await handle.outcome.error as? Flaw == Flaw(number: 1)) }
      let others = [queue.add(second, input: 1), queue.add(second, input: 2)]
      for handle in others {
        let error = await handle.outcome.error as? BatchMismatch
        env.check(error?.inputCount == 2 && error?.resultCount == 1, "\(String(describing: error))")
        env.check(error?.description.hasPrefix("\"server\" returned 1 result for 2 inputs. ") == true)
      }
      await queue.shutDown()
    }
  }

  @Test("Runs that wait for a batch hold no resources, so the batch can claim the same ones")
  func resources() async throws {
    try await exploreSchedules(TestDepth.count(300)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 2)
      let monitor = ConcurrencyMonitor()
      let server = ProcedureTask("server") { (inputs: [Int]) in
        await monitor.during { await pause(env) }
        return inputs.map { $0 * 10 }
      }
      let single = server.exclusive("connection").batched(maxSize: 2, within: .seconds(1)).exclusive("connection")
      let handles = (1...5).map { queue.add(single, input: $0) }
      for (index, handle) in handles.enumerated() { env.check(try await handle.value == (index + 1) * 10) }
      env.check(monitor.most == 1)
      env.check(env.resources.count == 0)
      await queue.shutDown()
    }
  }

  @Test("During a shutdown, the batches of executing runs still execute")
  func shutdown() async throws {
    try await exploreSchedules(TestDepth.count(200)) { env in
      let queue = env.makeQueue()
      let batches = Locked<[[Int]]>([])
      let single = server(batches, env).batched(maxSize: 3, within: .seconds(1))
      let handles = (1...2).map { queue.add(single, input: $0) }
      await queue.shutDown()
      for (index, handle) in handles.enumerated() { env.check(await handle.outcome.isFinished((index + 1) * 10)) }
    }
  }

  @Test("A batch is part of a run: it does not count as waiting, and its failure does not cancel a scope")
  func partOfRun() async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1, maxWaitingProcedures: 1)
      let executed = Locked<[String]>([])
      let server = ProcedureTask("server") { (inputs: [Int]) in
        executed.update { $0.append("batch") }
        return inputs
      }
      let other = ProcedureTask("other") { (input: String) in
        executed.update { $0.append(input) }
        try await env.clock.sleep(for: .seconds(2))
      }
      let single = server.batched(maxSize: 10, within: .seconds(1))
      let first = queue.add(single, input: 1)
      try await env.clock.sleep(for: .milliseconds(500))
      let second = queue.add(single, input: 2)
      try await env.clock.sleep(for: .milliseconds(100))
      let waits = queue.snapshot().procedures.map { $0.wait.map(\.description) ?? "" }
      env.check(waits.count == 2 && waits[0].hasPrefix("the end of its pause"), "\(waits)")
      env.check(waits.last == "\"server\" (\(first.id)) to finish", "\(waits)")
      queue.add(other, input: "earlier")
      try await env.clock.sleep(for: .milliseconds(100))
      queue.add(other, input: "later")
      env.check(await first.outcome.isFinished(1))
      env.check(await second.outcome.isFinished(2))
      await queue.waitUntilIdle()
      env.check(executed.value == ["earlier", "batch", "later"], "\(executed.value)")
      await queue.shutDown()

      let failing = ProcedureTask<[Int], [Int]>("server") { _ in throw Flaw(number: 1) }
      let tolerant = failing.batched(maxSize: 2, within: .seconds(1)).recover { _ in -1 }
      let values = try await withProcedureQueue(env.adapted(.init("scope"))) { scope in
        let handles = (1...2).map { scope.add(tolerant, input: $0) }
        return try await [handles[0].value, handles[1].value]
      }
      env.check(values == [-1, -1])
    }
  }

  @Test("The batches of a queue do not wait for another queue")
  func queues() async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let (busy, idle) = (env.makeQueue("busy", maxConcurrentProcedures: 1), env.makeQueue("idle"))
      let single = server(Locked([]), env).batched(maxSize: 10, within: .seconds(1))
      let late = busy.add(single, input: 1)
      try await env.clock.sleep(for: .milliseconds(500))
      busy.add(ProcedureTask("long") { try await env.clock.sleep(for: .seconds(600)) })
      let early = idle.add(single, input: 2)
      env.check(await early.outcome.isFinished(20))
      env.check(env.clock.now.offset == .milliseconds(1_500), "\(env.clock.now.offset)")
      env.check(await late.outcome.isFinished(10))
      env.check(env.clock.now.offset == .milliseconds(600_500), "\(env.clock.now.offset)")
      await busy.shutDown()
      await idle.shutDown()
    }
  }

  @Test("If the run that leads a batch is cancelled, the next one leads it, or the batch is still executed to its end")
  func leader() async throws {
    try await exploreSchedules(TestDepth.count(200)) { env in
      let queue = env.makeQueue()
      let batches = Locked<[[Int]]>([])
      let server = ProcedureTask("server") { (inputs: [Int]) in
        batches.update { $0.append(inputs) }
        try await env.clock.sleep(for: .seconds(10))
        return inputs
      }
      let single = server.batched(maxSize: 10, within: .seconds(1))
      let first = queue.add(single, input: 1)
      try await env.clock.sleep(for: .milliseconds(100))
      let others = [queue.add(single, input: 2), queue.add(single, input: 3)]
      try await env.clock.sleep(for: .milliseconds(100))
      first.cancel()
      env.check(await first.outcome.isCancelled)
      try await env.clock.sleep(for: .seconds(5))
      env.check(batches.value.map { $0.sorted() } == [[2, 3]], "\(batches.value)")
      let leader = batches.value.first?.first ?? 2
      others[leader - 2].cancel()
      env.check(await others[3 - leader].outcome.isFinished(5 - leader))
      env.check(await others[leader - 2].outcome.isCancelled)
      env.check(env.clock.now.offset == .seconds(11), "\(env.clock.now.offset)")
      await queue.shutDown()
    }
  }

  @Test("If the leader cannot claim its resource because a run waits for the batch with it, the next run leads")
  func deadlock() async throws {
    try await exploreRace("joined before", "joined after", schedules: TestDepth.count(300)) { env in
      let queue = env.makeQueue()
      let single = server(Locked([]), env).batched(maxSize: 10, within: .seconds(1))
      let leader = queue.add(single.exclusive("file"), input: 1)
      try await env.clock.sleep(for: .milliseconds(500))
      let joinsBefore = env.random.below(2) == 0
      let host = ProcedureTask("host") {
        if !joinsBefore { try await env.clock.sleep(for: .seconds(2)) }
        return try await single(2)
      }.exclusive("file")
      env.check(await queue.add(host).outcome.isFinished(20))
      let error = await leader.outcome.error as? ProcedureError
      env.check(error?.kind == .exclusionDeadlock, "\(String(describing: error))")
      env.tally(joinsBefore ? "joined before" : "joined after")
      env.check(env.resources.count == 0)
      await queue.shutDown()
    }
  }

  @Test("Without a queue, runs share a batch, too")
  func alone() async throws {
    let server = ProcedureTask("server") { (inputs: [Int]) in inputs.map { $0 * 10 } }
    let single = server.batched(maxSize: 2, within: .seconds(3_600))
    async let first = single(1)
    async let second = single(2)
    #expect(try await [first, second] == [10, 20])
  }
}
