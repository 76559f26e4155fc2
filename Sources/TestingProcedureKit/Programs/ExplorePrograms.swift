/// Generates random concurrent programs and runs each under many schedules.
///
/// ```swift
/// try await explorePrograms(of: RegisterSpecification())
/// ```
///
/// The first failing program is simplified: tasks and commands are left out as long as the program fails in the same
/// way, then the schedule is simplified. Cancelling the caller ends the exploration after the current schedule.
/// ``ProgramExplorer`` has further settings.
///
/// - Parameters:
///   - specification: The commands, the system and the condition.
///   - programs: The number of programs.
///   - seed: The source of all programs, choices and random numbers. Equal seeds give equal explorations.
/// - Returns: The statistics of all schedules of all programs.
/// - Throws: `ProgramFailure` for the first failing program; `CancellationError` if the caller is cancelled.
@concurrent @discardableResult
public func explorePrograms<Specification: ProgramSpecification>(
  of specification: Specification, programs: Int = 100, seed: UInt64 = 0
) async throws -> ExplorationSummary {
  var explorer = ProgramExplorer(of: specification)
  explorer.programs = programs
  explorer.explorer.seed = seed
  return try await explorer.explore()
}
