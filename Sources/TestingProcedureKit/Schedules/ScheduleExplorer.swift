/// An explorer that runs a body under many different, reproducible schedules, and reports the first failing schedule.
///
/// `exploreSchedules` is the short form. Concurrency bugs hide in orders that a test machine seldom takes; the explorer
/// takes such orders on purpose. The explorer holds every ready job and chooses the next one. A schedule is therefore a
/// sequence of choices: equal choices give equal runs, and a failure can be repeated.
///
/// **Controlled work:** the body's task, its child tasks, tasks created with `executorPreference: env.executor`, and
/// the default actors that these tasks call, all on the caller's thread and one at a time; and every wait on
/// `env.clock`. The explorer chooses at each `await` that suspends or changes the actor, never within synchronous code:
/// for races of atomics and locks between two awaits, use the thread sanitizer. Creating a task is not a choice,
/// either: the creating task goes on to its next suspension, and if the suspension is a call to an actor, the call is
/// queued there before the new task.
///
/// **Detected, but not controlled:** a job handed to the global executor (`Task { … }`), at once if
/// `noticesEscapesAtOnce` is `true`; and every task of the exploration that another thread makes ready: after a job on
/// the global executor, a wait for real time (`Task.sleep`), work on the main actor, or a callback of the system. Such
/// jobs are reported as `ExplorationProblem.uncontrolled` unless `allowsUncontrolledJobs`.
///
/// **Not detected:** work elsewhere that never comes back. If nothing else is ready, work elsewhere that takes longer
/// than `patience` is reported as a deadlock. Code that blocks its thread hangs the exploration. Equal choices can run
/// differently because of state that outlives a schedule, the addresses of objects, and the order of sets and
/// dictionaries. The optimizer merges consecutive visits to an actor, so a replay string is valid only for the build
/// (debug or release) that printed the string.
public struct ScheduleExplorer: Sendable {
  /// The number of schedules to run.
  public var schedules: Int

  /// The source of all choices and random numbers. Equal seeds give equal explorations.
  public var seed: UInt64

  /// The choice of the next job.
  public var strategy: ExplorationStrategy

  /// The number of jobs after which a schedule fails as endless.
  public var stepLimit = 100_000

  /// The real time to wait for a job from outside at a standstill, before reporting a deadlock.
  public var patience: Duration = .milliseconds(200)

  /// The largest number of further runs for simplifying a failing schedule.
  public var shrinkLimit = 200

  /// The required outcomes of a race, by the names that the body gives to `ExplorationEnvironment.tally`. The
  /// exploration goes on until all outcomes have occurred, for up to ten times `schedules`.
  public var expectedOutcomes: Set<String> = []

  /// Whether schedules may do uncontrolled work. Replay strings are then not reliable.
  public var allowsUncontrolledJobs = false

  /// Makes an explorer.
  public init(schedules: Int = 1_000, seed: UInt64 = 0, strategy: ExplorationStrategy = .random) {
    self.schedules = schedules
    self.seed = seed
    self.strategy = strategy
  }

  /// Whether a job is detected when the job leaves for the global executor, and not only when its task comes back.
  public static var noticesEscapesAtOnce: Bool { GlobalExecutorWatch.shared.isInstalled }

  /// Runs `body` under one schedule after another, until a schedule fails or all have run.
  ///
  /// The body's task has the task-local values of the caller. A schedule ends when the body has returned and no
  /// remaining job is ready; remaining sleeps are then cancelled. Cancelling the caller ends the exploration after the
  /// current schedule.
  ///
  /// - Throws: `ExplorationFailure` for the first failing schedule; `MissingOutcomes` if one of `expectedOutcomes`
  ///   never occurred, except in a replay; `CancellationError` if the caller is cancelled; a format error for a
  ///   malformed replay string.
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
  /// Returns the failure of `run`, in the simplest schedule with an equal problem that `shrinkLimit` runs find.
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
