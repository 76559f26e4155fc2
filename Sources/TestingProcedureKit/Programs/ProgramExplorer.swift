/// An explorer that generates random programs from a specification, and runs each of them under many schedules. It simplifies the first
/// failing program and its schedule.
///
/// `explorePrograms` is a shorthand for creating and running an explorer. Each task of a program is a child task on the executor of the
/// schedule and yields before each command.
public struct ProgramExplorer<Specification: ProgramSpecification>: Sendable {
  /// A command of a program.
  public typealias Command = Specification.Command

  /// The specification that generates the commands and checks each execution.
  public var specification: Specification

  /// The number of programs to generate and explore, unless one of them fails.
  public var programs = 100

  /// The maximum number of tasks in a program. A value below 1 is treated as 1.
  public var taskLimit = 3

  /// The maximum number of commands in a task. A value below 1 is treated as 1.
  public var commandLimit = 4

  /// The maximum number of programs that are tried in order to simplify a failing program.
  public var shrinkLimit = 200

  /// The explorer for each program, with its number of schedules, its strategy, and its seed, which also determines the programs.
  ///
  /// Each of the `expectedOutcomes` must occur in at least one program. If an outcome has not occurred after `programs` programs, the
  /// exploration tries more programs, but no more than ten times `programs` in total.
  public var explorer = ScheduleExplorer(schedules: 20)

  /// Creates an explorer that generates programs from `specification`.
  public init(of specification: Specification) {
    self.specification = specification
  }

  /// Returns a generated program, which you can, for example, execute outside an exploration.
  ///
  /// - Parameter number: The number of the program, starting at `0`.
  /// - Returns: The program, which depends only on the specification, the seed, the limits and the number.
  public func program(_ number: Int) -> Program<Command> {
    var random = SeededGenerator(seed: seed(of: number))
    return Program(
      taskLimit: max(taskLimit, 1), commandLimit: max(commandLimit, 1), using: &random,
      makeCommand: specification.makeCommand)
  }

  private func seed(of number: Int) -> UInt64 { SeededGenerator.seed(explorer.seed, number) }

  /// Generates and explores programs until a program fails or all have passed. Cancelling the caller ends the exploration after the current
  /// schedule.
  ///
  /// If the environment variable `PROCEDUREKIT_PROGRAM` is set to the value in the last line of a `ProgramFailure`, only that program is
  /// explored, with the seed of the failure, and no outcome is required.
  ///
  /// - Returns: The statistics of all schedules of all programs.
  /// - Throws: `ProgramFailure` for the first failing program; `MissingOutcomes` if an expected outcome never occurred; `CancellationError`
  ///   if the caller is cancelled; another error within another exploration, or if an environment variable has a malformed value.
  @concurrent @discardableResult
  public func explore() async throws -> ExplorationSummary {
    if let known = try ExplorationSettings(environment: TestProcess.environment).program {
      var explorer = self
      explorer.explorer.seed = known.seed
      explorer.explorer.expectedOutcomes = []
      return try await explorer.explore(from: known.number, count: 1)
    }
    return try await explore(from: 0, count: programs)
  }

  private func explore(from first: Int, count: Int) async throws -> ExplorationSummary {
    var summary = ExplorationSummary(seed: explorer.seed, strategy: explorer.strategy)
    summary.isComplete = count > 0
    var number = first
    while wantsMore(after: number - first, of: count, summary) {
      defer { number += 1 }
      var explorer = explorer
      explorer.seed = seed(of: number)
      explorer.expectedOutcomes = []
      let program = program(number)
      do {
        summary.add(try await explorer.run(body(of: program)))
      } catch let failure as ExplorationFailure {
        var simplest = try await simplified(program, failure, number: number, explorer)
        simplest.failure.save()
        throw simplest
      }
    }
    let missing = summary.missing(of: explorer.expectedOutcomes)
    guard missing.isEmpty else { throw MissingOutcomes(outcomes: missing, summary: summary) }
    return summary
  }

  private func wantsMore(after tried: Int, of count: Int, _ summary: ExplorationSummary) -> Bool {
    tried < count || tried / 10 < count && !summary.missing(of: explorer.expectedOutcomes).isEmpty
  }

  /// Explores one program, for example the program of a failure. With the strategy `.replay`, only one schedule is run.
  ///
  /// - Returns: The statistics.
  /// - Throws: `ProgramFailure` for the first failing schedule, with the program unchanged; any other error that `ScheduleExplorer.explore`
  ///   throws.
  @concurrent @discardableResult
  public func explore(_ program: Program<Command>) async throws -> ExplorationSummary {
    do {
      return try await explorer.explore(body(of: program))
    } catch let failure as ExplorationFailure {
      throw ProgramFailure(
        number: nil, seed: explorer.seed, program: program, originalCommandCount: program.commandCount,
        failure: failure)
    }
  }

