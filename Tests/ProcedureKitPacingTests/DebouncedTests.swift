import ProcedureKit
import ProcedureKitPacing
import TestSupport
import Testing
import TestingProcedureKit

@Suite("Debounce and throttle", .timeLimit(.atDepth))
struct DebouncedTests {
  @Test("Of several runs, the latest one executes, however it is run", arguments: Way.allCases)
  func debounced(way: Way) async throws {
    try await exploreRace("1", "2", "3", schedules: TestDepth.count(300)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: env.random.below(2) == 0 ? 1 : .max)
      let executed = Locked<[Int]>([])
      let search = ProcedureTask("search") { (input: Int) in
        executed.update { $0.append(input) }
        return input
      }.debounced(for: .seconds(1))
      let outcomes = await withTaskGroup { group in
        for input in 1...3 {
          group.addTask {
            await pause(env)
            return (input, await way.outcome(of: search, input, on: queue))
          }
        }
        return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
      }
      env.check(executed.value.count == 1 && env.clock.now.offset == .seconds(1), "\(executed.value)")
      for (input, outcome) in outcomes {
        let isExpected =
          executed.value == [input] ? outcome.isFinished(input) : outcome.ignoringCondition == "debounced"
        env.check(isExpected, "\(input): \(outcome)")
      }
      env.tally("\(executed.value[0])")
      await queue.shutDown()
    }
  }

  @Test("The run that was added last is the latest one, in whatever order the workers start them")
  func order() async throws {
    try await exploreSchedules(TestDepth.count(500)) { env in
      let queue = env.makeQueue()
      let executed = Locked<[Int]>([])
      let body = ProcedureTask("body") { (input: Int) in executed.update { $0.append(input) } }
      let search = body.debounced(for: .seconds(1))
      for input in 1...3 { queue.add(search, input: input) }
      await queue.waitUntilIdle()
      env.check(executed.value == [3], "\(executed.value)")
      let redraw = body.throttled(to: 1, per: .seconds(1), clock: env.clock)
      for input in 1...3 { queue.add(redraw, input: input) }
      await queue.waitUntilIdle()
      env.check(executed.value.last == 3, "\(executed.value)")
      await queue.shutDown()
    }
  }

  @Test("The delay begins again with each run, and keys do not affect each other")
  func delays() async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let queue = env.makeQueue()
      let executed = Locked<[String]>([])
      let save = ProcedureTask("save") { (input: String) in
        let time = env.clock.now.offset / .seconds(1)
        executed.update { $0.append("\(input) at \(time)") }
      }.debounced(for: .milliseconds(2_500)) { $0.first }
      for input in ["a1", "a2", "b1", "a3"] {
        queue.add(save, input: input)
        try await env.clock.sleep(for: .seconds(1))
      }
      await queue.waitUntilIdle()
      env.check(executed.value == ["b1 at 4.5", "a3 at 5.5"], "\(executed.value)")
      await queue.shutDown()
    }
  }

  @Test("A cancelled run is not superseded, and an executing one is not affected by the next one")
  func cancelled() async throws {
    try await exploreRace("cancelled", "superseded", schedules: TestDepth.count(500)) { env in
      let queue = env.makeQueue()
      let search = ProcedureTask("search") { (input: Int) in
        try await env.clock.sleep(for: .seconds(10))
        return input
      }.debounced(for: .seconds(1))
      let executing = queue.add(search, input: 1)
      try await env.clock.sleep(for: .seconds(2))
      let second = queue.add(search, input: 2)
      let cancelled = queue.add(search, input: 3)
      await pause(env)
      cancelled.cancel()
      env.check(await executing.outcome.isFinished(1))
      let outcome = await cancelled.outcome
      env.check(outcome.isCancelled || outcome.ignoringCondition == "debounced", "\(outcome)")
      let other = await second.outcome
      env.check(other.isFinished(2) || other.ignoringCondition == "debounced", "\(other)")
      env.tally(other.isFinished(2) ? "cancelled" : "superseded")
      await queue.shutDown()
    }
  }

  @Test("A run whose delay has passed is not superseded while it waits for a slot")
  func decided() async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let executed = Locked<[Int]>([])
      let save = ProcedureTask("save") { (input: Int) in executed.update { $0.append(input) } }
      let debounced = save.debounced(for: .seconds(1))
      let throttled = save.throttled(to: 1, per: .seconds(1), clock: env.clock)
      for subject in [debounced, throttled] {
        let (busy, idle) = (env.makeQueue("busy", maxConcurrentProcedures: 1), env.makeQueue("idle"))
        // With this, the first throttled run has to wait.
        try await throttled(0)
        executed.update { $0 = [] }
        let first = busy.add(subject, input: 1)
        try await env.clock.sleep(for: .milliseconds(500))
        env.check("\(busy.snapshot())".contains("the end of its pause"), "\(busy.snapshot())")
        busy.add(ProcedureTask("long") { try await env.clock.sleep(for: .seconds(10)) })
        try await env.clock.sleep(for: .seconds(2))
        env.check(await idle.add(subject, input: 2).outcome.error == nil)
        env.check(executed.value == [2], "\(executed.value)")
        let outcome = await first.outcome
        env.check(executed.value == [2, 1], "\(executed.value): \(outcome)")
        await busy.shutDown()
        await idle.shutDown()
      }
    }
  }

  @Test("The second attempt of an earlier run does not supersede a later run")
  func attempts() async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let queue = env.makeQueue()
      let executed = Locked<[Int]>([])
      let save = ProcedureTask("save") { (input: Int) in
        executed.update { $0.append(input) }
        try await env.clock.sleep(for: .milliseconds(500))
        if input == 1 { throw Flaw(number: 1) }
      }.throttled(to: 1, per: .seconds(2), clock: env.clock).retry(.immediate, maxAttempts: 2).map { $0 }
      let first = queue.add(save, input: 1)
      try await env.clock.sleep(for: .milliseconds(200))
      let second = queue.add(save, input: 2)
      env.check(await first.outcome.ignoringCondition == "throttled")
      env.check(await second.outcome.error == nil)
      env.check(executed.value == [1, 2], "\(executed.value)")
      await queue.shutDown()
    }
  }

  @Test("The executions of a repetition do not supersede a later run, and are ignored", arguments: [false, true])
  func repetition(continues: Bool) async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let queue = env.makeQueue()
      let executed = Locked<[Int]>([])
      let refresh = ProcedureTask("refresh") { (input: Int) in executed.update { $0.append(input) } }
        .throttled(to: 1, per: .seconds(60), clock: env.clock)
      let whole = continues ? refresh.ignoringErrors() : refresh
      // It starts at 0 seconds, and a later run at 60 seconds, so its second execution comes too early, and its third one does not.
      let periodic = queue.add(whole.repeating(.constant(.seconds(70)), maxCount: 3), input: 1)
      try await env.clock.sleep(for: .seconds(60))
      queue.add(refresh, input: 2)
      let outcome = await periodic.outcome
      env.check(continues ? outcome.error == nil : outcome.ignoringCondition == "throttled", "\(outcome)")
      env.check(executed.value == (continues ? [1, 2, 1] : [1, 2]), "\(executed.value)")
      await queue.shutDown()
    }
  }

  @Test("A waiting run holds no resources, and claims them again before it executes")
  func resources() async throws {
    try await exploreSchedules(TestDepth.count(200)) { env in
      let queue = env.makeQueue()
      let monitor = ConcurrencyMonitor()
      let search = ProcedureTask("search") { (input: Int) in
        await monitor.during { await pause(env) }
        return input
      }.debounced(for: .seconds(1)) { $0 }.exclusive("index")
      let handles = (1...3).map { queue.add(search, input: $0) }
      for (index, handle) in handles.enumerated() { env.check(try await handle.value == index + 1) }
      env.check(env.clock.now.offset == .seconds(1) && monitor.most == 1, "\(env.clock.now.offset)")
      env.check(env.resources.count == 0)
      await queue.shutDown()
    }
  }

  @Test(
    "The first runs execute immediately, and the latest of the others in the next interval", arguments: Way.allCases)
  func throttled(way: Way) async throws {
    try await exploreSchedules(TestDepth.count(200)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: env.random.below(2) == 0 ? 1 : .max)
      let executed = Locked<[Duration]>([])
      let redraw = ProcedureTask("redraw") { (input: Int) in
        executed.update { $0.append(env.clock.now.offset) }
        return input
      }.throttled(to: 2, per: .seconds(10), clock: env.clock)
      let outcomes = await withTaskGroup { group in
        for input in 1...6 {
          group.addTask {
            await pause(env)
            return await way.outcome(of: redraw, input, on: queue)
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      env.check(executed.value == [.zero, .zero, .seconds(10)], "\(executed.value)")
      env.check(outcomes.count { $0.ignoringCondition == "throttled" } == 3, "\(outcomes)")
      await queue.shutDown()
    }
  }

  @Test("In each interval, no more runs of a key start than allowed, and the latest input is executed")
  func intervals() async throws {
    try await exploreSchedules(TestDepth.count(500)) { env in
      let queue = env.makeQueue()
      let starts = Locked<[String: [(time: Duration, input: Int)]]>([:])
      let redraw = ProcedureTask("redraw") { (input: (key: String, number: Int)) in
        let time = env.clock.now.offset
        starts.update { $0[input.key, default: []].append((time, input.number)) }
      }.throttled(to: 2, per: .seconds(5), clock: env.clock) { $0.key }
      for number in 1...20 {
        let handle = queue.add(redraw, input: (["a", "b"][number % 2], number))
        if env.random.below(8) == 0 { handle.cancel() }
        try await env.clock.sleep(for: .seconds(env.random.below(3)))
      }
      try await env.clock.sleep(for: .seconds(1))
      queue.add(redraw, input: ("a", 100))
      queue.add(redraw, input: ("b", 101))
      await queue.waitUntilIdle()
      for (key, last) in [("a", 100), ("b", 101)] {
        let starts = starts.value[key] ?? []
        env.check(starts.last?.input == last, "\(starts)")
        for (first, third) in zip(starts, starts.dropFirst(2)) {
          env.check(third.time - first.time >= .seconds(5), "\(starts)")
        }
      }
      await queue.shutDown()
    }
  }
}
