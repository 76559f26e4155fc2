import Dispatch
import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct ExploredAtomicTests {
  private final class Shared: Sendable {
    let count = ExploredAtomic(0)
    let isSet = ExploredAtomic(false)

    func increment() { count.store(count.load(ordering: .relaxed) + 1, ordering: .relaxed) }
  }

  @Test("Every order of the operations of two tasks is explored")
  func exhaustive() async throws {
    let summary = try await exploreSchedules(100_000, strategy: .exhaustive) { env in
      let shared = Shared()
      async let first: Void = shared.increment()
      async let second: Void = shared.increment()
      _ = await (first, second)
      env.tally("\(shared.count.load(ordering: .relaxed))")
    }
    #expect(summary.isComplete && Set(summary.tallies.keys) == ["1", "2"], "\(summary)")
  }

  @Test("A lock that reads and writes in two operations is found within 4,000 schedules, for ten seeds")
  func spinLock() async throws {
    for seed in 0..<10 as Range<UInt64> {
      await expectError(ExplorationFailure.self, "seed \(seed)") {
        try await exploreSchedules(4_000, seed: seed) { try await SpinLock.scenario(.broken, $0) }
      }
    }
    try await exploreSchedules(1_000) { try await SpinLock.scenario(.fixed, $0) }
  }

  @Test("Preemptions at operations count against the limit")
  func limit() async throws {
    var explorer = ScheduleExplorer(schedules: 10_000, strategy: .exhaustive)
    explorer.preemptionLimit = 0
    #expect(try await explorer.explore { try await LostUpdate.scenario(.broken, $0) }.isComplete)
    explorer.preemptionLimit = 1
    await expectError(ExplorationFailure.self) {
      try await explorer.explore { try await LostUpdate.scenario(.broken, $0) }
    }
  }

  @Test("A task that waits in a loop yields to other tasks, and to the clock")
  func loops() async throws {
    for strategy in [ExplorationStrategy.mixed(), .roundRobin] {
      try await exploreSchedules(100, strategy: strategy) { env in
        let shared = Shared()
        async let setter: Void = {
          try? await env.clock.sleep(for: .seconds(1))
          shared.isSet.store(true, ordering: .releasing)
        }()
        while !shared.isSet.load(ordering: .acquiring) {}
        await setter
      }
    }
  }

  @Test("The clock does not move while the only ready task performs a few hundred operations")
  func clockDuringOperations() async throws {
    try await exploreSchedules(20) { env in
      let counter = ExploredAtomic(0)
      let start = env.clock.now
      async let end: VirtualClock.Instant = {
        try? await env.clock.sleep(for: .seconds(1))
        return env.clock.now
      }()
      for _ in 0..<300 { counter.add(1, ordering: .relaxed) }
      env.check(env.clock.now == start)
      env.check(await end == start.advanced(by: .seconds(1)))
    }
  }

  @Test(
    "An endless loop is reported, even in a later schedule that is the first to use atomics",
    arguments: [(later: false, usesEarlier: true), (true, true), (true, false)])
  func endlessLoop(isLater: Bool, usesEarlier: Bool) async throws {
    var explorer = ScheduleExplorer(schedules: 10)
    explorer.stepLimit = 2_000
    let failure = try await requireError(ExplorationFailure.self) {
      try await explorer.explore { env in
        let isSet = ExploredAtomic(false)
        if usesEarlier { _ = isSet.load(ordering: .relaxed) }
        if isLater && env.schedule == 0 { return }
        while !isSet.load(ordering: .acquiring) {}
      }
    }
    #expect("\(failure.problems)".contains("still not finished after 2000 steps"), "\(failure)")
  }

  @Test("The operations behave like those of an Atomic, even outside an exploration")
  func operations() {
    let number = ExploredAtomic(5)
    #expect(number.add(3, ordering: .relaxed) == (5, 8))
    #expect(number.subtract(2, ordering: .relaxed) == (8, 6))
    #expect(number.exchange(Int.max, ordering: .relaxed) == 6)
    #expect(number.wrappingAdd(1, ordering: .relaxed).newValue == .min)
    #expect(number.wrappingSubtract(1, ordering: .relaxed).newValue == .max)
    number.store(0b1100, ordering: .relaxed)
    #expect(number.bitwiseAnd(0b0110, ordering: .relaxed).newValue == 0b0100)
    #expect(number.bitwiseOr(0b0011, ordering: .relaxed).newValue == 0b0111)
    #expect(number.bitwiseXor(0b0101, ordering: .relaxed).newValue == 0b0010)
    #expect(number.min(1, ordering: .relaxed).newValue == 1)
    #expect(number.max(9, ordering: .relaxed).newValue == 9)
    #expect(number.compareExchange(expected: 9, desired: 1, ordering: .relaxed) == (true, 9))
    #expect(
      number.weakCompareExchange(expected: 9, desired: 2, successOrdering: .relaxed, failureOrdering: .relaxed)
        == (false, 1))
    #expect(number.load(ordering: .relaxed) == 1)

    let flag = ExploredAtomic(true)
    #expect(flag.logicalAnd(false, ordering: .relaxed) == (true, false))
    #expect(flag.logicalOr(true, ordering: .relaxed) == (false, true))
    #expect(flag.logicalXor(true, ordering: .relaxed) == (true, false))

    let count = ExploredAtomic(0)
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      for _ in 0..<1_000 { count.add(1, ordering: .relaxed) }
    }
    #expect(count.load(ordering: .relaxed) == 4_000)
  }
}