  /// Returns the failure of the simplest program that fails in the same way as `program`, with a simplified schedule.
  private func simplified(
    _ program: Program<Command>, _ failure: ExplorationFailure, number: Int, _ explorer: ScheduleExplorer
  ) async throws -> ProgramFailure<Command> {
    let seed = self.explorer.seed
    let found = ProgramFailure(
      number: number, seed: seed, program: program, originalCommandCount: program.commandCount, failure: failure)
    guard failure.problems.allSatisfy(\.isCheap) else { return found }
    var shrinker = ProgramShrinker(failing: program, simplerCommands: specification.simplerCommands)
    var quick = explorer
    quick.shrinkLimit = 0
    for _ in 0..<max(shrinkLimit, 0) {
      guard let candidate = shrinker.candidate else { break }
      let problem = try await self.failure(of: candidate, by: quick)?.problems.first
      if problem?.kind == failure.problems.first?.kind {
        shrinker.candidateFailed()
      } else {
        shrinker.candidatePassed()
      }
    }
    // If the program does not fail again, the failure depends on more than the choices.
    guard let simplest = try await self.failure(of: shrinker.program, by: explorer) else { return found }
    return ProgramFailure(
      number: number, seed: seed, program: shrinker.program, originalCommandCount: program.commandCount,
      failure: simplest)
  }

  private func failure(of program: Program<Command>, by explorer: ScheduleExplorer) async throws -> ExplorationFailure?
  {
    do {
      _ = try await explorer.run(body(of: program))
      return nil
    } catch let failure as ExplorationFailure {
      return failure
    }
  }

  /// Returns an exploration body that executes `program` and checks the history.
  private func body(of program: Program<Command>) -> @Sendable (ExplorationEnvironment) async throws -> Void {
    { [specification] env in
      let system = try await specification.makeSystem(env)
      let recording = ProgramRecording<Specification>(taskCount: program.tasks.count)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (task, commands) in program.tasks.enumerated() {
          group.addTask(name: "task \(task) of the program") {
            for command in commands {
              await Task.yield()
              try await recording.record(command, of: task, in: env) {
                try await specification.execute(command, on: system, env)
              }
            }
          }
        }
        try await group.waitForAll()
      }
      try await specification.check(recording.history, of: system, env)
    }
  }
}

extension ExplorationProblem {
  /// Whether the problem can be reproduced at a reasonable cost.
  fileprivate var isCheap: Bool {
    switch self {
    case .check, .thrown, .deadlock: true
    default: false
    }
  }
}

/// Generates random concurrent programs and runs each of them under many schedules.
///
/// ```swift
/// try await explorePrograms(of: RegisterSpecification())
/// ```
///
/// The first failing program is simplified by removing tasks and commands, and by replacing commands with simpler ones, as long as the
/// program still fails in the same way. After that, its schedule is simplified. Cancelling the caller ends the exploration after the
/// current schedule. ``ProgramExplorer`` has additional settings.
///
/// - Parameters:
///   - specification: The specification of the programs.
///   - programs: The number of programs.
///   - seed: The seed for all programs, choices and random numbers. Explorations with the same seed are identical.
/// - Returns: The statistics of all schedules of all programs.
/// - Throws: `ProgramFailure` for the first failing program; `CancellationError` if the caller is cancelled; another error if the caller
///   belongs to an exploration, or if an environment variable for explorations has a malformed value.
@concurrent @discardableResult
public func explorePrograms<Specification: ProgramSpecification>(
  of specification: Specification, programs: Int = 100, seed: UInt64 = 0
) async throws -> ExplorationSummary {
  var explorer = ProgramExplorer(of: specification)
  explorer.programs = programs
  explorer.explorer.seed = seed
  return try await explorer.explore()
}

extension ExplorationSummary {
  /// Adds the statistics of another program's exploration.
  mutating func add(_ other: ExplorationSummary) {
    let complete = schedules == 0 ? other.completePreemptions : completePreemptions
    completePreemptions = complete.flatMap { most in other.completePreemptions.map { min(most, $0) } }
    schedules += other.schedules
    distinctTraces += other.distinctTraces
    decisions += other.decisions
    hasChoices = hasChoices || other.hasChoices
    steps += other.steps
    longestSchedule = max(longestSchedule, other.longestSchedule)
    tallies.merge(other.tallies, uniquingKeysWith: +)
    wakesUnderLock += other.wakesUnderLock
    unorderedVisits += other.unorderedVisits
    unclearSleeps += other.unclearSleeps
    isComplete = isComplete && other.isComplete
    preemptionLimit = min(preemptionLimit, other.preemptionLimit)
  }
}
