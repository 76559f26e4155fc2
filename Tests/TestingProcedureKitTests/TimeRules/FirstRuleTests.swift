import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite("The first of several procedures, under every order", .timeLimit(.atDepth))
struct FirstRuleTests {
  /// Returns procedures that sleep for the same time, so that the schedule decides which of them is the first, and that record how they
  /// end.
  private func racers(
    _ env: ExplorationEnvironment, failing: Set<Int> = [], ended: Locked<[Int: Bool]>
  ) -> [ProcedureTask<Int, Int>] {
    (0..<4).map { number in
      ProcedureTask("racer \(number)") { input in
        var isCancelled = false
        do {
          try await env.clock.sleep(until: .init(offset: .seconds(1)))
          await pause(env, upTo: 3)
          try Task.checkCancellation()
        } catch {
          // A body that cleans up after its cancellation is awaited.
          await pause(env, upTo: 3)
          isCancelled = true
        }
        ended { [isCancelled] in $0[number] = isCancelled }
        if isCancelled { throw CancellationError() }
        if failing.contains(number) { throw Flaw(number: number) }
        return input + number
      }
    }
  }

  @Test("The others are cancelled and awaited, and start with slots of their own", arguments: [false, true])
  func first(isAdded: Bool) async throws {
    try await exploreRace("0", "1", "2", "3", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 4)
      let ended = Locked<[Int: Bool]>([:])
      let racers = racers(env, ended: ended)
      let value: Int
      if isAdded {
        value = try await queue.add(ProcedureTask.first(of: racers), input: 10).value
      } else {
        value = try await queue.first(of: racers, input: 10)
      }
      // A racer that was cancelled before its body started has not been recorded.
      env.check(ended.value[value - 10] == false && ended.value.values.count { !$0 } >= 1, "\(ended.value)")
      env.check(env.clock.sleeperCount == 0 && queue.snapshot().procedures.isEmpty, "\(queue.snapshot())")
      env.tally("\(value - 10)")
      await queue.shutDown()
    }
  }

  @Test("On a queue of width one, the procedures execute one at a time, and the rest do not start")
  func narrow() async throws {
    try await exploreSchedules(TestDepth.count(200)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let started = Locked<[Int]>([])
      let racers = (0..<4).map { number in
        ProcedureTask("racer \(number)") { () async throws -> Int in
          started { $0.append(number) }
          if number == 0 { throw Flaw(number: 0) }
          return number
        }
      }
      let value = try await queue.first(of: racers)
      // The next procedure can start before the others have been cancelled.
      env.check(started.value.starts(with: [0, 1]) && started.value.contains(value), "\(started.value)")
      let two = try await queue.first(2, of: racers)
      let both = try await queue.run(ProcedureGraph("graph") { g in g.first(2, of: racers) })
      for values in [two, both] {
        env.check(values.count == 2 && Set(values).isSubset(of: [1, 2, 3]) && values[0] != values[1], "\(values)")
      }
      await queue.shutDown()
    }
  }

  @Test("Several values are returned in the order in which the procedures finish, and failures are replaced")
  func several() async throws {
    try await exploreSchedules(TestDepth.count(200)) { env in
      let queue = env.makeQueue()
      let racers = (0..<5).map { number in
        ProcedureTask("racer \(number)") { (_: Int) in
          try await env.clock.sleep(for: .seconds(10 - number))
          if number == 4 { throw Flaw(number: 4) }
          return number
        }
      }
      env.check(try await queue.first(2, of: racers, input: 0) == [3, 2])
      env.check(env.elapsed == .seconds(8))
      await queue.shutDown()
    }
  }

  @Test("If too few succeed, all errors are thrown, and the others are cancelled as soon as this is certain")
  func tooFew() async throws {
    try await exploreSchedules(TestDepth.count(500)) { env in
      let queue = env.makeQueue()
      let isCancelled = Locked(false)
      let endless = ProcedureTask("endless") {
        do {
          try await env.clock.sleep(for: .seconds(3_600))
        } catch {
          isCancelled { $0 = true }
          throw error
        }
      }
      let failing = ProcedureTask("failing") { throw Flaw(number: 1) }
      let ignored = ProcedureTask("ignored") {}.condition("never") { false }
      let tasks = [endless, failing, ignored]
      let outcome = await queue.add(ProcedureTask.first(2, of: tasks).map { $0.count }).outcome
      let failures = outcome.procedureError?.failures ?? []
      env.check(outcome.procedureError?.kind == .childrenFailed, "\(outcome)")
      env.check(Set(failures.map(\.procedure.name)) == ["failing", "ignored"], "\(failures)")
      env.check(failures.contains { $0.error as? Flaw == Flaw(number: 1) })
      env.check(failures.contains { ($0.error as? ProcedureError)?.kind == .ignored })
      env.check(env.elapsed == .zero, "\(env.elapsed)")
      env.check(queue.snapshot().procedures.isEmpty)
      await queue.shutDown()
    }
  }

  @Test("If a procedure waits for the run through another procedure, one of the waits is refused, and all of them end")
  func deadlock() async throws {
    try await exploreRace("first", "others", schedules: TestDepth.count(1_000)) { env in
      let queue = env.makeQueue(isSuspended: true)
      let (first, other) = (Locked<ProcedureHandle<Void>?>(nil), Locked<ProcedureHandle<Void>?>(nil))
      // The oldest of the procedures, so that the wait of the run is the one that is refused if it takes part in the cycle.
      let last = queue.add(
        ProcedureTask("other") {
          await pause(env, upTo: 3)
          _ = try await first.value?.value
        })
      other { $0 = last }
      let quick = ProcedureTask("quick") { await pause(env) }
      // The wait for events cannot throw, so it is not refused.
      let racer = ProcedureTask("racer") {
        await pause(env, upTo: 3)
        guard let events = other.value?.events else { return }
        for await _ in events {}
      }
      let idle = ProcedureTask("idle") { try await env.clock.sleep(for: .seconds(3_600)) }
      let whole = queue.add(ProcedureTask.first(2, of: [quick, racer, idle]).map { _ in })
      first { $0 = whole }
      queue.resume()
      let (outcome, otherOutcome) = await (whole.outcome, last.outcome)
      let kinds = [outcome, otherOutcome].map { $0.procedureError?.kind }
      env.check(kinds[0] == .exclusionDeadlock || kinds[0] == nil, "\(outcome)")
      env.check(kinds[1] == .exclusionDeadlock, "\(otherOutcome)")
      env.check(env.elapsed == .zero && queue.snapshot().procedures.isEmpty, "\(env.elapsed)")
      env.tally(kinds[0] == .exclusionDeadlock ? "first" : "others")
      first { $0 = nil }
      other { $0 = nil }
      await queue.shutDown()
    }
  }

  @Test("A node returns the first value, and the graph continues with it")
  func node() async throws {
    try await exploreRace("0", "1", schedules: TestDepth.count(500)) { env in
      let queue = env.makeQueue()
      let ended = Locked<[Int: Bool]>([:])
      let racers = racers(env, failing: [2, 3], ended: ended)
      let graph = ProcedureGraph("graph") { g in
        let input = g.add(ProcedureTask("input") { 10 })
        let one = g.first(of: racers, from: input)
        let two = g.first(2, of: racers, from: input)
        return g.add("both", from: one, two) { one, two in [one] + two }
      }
      let values = try await queue.run(graph)
      env.check(Set(values.dropFirst()) == [10, 11], "\(values)")
      env.tally("\(values[0] - 10)")
      await queue.shutDown()
    }
  }

  @Test("Cancelling the run cancels and awaits all procedures", arguments: [0, 1, 2])
  func cancelled(way: Int) async throws {
    try await exploreSchedules(TestDepth.count(500)) { env in
      let queue = env.makeQueue()
      let (started, ended) = (Locked(0), Locked(0))
      let endless = ProcedureTask("endless") { () async throws -> Int in
        started { $0 += 1 }
        defer { ended { $0 += 1 } }
        try await env.clock.sleep(for: .seconds(3_600))
        return 1
      }
      let first = ProcedureTask.first(of: [endless, endless])
      let whole = way == 2 ? first.timeout(.seconds(1)) : first
      let end = Task(executorPreference: env.executor) { try await queue.run(whole) }
      if way == 0 { end.cancel() }
      if way == 1 {
        try await eventually { started.value != 0 }
        await pause(env)
        queue.cancelAll(Reason())
      }
      let result = await end.result
      switch way {
      case 0: env.check(throws: CancellationError.self, result)
      case 1: env.check(throws: Reason.self, result)
      default: env.check(throws: ProcedureError.self, result)
      }
      env.check(started.value == ended.value && env.clock.sleeperCount == 0)
      await queue.shutDown()
    }
  }

  @Test("A cancelled body can clean up with the first of several procedures")
  func cleanUp() async throws {
    try await exploreSchedules(TestDepth.count(200)) { env in
      let queue = env.makeQueue()
      let (hasStarted, cleaned) = (Locked(false), Locked<Int?>(nil))
      let body = ProcedureTask("body") {
        hasStarted { $0 = true }
        try await eventually { ProcedureContext.current?.isCancelled == true }
        let value = try await ProcedureTask.first(of: [ProcedureTask { 1 }, ProcedureTask { 1 }])()
        cleaned { $0 = value }
      }
      let handle = queue.add(body)
      await pause(env)
      handle.cancel()
      env.check(await handle.outcome.isCancelled)
      env.check(cleaned.value == 1 || !hasStarted.value, "\(String(describing: cleaned.value))")
      await queue.shutDown()
    }
  }
}

extension ExplorationEnvironment {
  fileprivate func check<E: Error>(throws type: E.Type, _ result: Result<Int, any Error>) {
    if case .failure(let error) = result, error is E { return }
    check(false, "\(result)")
  }
}
