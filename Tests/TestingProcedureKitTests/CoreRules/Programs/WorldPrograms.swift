import Testing
import TestingProcedureKit

/// A system for random programs, in either world.
protocol ProgramSystem: Sendable {
  /// A random operation on the system, with all its random parameters.
  associatedtype Command: Sendable

  init(_ world: any ProgramWorld)

  static func randomCommand(using random: inout SeededGenerator) -> Command

  /// Returns the commands that are simpler than `command`, starting with the simplest.
  static func simplerCommands(than command: Command) -> [Command]

  func execute(_ command: Command) async

  /// Waits until all runs have ended, and checks the invariants.
  func finish() async throws
}

/// The random programs of a system, for the explorer.
struct WorldPrograms<System: ProgramSystem>: ProgramSpecification {
  func makeSystem(_ env: ExplorationEnvironment) -> System { System(env) }

  func makeCommand(using random: inout SeededGenerator) -> System.Command { System.randomCommand(using: &random) }

  func simplerCommands(than command: System.Command) -> [System.Command] { System.simplerCommands(than: command) }

  func execute(_ command: System.Command, on system: System, _ env: ExplorationEnvironment) async {
    await system.execute(command)
  }

  func check(
    _ history: ProgramHistory<System.Command, Void>, of system: System, _ env: ExplorationEnvironment
  ) async throws {
    try await system.finish()
  }
}

extension ProgramExplorer {
  /// Creates an explorer of `programs` random programs of a system.
  init<System>(of system: System.Type, programs: Int, seed: UInt64, outcomes: Set<String>)
  where Specification == WorldPrograms<System> {
    self.init(of: WorldPrograms())
    self.programs = programs
    commandLimit = 8
    explorer.schedules = 3
    explorer.seed = seed
    explorer.expectedOutcomes = outcomes
  }

  /// Runs the programs on the process's threads, without an exploration.
  ///
  /// - Returns: The number of occurrences of each event.
  func runOnRealThreads<System>() async throws -> [String: Int] where Specification == WorldPrograms<System> {
    var tallies: [String: Int] = [:]
    for number in 0..<programs {
      let world = RealThreads(seed: UInt64(number))
      let system = System(world)
      await withTaskGroup(of: Void.self) { group in
        for commands in program(number).tasks {
          group.addTask { for command in commands { await system.execute(command) } }
        }
      }
      try await system.finish()
      tallies.merge(world.tallies, uniquingKeysWith: +)
    }
    return tallies
  }
}
