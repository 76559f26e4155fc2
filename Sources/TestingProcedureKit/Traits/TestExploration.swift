#if canImport(Testing)
  internal import Synchronization
  internal import Testing

  /// The exploration of one test case, first with the seeds in the corpus, and then with the settings of the explorer and the environment.
  /// A replay ignores the corpus.
  struct TestExploration: Sendable {
    /// The name of the test in the corpus. It consists of the module, the suites and the function.
    let key: String
    let location: SourceLocation
    let explorer: ScheduleExplorer
    let settings: ExplorationSettings

    /// Explores `function`. If `function` hangs and ignores cancellation, the process exits after printing a report, because Swift Testing
    /// waits for every call to the function.
    ///
    /// - Throws: `ExplorationFailure` for the first failing schedule; any other error that the exploration throws.
    func run(_ function: @Sendable @concurrent () async throws -> Void) async throws {
      try await withoutActuallyEscaping(function) { function in
        let closure = RevocableClosure(function)
        do {
          try await explore { try await closure.call() }
        } catch {
          let reason = "hangs and ignores cancellation. Exiting the process because Swift Testing cannot abandon a test"
          closure.revoke(orExitWith: "\(key) \(reason). \(error)")
          throw error
        }
        closure.revoke(
          orExitWith: "\(key) is still running. Exiting the process because Swift Testing cannot abandon a test.")
      }
    }

    private func explore(_ function: @escaping @Sendable @concurrent () async throws -> Void) async throws {
      let body: @Sendable (ExplorationEnvironment) async throws -> Void = { environment in
        do {
          try await VirtualClock.$current.withValue(environment.clock) { try await function() }
        } catch is ExpectationFailedError {
          // `#require` has already recorded the failure.
          environment.check(environment.hasFailed, "a `#require` expectation failed")
        }
      }
      let explorer = settings.applied(to: explorer)
      if settings.replay == nil, let corpus = settings.corpus {
        for entry in try corpus.entries(of: key) {
          try await entry.applied(to: explorer).explore(body)
        }
      }
      do {
        try await explorer.explore(body)
      } catch let failure as ExplorationFailure {
        if settings.replay == nil { try settings.corpus?.insert(ExplorationCorpus.Entry(failure), for: key) }
        throw failure
      }
    }

    /// Records the failure as the test's only issue, at the location of the failed expectation if there is one.
    func record(_ failure: ExplorationFailure) {
      let text = """
        \(failure)
          repeat: \(ExplorationSettings.Variable.replay)='\(failure.replay)' swift test --filter '\(filter)'
        """
      Issue.record(Comment(rawValue: text), sourceLocation: location(of: failure))
    }

    /// The regular expression that selects the test on the command line.
    private var filter: String {
      let name = key.prefix { $0 != "(" }
      return name.map { $0.isLetter || $0.isNumber || "/_` ".contains($0) ? "\($0)" : "." }.joined() + "\\("
    }

    private func location(of failure: ExplorationFailure) -> SourceLocation {
      let check = failure.problems.lazy.compactMap { if case .check(let check) = $0 { check } else { nil } }.first
      var location = location
      guard let check, check.line > 0, check.fileID.contains("/") else { return location }
      if check.fileID != location.fileID {
        location = SourceLocation(fileID: check.fileID, filePath: check.fileID, line: 1, column: 1)
      }
      location.line = Int(check.line)
      location.column = 1
      return location
    }
  }

  extension TestExploration {
    /// Creates the exploration of a test.
    init(of test: Test, explorer: ScheduleExplorer, settings: ExplorationSettings) {
      self.init(key: test.key, location: test.sourceLocation, explorer: explorer, settings: settings)
    }
  }
#endif
