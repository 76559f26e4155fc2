/// Runs a body under many different, reproducible schedules, and reports the first in which something goes wrong.
///
/// `exploreSchedules` is the short form. Concurrency bugs live in orders that a test machine seldom takes: the explorer
/// takes them on purpose. It holds every job that is ready and decides which runs next, so a schedule is a sequence of
/// choices, the same choices give the same run, and a failure can be run again.
///
/// **What it controls:** the body's task, its child tasks, tasks created with `executorPreference: env.executor`, and
/// the default actors that they call, all on the thread of the caller, one at a time; and every wait on `env.clock`. A
/// choice is made at each `await` that suspends or changes the actor, never in the middle of synchronous code: races of
/// atomics and locks between two awaits are for the thread sanitizer. To create a task is no choice either: its creator
/// goes on to its next suspension, and if that is a call to an actor, it is in line there before the new task.
///
/// **What it notices, but cannot order:** a job handed to the global executor (`Task { … }`), at once where
/// `noticesEscapesAtOnce` is true; and any task of the exploration that another thread makes ready, be it after such a
/// job, after a wait for real time (`Task.sleep`), after work on the main actor, or by a callback of the system. These
/// are reported as `ExplorationProblem.uncontrolled` unless `allowsUncontrolledJobs`.
///
/// **What it cannot notice:** work elsewhere that never comes back; work elsewhere that takes longer than `patience` is
/// taken for a deadlock when nothing else can go on. Code that blocks its thread hangs the exploration. State that
/// outlives a schedule, the addresses of objects and the order of sets and dictionaries can make equal choices run
/// differently. So can another build: the optimiser merges visits to an actor that follow each other directly, and a
/// replay holds for the build (debug or release) that it comes from.
public struct ScheduleExplorer: Sendable {
  /// The number of schedules to run.
  public var schedules: Int

  /// Decides all choices and random numbers: the same seed gives the same exploration.
  public var seed: UInt64

  /// How jobs are chosen.
  public var strategy: ExplorationStrategy

  /// The number of jobs after which a schedule counts as endless.
  public var stepLimit = 100_000

  /// How long, in real time, to wait for a job from outside when nothing can go on, before that counts as a deadlock.
  public var patience: Duration = .milliseconds(200)

  /// How many further runs may be spent on making a failing schedule simpler.
  public var shrinkLimit = 200

  /// The outcomes of a race that have to occur, each in some schedule, by the names that the body gives to
  /// `ExplorationEnvironment.tally`. Until all have, the exploration goes on, up to ten times `schedules`.
  public var expectedOutcomes: Set<String> = []

  /// Whether schedules may do work that the exploration cannot order. Replays are not reliable then.
  public var allowsUncontrolledJobs = false

  /// An explorer of so many schedules.
  public init(schedules: Int = 1_000, seed: UInt64 = 0, strategy: ExplorationStrategy = .random) {
    self.schedules = schedules
    self.seed = seed
    self.strategy = strategy
  }

  /// Whether a job that leaves for the global executor is noticed as it does, and not only when it comes back.
  public static var noticesEscapesAtOnce: Bool { GlobalExecutorWatch.shared.isInstalled }

  /// Runs `body` under one schedule after the other until one fails or all have run.
  ///
  /// The body's task has the task locals of the caller. A schedule ends when the body has returned and nothing that it
  /// left behind can go on at that instant; what still sleeps then is woken by a cancellation. Cancelling the caller
  /// ends the exploration after the schedule that is running.
  ///
  /// - Throws: `ExplorationFailure` for the first schedule in which something goes wrong; `MissingOutcomes` if one of
  ///   `expectedOutcomes` never occurred, unless it is a replay; `CancellationError` if the caller is cancelled; an error
  ///   that says so if the strategy's replay string is malformed.
  @concurrent @discardableResult
  public func explore(
    _ body: @escaping @Sendable (ExplorationEnvironment) async throws -> Void
  ) async throws -> ExplorationSummary {
    var summary = ExplorationSummary(seed: seed, strategy: strategy)
    var fingerprints: Set<UInt64> = []
    var choosers = try ChooserSource(strategy, seed: seed)
    while wantsMore(after: summary), let next = choosers.next(summary.schedules) {
      let run = scheduleRun(summary.schedules, seed: next.seed)
      let outcome = try await run.run(next.chooser, body)
      choosers.didRun(outcome.record)
      guard outcome.problems.isEmpty else {
        throw choosers.isReplay ? failure(outcome, outcome, of: run) : try await shrunk(outcome, of: run, body)
      }
      fingerprints.insert(outcome.record.fingerprint)
      summary.schedules += 1
      summary.tallies.merge(outcome.tallies, uniquingKeysWith: +)
      summary.decisions += outcome.record.choices.count
      summary.steps += outcome.record.steps
      summary.longestSchedule = max(summary.longestSchedule, outcome.record.steps)
    }
    summary.distinctTraces = fingerprints.count
    summary.isComplete = choosers.isExhausted
    let missing = summary.missing(of: expectedOutcomes)
    guard missing.isEmpty || choosers.isReplay else { throw MissingOutcomes(outcomes: missing, summary: summary) }
    return summary
  }

  private func wantsMore(after summary: ExplorationSummary) -> Bool {
    summary.schedules < schedules
      || summary.schedules / 10 < schedules && !summary.missing(of: expectedOutcomes).isEmpty
  }

  private func scheduleRun(_ schedule: Int, seed: UInt64) -> ScheduleRun {
    ScheduleRun(
      schedule: schedule, seed: seed, stepLimit: min(stepLimit, 1 << 40), patience: patience,
      allowsUncontrolled: allowsUncontrolledJobs)
  }
}

extension ScheduleExplorer {
  /// The failure of `run`, in the simplest schedule found within `shrinkLimit` runs that fails in the same way.
  private func shrunk(
    _ found: ScheduleRun.Outcome, of run: ScheduleRun, _ body: @escaping ScheduleRun.Body
  ) async throws -> ExplorationFailure {
    var simplest = found
    var shrinker = ChoiceShrinker(failing: found.record.choices)
    var run = run
    run.patience = .zero
    for _ in 0..<(found.isReproducible ? shrinkLimit : 0) {
      guard let candidate = shrinker.candidate else { break }
      let outcome = try await run.run(ReplayChooser(choices: candidate), body)
      if outcome.problems.first?.kind == found.problems.first?.kind {
        shrinker.candidateFailed(outcome.record.choices)
        if shrinker.choices == ReplayCode(seed: 0, choices: outcome.record.choices).choices { simplest = outcome }
      } else {
        shrinker.candidatePassed()
      }
    }
    return failure(found, simplest, of: run)
  }

  private func failure(
    _ found: ScheduleRun.Outcome, _ simplest: ScheduleRun.Outcome, of run: ScheduleRun
  ) -> ExplorationFailure {
    let choices = simplest.record.choices
    return ExplorationFailure(
      seed: seed, schedule: run.schedule, strategy: strategy, problems: simplest.problems,
      replay: ReplayCode(seed: run.seed, choices: choices).description,
      order: simplest.record.strands, notes: simplest.notes,
      deviations: (
        ChoiceShrinker.deviations(in: found.record.choices), ChoiceShrinker.deviations(in: choices)
      ))
  }
}
