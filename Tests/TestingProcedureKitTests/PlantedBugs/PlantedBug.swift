import TestingProcedureKit

/// A small scheduler with one classic bug, and the corrected version.
protocol PlantedBug: Sendable {
  typealias Version = PlantedBugVersion

  /// Whether the bug occurs only if timers preempt ready work.
  static var needsLateTimers: Bool { get }

  /// Uses the scheduler in a way that triggers the bug in some orders, and checks the result.
  static func scenario(_ version: Version, _ env: ExplorationEnvironment) async throws
}

enum PlantedBugVersion: CaseIterable {
  case broken, fixed
}

extension PlantedBug {
  static var needsLateTimers: Bool { false }

  /// Explores the scenario, with late timers if the bug needs them.
  @discardableResult
  static func explore(
    _ version: Version, schedules: Int = 1_000, seed: UInt64 = 0, strategy: ExplorationStrategy = .mixed()
  ) async throws -> ExplorationSummary {
    var explorer = ScheduleExplorer(schedules: schedules, seed: seed, strategy: strategy)
    explorer.timersOvertakeWork = needsLateTimers
    return try await explorer.explore { try await scenario(version, $0) }
  }
}
