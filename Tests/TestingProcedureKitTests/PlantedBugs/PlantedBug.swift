import TestingProcedureKit

/// A small scheduler with one classic bug, and the same without it.
protocol PlantedBug: Actor {
  typealias Version = PlantedBugVersion

  /// Uses the scheduler in a way that shows the bug in some orders, and checks that it does not.
  static func scenario(_ version: Version, _ env: ExplorationEnvironment) async throws
}

enum PlantedBugVersion: CaseIterable {
  case broken, fixed
}
