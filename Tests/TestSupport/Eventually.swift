public import Testing

/// Yields until a condition holds: for what another task does, and nothing signals.
///
/// - Parameters:
///   - limit: The time after which the test fails, instead of hanging. It is far longer than a busy machine needs.
///   - sourceLocation: The place of the issue.
///   - condition: Evaluated again after each yield.
/// - Throws: `ConditionNotMet`, after an issue was recorded at the call; and the error of `condition`.
public func eventually(
  within limit: Duration = .seconds(300), sourceLocation: SourceLocation = #_sourceLocation,
  _ condition: nonisolated(nonsending) () async throws -> Bool
) async throws {
  let end = ContinuousClock.now + limit
  while try await !condition() {
    guard ContinuousClock.now < end else {
      Issue.record("the condition did not hold within \(limit)", sourceLocation: sourceLocation)
      throw ConditionNotMet()
    }
    await Task.yield()
  }
}

/// A condition did not hold in time. The issue was recorded where the condition stands.
public struct ConditionNotMet: Error {}
