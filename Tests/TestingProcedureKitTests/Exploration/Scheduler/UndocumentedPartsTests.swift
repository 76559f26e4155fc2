import TestSupport
import Testing

@testable import TestingProcedureKit

/// Explores without any undocumented part of the runtime, as with a runtime whose tests all fail.
@Suite(.timeLimit(.minutes(10))) struct UndocumentedPartsTests {
  private actor Register {
    private(set) var value = 0
    func set(_ value: Int) { self.value = value }
  }

  /// Two tasks that read a value, suspend, and write a larger value.
  private static let lostUpdate: @Sendable (ExplorationEnvironment) async throws -> Void = { env in
    let count = Locked(0)
    let increase: @Sendable () async -> Void = {
      let old = count.value
      await Task.yield()
      count { $0 = old + 1 }
    }
    async let first: Void = increase()
    async let second: Void = increase()
    _ = await (first, second)
    env.check(count.value == 2, "an update is lost")
  }

  @Test("Without any undocumented part, explorations find and repeat failures, and state what they do not control")
  func none() async {
    await #expect(processExitsWith: .success) {
      UndocumentedParts.disable()
      #expect(!ScheduleExplorer.controlsGlobalTasks && !ScheduleExplorer.controlsMainActor)
      #expect(!ScheduleExplorer.controlsRealTime && !ScheduleExplorer.seesWakesOfActors)
      #expect(!ScheduleExplorer.ordersCallersOfActors && !JobIdentities.areKnown && !TaskStatus.isKnown)
      #expect(!ResumePoint.isKnown)

      for strategy: ExplorationStrategy in [.mixed(), .exhaustive] {
        let failure = await expectError(ExplorationFailure.self) {
          try await exploreSchedules(10_000, strategy: strategy, Self.lostUpdate)
        }
        #expect(failure?.failsAgain == true, "\(String(describing: failure))")
        let report = failure.map { "\($0)" } ?? ""
        #expect(report.contains("source locations are not available"), "\(report)")
        await expectError(ExplorationFailure.self) {
          try await exploreSchedules(strategy: .replay(failure?.replay ?? ""), Self.lostUpdate)
        }
      }

      // A body with an actor is explored, but never completely.
      let summary = try await exploreSchedules(100_000, strategy: .exhaustive, preemptionLimit: 0) { env in
        let register = Register()
        async let first: Void = register.set(1)
        async let second: Void = register.set(2)
        _ = await (first, second)
        env.tally("\(await register.value)")
      }
      #expect(summary.tallies.keys.sorted() == ["1", "2"], "\(summary)")
      #expect(!summary.isComplete && summary.completePreemptions == nil && summary.unorderedVisits > 0, "\(summary)")
      for part in [
        "visits to actors in an order that the runtime determined", "tasks without an executor are not controlled",
        "waits in real time are not controlled", "the main actor is not controlled",
        "tasks that wait within an actor cannot preempt their wakers",
      ] {
        #expect("\(summary)".contains(part), "\(summary)")
      }

      // Work that is not controlled is reported.
      var explorer = ScheduleExplorer(schedules: 1)
      explorer.patience = .seconds(3_600)
      let sleep = await expectError(ExplorationFailure.self) {
        try await explorer.explore { _ in try await Task.sleep(for: .milliseconds(1)) }
      }
      #expect("\(String(describing: sleep))".contains("another thread made a task ready"))

      // Virtual time, queues and deadlocks need no undocumented part.
      try await exploreSchedules(20) { env in
        let queue = env.makeQueue()
        let handle = queue.add(ProcedureTask { try await env.clock.sleep(for: .seconds(3)) })
        try await handle.value
        env.check(env.clock.now.offset == .seconds(3))
        await queue.shutDown()
      }
      let deadlock = await expectError(ExplorationFailure.self) {
        try await exploreSchedules(1) { _ in
          let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
          for await _ in stream {}
          continuation.finish()
        }
      }
      #expect(deadlock?.deadlock != nil)
    }
  }
}
