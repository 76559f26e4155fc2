#if canImport(Testing)
  public import Testing

  /// A trait that gives each test case its own virtual clock, and runs the test on the clock's executor.
  ///
  /// ```swift
  /// @Test("A session ends after an hour", .virtualClock)
  /// func session() async throws {
  ///   let clock = try #require(VirtualClock.current)
  ///   let end = clock.makeQueue().add(session.end)
  ///   try await clock.run(for: .seconds(3_600))
  ///   #expect(end.state == .finished)
  /// }
  /// ```
  ///
  /// The test, its child tasks and the default actors that they call run on the executor, one job at a time, so ``VirtualClock/run(for:)``
  /// waits for them. ``VirtualClock/makeQueue(_:maxConcurrentProcedures:isSuspended:)`` creates a queue that uses the clock. If an
  /// expectation fails while no task is sleeping on the clock, the issue says so, provided that the test has moved the clock or waited for
  /// a task to sleep. A test on the main actor, or on another actor that has its own executor, stays on that actor's executor. The trait
  /// has no effect in an exploration, which has its own clock. If the trait is applied to a suite, it applies to each test of the suite.
  public struct VirtualClockTrait: TestTrait, SuiteTrait, TestScoping {
    /// Whether the trait also applies to the tests of nested suites. The value is `true`.
    public var isRecursive: Bool { true }

    /// Runs the test with a new clock. Swift Testing calls this method.
    ///
    /// - Parameters:
    ///   - test: The test to run.
    ///   - testCase: The test case.
    ///   - function: The body of the test.
    /// - Throws: Any error thrown by the body.
    public func provideScope(
      for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
      if ExplorationEnvironment.current != nil { return try await function() }
      let clock = VirtualClock()
      let explainer = IssueHandlingTrait.compactMapIssues { issue in
        guard issue.isFailure, let idleness = clock.idleness else { return issue }
        var issue = issue
        issue.comments.append(Comment(rawValue: idleness))
        return issue
      }
      try await explainer.provideScope(for: test, testCase: testCase) {
        try await VirtualClock.$current.withValue(clock) {
          try await withTaskExecutorPreference(clock.executor) { try await function() }
        }
      }
    }
  }

  extension Trait where Self == VirtualClockTrait {
    /// A trait that gives each test case its own virtual clock, which is available as ``VirtualClock/current``.
    public static var virtualClock: Self { VirtualClockTrait() }
  }
#endif
