import ProcedureKit
import Synchronization
import Testing

@testable import TestingProcedureKit

@Suite("The trait that explores a test", .timeLimit(.minutes(10)))
struct ExploredTraitTests {
  /// Reads, yields, and writes, so that two concurrent calls lose an increment.
  actor Register {
    private(set) var value = 0
    func set(_ value: Int) { self.value = value }

    nonisolated func increment() async {
      let old = await value
      await set(old + 1)
    }
  }

  @Test("The test function is explored, and knows its schedule", .explored(50, seed: 3))
  func explored() async throws {
    let env = try #require(ExplorationEnvironment.current)
    #expect((0..<50).contains(env.schedule))
    #expect(VirtualClock.current === env.clock)
    async let first: Void = env.clock.sleep(for: .seconds(3_600))
    try await env.clock.sleep(for: .seconds(1))
    try await first
    #expect(env.clock.now.offset == .seconds(3_600))
  }

  @Test("Each case of a test is explored", .explored(20), arguments: [1, 2])
  func cases(count: Int) async {
    let register = Register()
    for _ in 0..<count { await register.increment() }
    #expect(await register.value == count)
  }

  @Test("The trait also works without arguments", .explored)
  func plain() async {
    #expect(ExplorationEnvironment.current != nil)
    let register = Register()
    await register.increment()
    #expect(await register.value == 1)
  }

  @Test("A test is explored for a period of time", .explored(for: .milliseconds(5), strategy: .random))
  func time() async {
    let register = Register()
    await register.increment()
    #expect(ExplorationEnvironment.current != nil)
    #expect(await register.value == 1)
  }

  @Suite("A suite with the trait", .explored(10), .timeLimit(.minutes(10)))
  struct Inner {
    @Test("Each test of the suite is explored")
    func inner() { #expect(ExplorationEnvironment.current != nil) }

    @Test("A test's own trait applies, and the virtual clock is that of the exploration", .virtualClock, .explored(5))
    func own() throws {
      let env = try #require(ExplorationEnvironment.current)
      #expect(env.schedule < 5)
      #expect(VirtualClock.current === env.clock)
    }
  }

  /// Explores `function` with the trait, and returns the issues.
  private func issues(
    of trait: ExploredTrait, _ function: @Sendable @concurrent () async throws -> Void
  ) async throws -> [Issue] {
    let test = try #require(Test.current)
    let issues = Locked<[Issue]>([])
    let collector = IssueHandlingTrait.compactMapIssues { issue in
      issues { $0.append(issue) }
      return nil
    }
    try await collector.provideScope(for: test, testCase: Test.Case.current) {
      try await trait.provideScope(for: test, testCase: Test.Case.current, performing: function)
    }
    return issues.value
  }

  @Test("A failed expectation is one issue at its location, with the command that repeats it")
  func expectation() async throws {
    let calls = Atomic(0)
    let line = Atomic(0)
    let issues = try await issues(of: .explored(1_000)) {
      calls.add(1, ordering: .relaxed)
      let register = Register()
      async let first: Void = register.increment()
      async let second: Void = register.increment()
      _ = await (first, second)
      line.store(#line + 1, ordering: .relaxed)
      #expect(await register.value == 2)
    }
    #expect(calls.load(ordering: .relaxed) > 1)
    let issue = try #require(issues.first)
    #expect(issues.count == 1)
    #expect(issue.sourceLocation?.line == line.load(ordering: .relaxed))
    #expect(issue.sourceLocation?.filePath == #filePath)
    let text = "\(issue.comments)"
    #expect(text.contains("PROCEDUREKIT_REPLAY='pk"), "\(text)")
    // The table marks the step in which the expectation failed.
    #expect(text.contains("check failed: "), "\(text)")
  }

  @Test("A failed requirement and an error of the function are issues")
  func errors() async throws {
    struct Broken: Error {}
    let required = try await issues(of: .explored(5)) { _ = try #require(nil as Int?) }
    #expect(required.count == 1)
    let thrown = try await issues(of: .explored(5)) { throw Broken() }
    #expect(thrown.count == 1 && "\(thrown)".contains("Broken"))
  }

  @Test("A function that hangs is an issue, if its tasks end when they are cancelled")
  func deadlock() async throws {
    let issues = try await issues(of: .explored(5)) { try await ProbeProcedure("endless").execute() }
    #expect(issues.count == 1 && "\(issues)".contains("deadlock"), "\(issues)")
  }

  @Test("A function that hangs and ignores cancellation ends the process with a report")
  func abandoned() async throws {
    let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let exploration = TestExploration(
        key: "Module.test()", location: #_sourceLocation, explorer: ScheduleExplorer(),
        settings: try ExplorationSettings(environment: [:]))
      try await exploration.run { await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in } }
    }
    let text = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(text.contains("cannot abandon a test") && text.contains("deadlock"), "\(text)")
  }

  @Test("An outcome that never occurs is an error")
  func outcomes() async throws {
    let error = await #expect(throws: MissingOutcomes.self) {
      _ = try await issues(of: .explored(5, outcomes: ["a", "b"])) { ExplorationEnvironment.current?.tally("a") }
    }
    #expect(error?.outcomes == ["b"])
  }
}
