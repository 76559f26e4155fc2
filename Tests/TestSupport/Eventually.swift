public import Testing

/// Yields until a condition holds. Use this function to wait for a change that another task makes without signalling it.
///
/// The number of yields is bounded, so a condition that never holds fails the test instead of hanging it. After the time
/// limit of the suite has cancelled the test, each yield counts a thousandfold.
///
/// - Parameters:
///   - limit: The number of yields after which the test fails. The default takes seconds on an idle machine, and longer on a
///     busy one.
///   - sourceLocation: The location of the issue.
///   - condition: The condition, which is evaluated again after each yield.
/// - Throws: `ConditionNotMet` after recording an issue at the call; the error thrown by `condition`.
public func eventually(
  steps limit: Int = 5_000_000, sourceLocation: SourceLocation = #_sourceLocation,
  _ condition: nonisolated(nonsending) () async throws -> Bool
) async throws {
  var steps = 0
  while try await !condition() {
    guard steps < limit else {
      Issue.record("the condition did not hold within \(limit) yields", sourceLocation: sourceLocation)
      throw ConditionNotMet()
    }
    await Task.yield()
    steps += Task.isCancelled ? 1_000 : 1
  }
}

/// The error for a condition that did not hold in time. The issue has been recorded at the location of the condition.
public struct ConditionNotMet: Error {}
