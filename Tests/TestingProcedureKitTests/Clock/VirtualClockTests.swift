import TestSupport
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.atDepth)) struct VirtualClockTests {
  @Test("Time does not pass until the clock is advanced")
  func advance() async throws {
    let clock = VirtualClock()
    async let woken: VirtualClock.Instant = {
      try await clock.sleep(for: .seconds(3_600))
      return clock.now
    }()
    let deadline = try await clock.nextSleep()
    #expect(clock.now.offset == .zero)
    #expect(deadline.offset == .seconds(3_600))
    clock.advance(by: .seconds(3_599))
    #expect(clock.sleeperCount == 1)
    clock.advance(by: .seconds(1))
    #expect(try await woken.offset == .seconds(3_600))
    #expect(clock.sleeperCount == 0)
    #expect(clock.nextDeadline == nil)
  }

  @Test("Concurrent calls of advance add up")
  func advancedAtOnce() async {
    let clock = VirtualClock()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask { for _ in 0..<20_000 { clock.advance(by: .seconds(1)) } }
      }
    }
    #expect(clock.now.offset == .seconds(80_000))
  }

  @Test("A sleep whose deadline has passed returns immediately")
  func past() async throws {
    let clock = VirtualClock(start: .init(offset: .seconds(10)))
    try await clock.sleep(until: .init(offset: .seconds(10)))
    try await clock.sleep(until: .init(offset: .seconds(2)))
    try await clock.sleep(for: .zero)
  }

  @Test("A cancelled sleep ends immediately, whether it is cancelled before or during the sleep")
  func cancellation() async throws {
    let clock = VirtualClock()
    let task = Task { try await clock.sleep(for: .seconds(1)) }
    try await clock.nextSleep()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(clock.sleeperCount == 0)
    let late = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await clock.sleep(for: .seconds(1))
    }
    await #expect(throws: CancellationError.self) { try await late.value }
  }

  @Test("nextSleep waits for the given number of sleepers, and can be cancelled")
  func nextSleep() async throws {
    let clock = VirtualClock()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for second in 1...3 { group.addTask { try await clock.sleep(for: .seconds(second)) } }
      #expect(try await clock.nextSleep(count: 3).offset == .seconds(1))
      let waiting = Task { try await clock.nextSleep(count: 4) }
      waiting.cancel()
      await #expect(throws: CancellationError.self) { try await waiting.value }
      clock.advance(by: .seconds(3))
      try await group.waitForAll()
    }
  }

  @Test("Sleepers wake by deadline, then by registration; cancelling races with waking", arguments: [1, 2, 3])
  func wakingOrder(seed: UInt64) async throws {
    let outcomes = Locked<Set<Bool>>([])
    try await exploreSchedules(TestDepth.count(300), seed: seed) { env in
      let clock = env.clock
      let log = Locked<[String]>([])
      let sleeper = Task(executorPreference: env.executor) {
        do { try await clock.sleep(for: .seconds(5)) } catch { log { $0.append("cancelled") } }
        log { $0.append("woken") }
      }
      await withTaskGroup(of: Void.self) { group in
        group.addTask {
          try? await clock.sleep(for: .seconds(9))
          log { $0.append("last") }
        }
        group.addTask {
          try? await clock.sleep(for: .seconds(5))
          sleeper.cancel()
          await sleeper.value
        }
      }
      outcomes { _ = $0.insert(log.value.contains("cancelled")) }
      env.check(log.value.last == "last", "\(log.value)")
      env.check(clock.now.offset == .seconds(9))
    }
    // Both sleeps are due at the same instant, so cancelling has no effect once the clock has moved.
    #expect(outcomes.value == [false])
  }

  @Test("An explored body that waits for an hour takes no time, and sees each instant")
  func autoAdvance() async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      var instants: [Duration] = []
      for minutes in [1, 4, 55] {
        try await env.clock.sleep(for: .seconds(60 * minutes))
        instants.append(env.clock.now.offset)
      }
      env.check(instants == [.seconds(60), .seconds(300), .seconds(3_600)], "\(instants)")
    }
  }
}
