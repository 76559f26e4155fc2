import Testing
import TestingProcedureKit

/// Runs `body` under 1,000 random schedules and 1,000 with priorities. All `outcomes` of the race must occur.
func exploreRace(
  _ outcomes: String..., schedules: Int = 1_000, seed: UInt64 = 0, sourceLocation: SourceLocation = #_sourceLocation,
  _ body: @escaping @Sendable (ExplorationEnvironment) async throws -> Void
) async {
  var seen: [String: Int] = [:]
  for strategy in [ExplorationStrategy.random, .priorities(changePoints: 3)] {
    do {
      let summary = try await exploreSchedules(schedules, seed: seed, strategy: strategy, body)
      seen.merge(summary.tallies, uniquingKeysWith: +)
    } catch {
      Issue.record(error, sourceLocation: sourceLocation)
    }
  }
  for outcome in outcomes {
    #expect(seen[outcome, default: 0] > 0, "\(outcome) never occurred; seen: \(seen)", sourceLocation: sourceLocation)
  }
}

/// Yields to whatever else is ready, some times.
func pause(_ env: ExplorationEnvironment, upTo limit: Int = 8) async {
  for _ in 0..<env.random.below(limit + 1) { await Task.yield() }
}

struct Reason: Error, Equatable {
  var text = "because"
}

extension ProcedureOutcome {
  /// The kind of outcome in a word, for tallies.
  var label: String {
    switch self {
    case .finished: "finished"
    case .failed: "failed"
    case .cancelled: "cancelled"
    case .ignored: "ignored"
    }
  }
}
