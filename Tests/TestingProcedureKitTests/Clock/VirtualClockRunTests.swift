import TestSupport
import Testing
import TestingProcedureKit

@Suite("A virtual clock that runs from deadline to deadline", .timeLimit(.atDepth))
struct VirtualClockRunTests {
  private struct TooEarly: Error {}

  /// Sleeps one second at a time, and records each instant.
  private static func tick(_ count: Int, on clock: VirtualClock, _ instants: Locked<[Duration]>) async throws {
    for _ in 0..<count {
      try await clock.sleep(for: .seconds(1))
      await Task.yield()
      instants { $0.append(clock.now.offset) }
    }
  }

  @Test("A sleeper that starts another sleep within the duration wakes again within the duration")
  func ticks() async throws {
    let clock = VirtualClock()
    let instants = Locked<[Duration]>([])
    let ticker = Task(executorPreference: clock.executor) { try await Self.tick(10, on: clock, instants) }
    try await clock.run(for: .milliseconds(5_500))
    #expect(instants.value == (1...5).map { .seconds($0) })
    #expect(clock.now.offset == .milliseconds(5_500))
    try await clock.run(until: .init(offset: .seconds(10)))
    #expect(instants.value.last == .seconds(10))
    try await ticker.value
  }

  @Test("The pauses of a queue on the clock's executor have ended when the clock has run", arguments: 0..<20)
  func retries(round: Int) async throws {
    let clock = VirtualClock()
    let queue = ProcedureQueue("retries", clock: clock, executor: clock.executor)
    let handle = queue.add(
      ProcedureTask { guard clock.now.offset >= .seconds(300) else { throw TooEarly() } }
        .retry(.constant(.seconds(60))))
    try await clock.run(for: .seconds(299))
    #expect(!handle.state.isFinished)
    try await clock.run(for: .seconds(1))
    #expect(handle.state.isFinished)
    #expect(await handle.outcome.isFinished)
    await queue.shutDown()
  }

  @Test("A task on the executor can run the clock itself, and its own work comes first", arguments: 0..<20)
  func fromWithin(round: Int) async throws {
    let clock = VirtualClock()
    try await withTaskExecutorPreference(clock.executor) {
      let instants = Locked<[Duration]>([])
      async let ticks: Void = Self.tick(3, on: clock, instants)
      try await clock.run(for: .seconds(3))
      #expect(instants.value == (1...3).map { .seconds($0) })
      try await ticks
    }
  }

  @Test("The executor is quiet only after all ready jobs, including those of actors", arguments: 0..<50)
  func quiet(round: Int) async throws {
    actor Counter {
      var count = 0
      func increment() { count += 1 }
    }
    let (clock, counter) = (VirtualClock(), Counter())
    for _ in 0..<5 {
      Task(executorPreference: clock.executor) {
        for _ in 0..<5 {
          await Task.yield()
          await counter.increment()
        }
      }
    }
    try await clock.waitUntilQuiet()
    #expect(await counter.count == 25)
  }

  @Test("In an exploration, a run of the clock and the sleepers take turns in every order")
  func explored() async throws {
    try await exploreSchedules(TestDepth.count(300), strategy: .mixed()) { env in
      let instants = Locked<[Duration]>([])
      async let ticks: Void = Self.tick(3, on: env.clock, instants)
      async let others: Void = Self.tick(2, on: env.clock, instants)
      try await env.clock.run(for: .seconds(2))
      env.check(instants.value.map(\.components.seconds) == [1, 1, 2, 2], "\(instants.value)")
      try await env.clock.run(for: .seconds(2))
      env.check(instants.value.count == 5 && env.clock.now.offset == .seconds(4), "\(env.clock.now)")
      _ = try await (ticks, others)
    }
  }

  @Test("A cancelled run of the clock ends, and the clock stops there")
  func cancelled() async throws {
    let clock = VirtualClock()
    let busy = Task(executorPreference: clock.executor) {
      while !Task.isCancelled { await Task.yield() }
    }
    let run = Task { try await clock.run(for: .seconds(1)) }
    run.cancel()
    await #expect(throws: CancellationError.self) { try await run.value }
    #expect(clock.now.offset == .zero)
    busy.cancel()
    await busy.value
  }

  @Test("Many sleepers register, wake and are cancelled in less than quadratic time")
  func manySleepers() async throws {
    let clock = VirtualClock()
    let count = TestDepth.size(100_000)
    // Separate tasks are used, because a task group takes quadratic time for children that end in a different order.
    let sleepers = (0..<count).map { number in
      Task { try await clock.sleep(for: .seconds(number * 7_919 % count + 1)) }
    }
    try await clock.nextSleep(count: count)
    clock.advance(by: .seconds(count / 2))
    #expect(clock.sleeperCount == count - count / 2)
    for sleeper in sleepers { sleeper.cancel() }
    var woken = 0
    for sleeper in sleepers where (try? await sleeper.value) != nil { woken += 1 }
    #expect(woken == count / 2)
    #expect(clock.sleeperCount == 0)
  }
}
