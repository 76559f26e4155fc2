internal import Synchronization

#if canImport(Testing)
  public import Testing

  /// A trait that explores the schedules of a test. The test function is the body of the exploration.
  ///
  /// ```swift
  /// @Test("A transfer loses no money", .explored(1_000))
  /// func transfer() async throws {
  ///   let (first, second) = (Account(balance: 100), Account(balance: 0))
  ///   async let there: Void = first.transfer(60, to: second)
  ///   async let back: Void = second.transfer(30, to: first)
  ///   _ = await (there, back)
  ///   #expect(await first.balance + second.balance == 100)
  /// }
  /// ```
  ///
  /// The function is called for each schedule until a schedule fails. One passing schedule in a hundred is run again, to check that it is
  /// deterministic. A failed expectation (`#expect`, `#require`) or an issue recorded with `Issue.record` fails the schedule instead of the
  /// test. The failing schedule is simplified, and one issue is recorded at the failed expectation, with the report of the exploration and
  /// the replay string. Through ``ExplorationEnvironment/current``, the function can use the clock, the executor and the random numbers of
  /// the schedule. A test on the main actor, or on another actor that has its own executor, is not controlled. In the body of a procedure
  /// that the test adds to a queue, use `ExplorationEnvironment.check` instead of an expectation, because Swift Testing cannot determine
  /// which test an issue recorded there belongs to.
  ///
  /// If the function hangs and ignores cancellation, the test process exits after printing the report, because Swift Testing cannot abandon
  /// a test. To test such a function, use `exploreSchedules` instead.
  ///
  /// Environment variables control the explorations of this trait, so you do not have to change the code for a test run. A malformed value
  /// is reported as an issue. These variables are supported:
  ///
  /// | variable | value |
  /// |---|---|
  /// | `PROCEDUREKIT_SEED` | the seed, which is a number, or `random` for a new seed in each run |
  /// | `PROCEDUREKIT_SCHEDULES` | the number of schedules in each exploration |
  /// | `PROCEDUREKIT_SECONDS` | the time limit for each exploration, in real time, instead of a number of schedules |
  /// | `PROCEDUREKIT_REPLAY` | the replay string of the only schedule to run |
  /// | `PROCEDUREKIT_PROGRAM` | the only generated program to explore, in the form `seed:number`; only for ``ProgramExplorer`` |
  /// | `PROCEDUREKIT_CORPUS` | a text file with failing seeds, which are tried first; each failure is added to the file |
  /// | `PROCEDUREKIT_TRACES` | an existing directory to which every exploration writes the page, the JSON and the trace of its failure |
  ///
  /// If the trait is applied to a suite, each test of the suite is explored. If several of these traits apply to a test, the last one is
  /// used, so the test's own trait takes precedence over the suite's.
  public struct ExploredTrait: TestTrait, SuiteTrait, TestScoping {
    /// The explorer for each test case.
    public var explorer: ScheduleExplorer

    /// Whether the trait also applies to the tests of nested suites. The value is `true`.
    public var isRecursive: Bool { true }

    /// Runs the exploration and records an issue if a schedule fails. Swift Testing calls this method.
    ///
    /// - Parameters:
    ///   - test: The test to explore.
    ///   - testCase: The test case.
    ///   - function: The body of the exploration.
    /// - Throws: Any error thrown by the exploration, except the failure of a schedule, which is recorded as an issue.
    public func provideScope(
      for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
      if ExplorationEnvironment.current != nil { return try await function() }
      let explorer = test.traits.lazy.compactMap { $0 as? ExploredTrait }.last?.explorer ?? explorer
      let settings = try ExplorationSettings(environment: TestProcess.environment)
      let exploration = TestExploration(of: test, explorer: explorer, settings: settings)
      do {
        try await ResourceTrait.holdResources(of: test) {
          try await IssueHandlingTrait.filterIssues(Self.isOutsideOfExplorations)
            .provideScope(for: test, testCase: testCase) { try await exploration.run(function) }
        }
      } catch let failure as ExplorationFailure {
        exploration.record(failure)
      }
    }

    /// Forwards a failure to the exploration that is executing the calling code.
    ///
    /// - Returns: Whether Swift Testing must handle `issue` itself. This is the case outside an exploration, and for a warning or a known
    ///   issue in the first schedule.
    private static func isOutsideOfExplorations(_ issue: Issue) -> Bool {
      guard issue.isFailure else { return (ExplorationEnvironment.current?.schedule ?? 0) == 0 }
      let location = issue.sourceLocation
      var text = "\(issue)"
      let severity = " (\(issue.severity))"
      if text.hasSuffix(severity) { text.removeLast(severity.count) }
      // The report of the exploration already says that the expectation failed.
      text.trimPrefix("Expectation failed: ")
      return !ExplorationEnvironment.report(text, fileID: location?.fileID ?? "?", line: location?.line ?? 0)
    }
  }

  extension Trait where Self == ExploredTrait {
    /// A trait that explores a test under 1,000 schedules.
    public static var explored: Self { explored() }

    /// Returns a trait that explores a test under a given number of schedules.
    ///
    /// - Parameters:
    ///   - schedules: The number of schedules.
    ///   - seed: The seed for all choices and random numbers. Explorations with the same seed are identical.
    ///   - strategy: The strategy for choosing the next job.
    ///   - outcomes: The required outcomes of a race; see `ScheduleExplorer.expectedOutcomes`.
    /// - Returns: The trait.
    public static func explored(
      _ schedules: Int = 1_000, seed: UInt64 = 0, strategy: ExplorationStrategy = .mixed(),
      outcomes: Set<String> = []
    ) -> Self {
      var explorer = ScheduleExplorer(schedules: schedules, seed: seed, strategy: strategy)
      explorer.expectedOutcomes = outcomes
      return explored(by: explorer)
    }

    /// Returns a trait that explores a test for a period of real time. If a schedule is running when the period ends, it is allowed to
    /// finish.
    ///
    /// - Parameters:
    ///   - duration: The time for each test case.
    ///   - seed: The seed for all choices and random numbers.
    ///   - strategy: The strategy for choosing the next job.
    ///   - outcomes: The required outcomes of a race; see `ScheduleExplorer.expectedOutcomes`.
    /// - Returns: The trait.
    public static func explored(
      for duration: Duration, seed: UInt64 = 0, strategy: ExplorationStrategy = .mixed(),
      outcomes: Set<String> = []
    ) -> Self {
      var explorer = ScheduleExplorer(schedules: .max, seed: seed, strategy: strategy)
      explorer.expectedOutcomes = outcomes
      explorer.duration = duration
      return explored(by: explorer)
    }

    /// Returns a trait that explores a test with the given explorer.
    public static func explored(by explorer: ScheduleExplorer) -> Self {
      ExploredTrait(explorer: explorer)
    }
  }
#endif

/// A function that an exploration can call until the function is revoked.
///
/// The explorer's own task may keep the body of an exploration in memory for a short time after the exploration ends. Because only this
/// object retains the function, no reference to the function remains after `revoke`.
final class RevocableClosure: Sendable {
  typealias Function = @Sendable @concurrent () async throws -> Void

  private struct State {
    var function: Function?
    var unfinishedCalls = 0
  }

  private let state: Mutex<State>

  init(_ function: @escaping Function) {
    state = Mutex(State(function: function))
  }

  /// Calls the function.
  ///
  /// - Throws: The error thrown by the function; `CancellationError` if the function has been revoked.
  func call() async throws {
    let function = state.withLock { state in
      state.unfinishedCalls += state.function == nil ? 0 : 1
      return state.function
    }
    guard let function else { throw CancellationError() }
    defer { state.withLock { $0.unfinishedCalls -= 1 } }
    try await function()
  }

  /// Releases the function. If a call has not ended, the process exits with `report`.
  func revoke(orExitWith report: @autoclosure () -> String) {
    let unfinished = state.withLock { state in
      state.function = nil
      return state.unfinishedCalls
    }
    if unfinished > 0 { fatalError(report()) }
  }
}
