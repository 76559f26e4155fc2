import ProcedureKit
import Testing
import TestingProcedureKit

@Suite("The trait that gives a test a clock", .virtualClock, .timeLimit(.minutes(10)))
struct VirtualClockTraitTests {
  @Test("A test and its child tasks run on the executor of the clock", arguments: 0..<20)
  func children(round: Int) async throws {
    let clock = try #require(VirtualClock.current)
    #expect(clock.now.offset == .zero)
    let naps = Locked(0)
    async let napper: Void = {
      for _ in 0..<10 {
        try await clock.sleep(for: .seconds(60))
        await Task.yield()
        naps { $0 += 1 }
      }
    }()
    try await clock.run(for: .seconds(300))
    #expect(naps.value == 5)
    try await clock.run(for: .seconds(300))
    #expect(naps.value == 10)
    try await napper
  }

  @Test("A queue on the clock takes one call, and the clock waits for its procedures")
  func queue() async throws {
    let clock = try #require(VirtualClock.current)
    let queue = clock.makeQueue("naps", maxConcurrentProcedures: 1)
    #expect(queue.name == "naps" && queue.maxConcurrentProcedures == 1)
    let late = queue.add(ProcedureTask {}.delay(.seconds(60)))
    try await clock.run(for: .seconds(59))
    #expect(late.state != .finished)
    try await clock.run(for: .seconds(1))
    #expect(late.state == .finished)
    await queue.shutDown()
  }

  @Test("In an exploration, a queue of the clock is a queue of the exploration", .explored(5))
  func explored() async throws {
    let (clock, env) = (try #require(VirtualClock.current), try #require(ExplorationEnvironment.current))
    let queue = clock.makeQueue()
    #expect(clock === env.clock)
    try await queue.run(ProcedureTask {}.delay(.seconds(60)))
    #expect(clock.now.offset == .seconds(60))
    await queue.shutDown()
  }

  /// Runs `function` with the trait, and returns the comments of the first issue.
  private func comments(_ function: @Sendable @concurrent () async throws -> Void) async throws -> [String] {
    let test = try #require(Test.current)
    let issues = Locked<[Issue]>([])
    let collector = IssueHandlingTrait.compactMapIssues { issue in
      issues { $0.append(issue) }
      return nil
    }
    try await collector.provideScope(for: test, testCase: Test.Case.current) {
      try await VirtualClockTrait.virtualClock.provideScope(
        for: test, testCase: Test.Case.current, performing: function)
    }
    return try #require(issues.value.first).comments.map(\.rawValue)
  }

  @Test("A failure says that no task sleeps on the clock, for example because a queue has another clock")
  func anotherClock() async throws {
    let comments = try await comments {
      let clock = try #require(VirtualClock.current)
      let queue = ProcedureQueue("on another clock")
      let late = queue.add(ProcedureTask {}.delay(.seconds(3_600)))
      clock.advance(by: .seconds(3_600))
      #expect(late.state == .finished)
      late.cancel()
      await queue.shutDown()
    }
    #expect(
      comments == [
        "No task is sleeping on the virtual clock, which is at 3600.0 seconds, and none has slept on it so far. "
          + "Does the code under test wait on another clock? `VirtualClock.makeQueue` creates a queue that uses this clock."
      ])
  }

  @Test("A failure says that the latest move of the clock woke no task")
  func movedInVain() async throws {
    let comments = try await comments {
      let clock = try #require(VirtualClock.current)
      async let nap: Void = clock.sleep(for: .seconds(1))
      try await clock.run(for: .seconds(1))
      try await nap
      clock.advance(by: .seconds(1))
      Issue.record("always")
    }
    #expect(
      comments == [
        "always",
        "No task is sleeping on the virtual clock, which is at 2.0 seconds, and no task woke when the clock last moved.",
      ])
  }

  @Test("A failure while a task is sleeping, or in a test that does not use the clock, has no further comment")
  func noComment() async throws {
    let sleeping = try await comments {
      let clock = try #require(VirtualClock.current)
      async let nap: Void = clock.sleep(for: .seconds(2))
      try await clock.run(for: .seconds(1))
      Issue.record("always")
      clock.advance(by: .seconds(1))
      try await nap
    }
    let unused = try await comments { Issue.record("always") }
    #expect(sleeping == ["always"] && unused == ["always"])
  }
}

@Test("Without the trait, there is no clock")
func noClock() {
  #expect(VirtualClock.current == nil)
}
