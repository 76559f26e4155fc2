import ExploredLocks
import ProcedureKit

/// An explorer that runs a body under many different, reproducible schedules, and reports the first failing schedule.
///
/// `exploreSchedules` is a shorthand for creating and running an explorer. Concurrency bugs hide in orders of execution that rarely occur
/// on a test machine, and the explorer produces such orders deliberately. It holds back every ready job and chooses which job runs next. A
/// schedule is therefore a sequence of choices. The same choices lead to the same run, so a failure can be reproduced.
///
/// **Controlled work** consists of the body's task, its child tasks, tasks created with `Task { … }` (if `controlsGlobalTasks` is `true`)
/// or with `executorPreference: env.executor`, the default actors that these tasks call, and every wait on `env.clock`. One job runs at a
/// time. The explorer makes a choice at the following points:
///
/// - each `await` that suspends the task, enters an actor, or returns from an actor. If several tasks call an actor, they are served in any
///   order (if `ordersCallersOfActors` is `true`).
/// - each wake: a task that makes another task ready (by `yield`, `resume`, `addTask`, `async let`, or `cancel`) can be preempted by a
///   ready job before the waker executes its next line.
/// - each operation on an `ExploredMutex` or `ExploredAtomic`.
///
/// The explorer makes no other choices within synchronous code. To find races on other memory, use Thread Sanitizer.
///
/// **Wakes under a lock** are not choice points, because a job that preempts the waker could wait for the lock. The lock may belong to the
/// code under test, or to the runtime while it cancels a task. The explorer recognizes a wake under a lock when a preempting job waits
/// indefinitely. It then runs the schedule again. `ExplorationSummary.wakesUnderLock` counts these wakes.
///
/// **Code that needs no changes:** `Task.sleep` and the system's clocks wait in the virtual time of `env.clock` (if `controlsRealTime` is
/// `true`). Main-actor code of the exploration runs on the exploration's threads (if `controlsMainActor` is `true`), and all other
/// main-actor code stays on the real main actor.
///
/// **Detected, but not controlled:** every task of the exploration that another thread makes ready, for example from a dispatch queue or in
/// a callback from the system. These tasks are reported as `ExplorationProblem.uncontrolled` unless `allowsUncontrolledJobs` is `true`.
///
/// **Not detected:** work elsewhere that never returns to the exploration. If no job is ready, and work elsewhere takes longer than
/// `patience`, a deadlock is reported.
///
/// The optimizer merges consecutive visits to an actor, so a replay string is valid only for the kind of build (debug or release) that
/// printed it.
///
/// **Crashes:** if the process crashes, a file `procedurekit-exploration-….txt` with the seed, the schedule and a replay string remains in
/// the directory for temporary files (`TMPDIR`). The file is removed when an exploration ends normally.
///
/// Each exploration has its own threads. At most two explorations per processor run at a time. Other explorations wait without occupying a
/// thread. Starting an exploration within the body of another one throws an error.
public struct ScheduleExplorer: Sendable {
  /// The number of schedules to run, unless the exploration ends earlier. While an expected outcome is missing, up to ten times as many
  /// are run.
  public var schedules: Int

  /// The real time after which no further schedules are started; `nil` if there is no limit.
  public var duration: Duration?

  /// The seed for all choices and random numbers. Explorations with the same seed are identical.
  public var seed: UInt64

  /// The strategy for choosing the next job.
  public var strategy: ExplorationStrategy

  /// The maximum number of steps in a schedule. Each job, and each operation on an explored lock or atomic, is a step. A schedule that
  /// reaches the limit fails.
  public var stepLimit = 100_000

  /// How long, in real time, the explorer waits for a ready job before it reports a deadlock. During this time, code outside the explorer's
  /// control can enqueue a job.
  public var patience: Duration = .milliseconds(200)

  /// The maximum duration of a step in real time. If a step takes longer, the explorer reports the step and ends the exploration.
  ///
  /// The thread that runs the step is abandoned, and so are the tasks of the schedule.
  public var stepTimeout: Duration = .seconds(60)

  /// The maximum number of preemptions in one schedule, at wakes and at operations on explored locks and atomics. If the limit is `0`, the
  /// explorer never chooses to preempt a task.
  public var preemptionLimit = Int.max

  /// Whether `env.clock` can move to the next deadline while jobs are still ready, as can happen in real time on a slow machine.
  ///
  /// If the value is `true`, timeouts can end work that has not had its turn yet. By default, time passes only when no job is ready.
  public var timersOvertakeWork = false

  /// The maximum number of simpler schedules that are tried in order to simplify a failing schedule. For a schedule that reaches the step
  /// limit, at most 200 are tried. The explorer also repeats a failing schedule a few times, to check that it fails again and to record a
  /// trace.
  public var shrinkLimit = 500

  /// The names of the required outcomes of a race, which the body passes to `ExplorationEnvironment.tally`. If an outcome has not occurred
  /// after `schedules` schedules, the exploration runs more schedules, but no more than ten times `schedules` in total.
  public var expectedOutcomes: Set<String> = []

  /// Whether every hundredth successful schedule is run a second time. The exploration fails if the same choices lead to a different run.
  /// The property has no effect if `allowsUncontrolledJobs` is `true`.
  public var checksDeterminism = true

  /// Whether a schedule fails if its tasks acquire explored locks in a cycle, even if they do not deadlock.
  ///
  /// Set this property to `false` if tasks acquire locks in a cycle, but something that the explorer cannot see keeps them from doing so
  /// concurrently. Locks that are always acquired while a common lock is held do not form a cycle.
  public var checksLockOrder = true

  /// Whether schedules are allowed to contain uncontrolled work. Such work makes replay strings unreliable.
  public var allowsUncontrolledJobs = false

  /// Creates an explorer.
  public init(schedules: Int = 1_000, seed: UInt64 = 0, strategy: ExplorationStrategy = .mixed()) {
    self.schedules = schedules
    self.seed = seed
    self.strategy = strategy
  }

  /// Whether tasks that do not specify an executor, such as `Task { … }`, are controlled.
  ///
  /// The value is `false` if the runtime does not provide a hook for the global executor, for example because the runtime is statically
  /// linked, or if another run loop uses the hook. Such tasks are then reported as uncontrolled.
  public static var controlsGlobalTasks: Bool { GlobalExecutorWatch.shared.isInstalled }

  /// Whether real-time waits (`Task.sleep`, `ContinuousClock`, `SuspendingClock`) become waits in the virtual time of
  /// `ExplorationEnvironment.clock`.
  ///
  /// The explorer determines the value on first use. The value is `true` with Swift 6.3 on Linux. Even then, the explorer does not control
  /// the following waits. It reports them as uncontrolled, or as a deadlock if they take longer than `patience`.
  ///
  /// - Waits at the start of a task that `Task.immediate` creates outside any actor without `executorPreference: env.executor`.
  /// - If `ordersCallersOfActors` is `false`, waits within an actor other than the main actor, in a task that `Task { … }` or
  ///   `Task.detached` creates.
  public static var controlsRealTime: Bool { RealSleepTest.isSuccessful }

  /// Whether code on the main actor is controlled.
  ///
  /// The value is `false` if the runtime does not provide a hook for the main actor, or if another library uses the hook. Work on the main
  /// actor is then reported as uncontrolled.
  public static var controlsMainActor: Bool { GlobalExecutorWatch.shared.controlsMainActor }

  /// Whether a waker can also be preempted by tasks that are waiting within an actor.
  ///
  /// The explorer determines the value on first use. The value is `false` if the explorer cannot distinguish the kinds of jobs in this
  /// version of the runtime.
  public static var seesWakesOfActors: Bool { JobKind.isKnown }

  /// Whether the explorer determines which caller an actor serves next.
  ///
  /// The explorer determines the value on first use. The value is `false` on systems other than Linux, and if the explorer cannot read the
  /// state of actors in this version of the runtime. The runtime then uses a single step to serve all callers that are waiting for an
  /// actor, in order of arrival. An exploration with a call to an actor is therefore never complete; see
  /// `ExplorationSummary.unorderedVisits`.
  public static var ordersCallersOfActors: Bool { DefaultActor.isKnown }

  /// Runs `body` under one schedule after another until a schedule fails or all schedules have been run.
  ///
  /// The body's task inherits the task-local values of the caller. A schedule ends when the body returns and no more jobs are ready. Sleeps
  /// that are still in progress are cancelled. Cancelling the caller ends the exploration after the current schedule.
  ///
  /// - Throws: `ExplorationFailure` for the first failing schedule; `MissingOutcomes` if one of `expectedOutcomes` never occurred, except
  ///   in a replay; `ReplayDiverged` if a replay runs the tasks in a different order from the failing schedule, unless
  ///   `allowsUncontrolledJobs` is `true`; `CancellationError` if the caller is cancelled; a format error if the replay string is
  ///   malformed; another error if the caller belongs to an exploration.
  @concurrent @discardableResult
  public func explore(
    _ body: @escaping @Sendable (ExplorationEnvironment) async throws -> Void
  ) async throws -> ExplorationSummary {
    do {
      return try await run(body)
    } catch var failure as ExplorationFailure {
      failure.save()
      throw failure
    }
  }

  /// Runs the schedules, and throws the first failure without saving its files or its attachment.
  @concurrent
  func run(_ body: @escaping ScheduleRun.Body) async throws -> ExplorationSummary {
    guard ScheduleExecutor.current == nil else { throw NestedExploration() }
    try await ExplorationPermits.shared.acquire()
    defer { ExplorationPermits.shared.release() }
    LockSchedules.install { ScheduleExecutor.current }
    ReproducibleTasks.recognize { ScheduleExecutor.current != nil }
    let pool = ThreadPool()
    defer { pool.shutDown() }
    let result = CommandQueue<ExplorationSummary>()
    let work = KitSpawner.startExploration(on: pool) {
      result.send(Result { try explore(body, on: pool) })
    }
    pool.startWatch(stepTimeout: stepTimeout) { executor in
      result.send(.failure(hang(executor)))
    }
    return try await withTaskCancellationHandler {
      try await result.next(ignoringCancellation: true)
    } onCancel: {
      work.cancel()
    }
  }

  private func explore(_ body: @escaping ScheduleRun.Body, on pool: ThreadPool) throws -> ExplorationSummary {
    var summary = ExplorationSummary(seed: seed, strategy: strategy)
    summary.preemptionLimit = preemptionLimit
    var fingerprints: Set<UInt64> = []
    var choosers = try ChooserSource(strategy, seed: seed)
    let end = duration.map { ContinuousClock.now + $0.saturated }
    while wantsMore(after: summary, until: end), let next = choosers.next(summary.schedules) {
      var run = scheduleRun(summary.schedules, seed: next.seed)
      run.isRepetition = choosers.isReplay
      pool.crashTrail?.willRun(run.schedule, explorationSeed: seed, seed: run.seed, strategy: strategy)
      var outcome = try run.run(next.chooser, on: pool, body)
      choosers.didRun(outcome.record)
      if !allowsUncontrolledJobs, let error = choosers.divergence(of: outcome) { throw error }
      guard outcome.problems.isEmpty else {
        guard choosers.isReplay else { throw try shrunk(outcome, of: run, on: pool, body) }
        let traced = try run.traced(outcome, on: pool, body)
        outcome.trace = traced.outcome.trace
        if traced.divergence == nil { outcome.problems = traced.outcome.problems }
        throw failure(outcome, outcome, of: run)
      }
      if isChecked(summary.schedules), let step = try run.again(outcome, on: pool, body).divergence {
        throw failure(outcome, outcome, of: run, further: .nondeterminism(step: step))
      }
      let isNewOrder = fingerprints.insert(outcome.record.fingerprint.value).inserted
      summary.didRun(outcome, isNewOrder: isNewOrder)
    }
    if summary.unorderedVisits == 0, summary.unclearSleeps == 0 {
      summary.isComplete = choosers.isExhausted
      summary.completePreemptions = choosers.completePreemptions
    }
    let missing = summary.missing(of: expectedOutcomes)
    guard missing.isEmpty || choosers.isReplay else { throw MissingOutcomes(outcomes: missing, summary: summary) }
    return summary
  }

  /// Returns whether a successful schedule should be run a second time to check that the body is deterministic. Every hundredth schedule is
  /// checked. The seed determines which schedule is checked first, so short explorations are sometimes checked, too.
  private func isChecked(_ schedule: Int) -> Bool {
    checksDeterminism && (UInt64(schedule) &+ seed) % 100 == 99 && !allowsUncontrolledJobs
  }

  private func wantsMore(after summary: ExplorationSummary, until end: ContinuousClock.Instant?) -> Bool {
    if let end, summary.schedules > 0, ContinuousClock.now >= end { return false }
    return summary.schedules < schedules
      || summary.schedules / 10 < schedules && !summary.missing(of: expectedOutcomes).isEmpty
  }

  private func scheduleRun(_ schedule: Int, seed: UInt64) -> ScheduleRun {
    ScheduleRun(
      schedule: schedule, seed: seed, stepLimit: min(stepLimit, 1 << 40), patience: patience,
      allowsUncontrolled: allowsUncontrolledJobs, preemptionLimit: preemptionLimit,
      timersOvertakeWork: timersOvertakeWork, checksLockOrder: checksLockOrder)
  }
}

extension ScheduleExplorer {
  /// Simplifies the failing schedule of `run`, and returns the failure of the simplest schedule found. A simpler schedule is accepted only
  /// if it has a problem of the same kind. The search tries up to `shrinkLimit` simpler schedules.
  private func shrunk(
    _ found: ScheduleRun.Outcome, of run: ScheduleRun, on pool: ThreadPool, _ body: @escaping ScheduleRun.Body
  ) throws -> ExplorationFailure {
    var run = run
    run.patience = .zero
    guard found.isReproducible else { return failure(found, found, of: run) }
    if found.problems.contains(where: { $0.livelock != nil }) {
      return try shrunkLivelock(found, of: run, on: pool, body)
    }
    if let step = try run.again(found, on: pool, body).divergence {
      return failure(found, found, of: run, further: .nondeterminism(step: step))
    }
    var simplest = found
    var shrinker = ChoiceShrinker(failing: found.record.choices)
    run.stepLimit = min(run.stepLimit, found.record.moments * 4 + 1_000)
    for _ in 0..<shrinkLimit {
      guard let candidate = shrinker.candidate else { break }
      pool.crashTrail?.willRun(run.schedule, explorationSeed: seed, seed: run.seed, strategy: strategy)
      let outcome = try run.run(ReplayChooser(choices: candidate), on: pool, body)
      if outcome.problems.first?.kind == found.problems.first?.kind {
        shrinker.candidateFailed(outcome.record.choices)
        if shrinker.choices == ReplayCode(seed: 0, choices: outcome.record.choices).choices { simplest = outcome }
      } else {
        shrinker.candidatePassed()
      }
    }
    let again = try run.again(simplest, on: pool, isTraced: true, body)
    simplest.trace = again.outcome.trace
    if again.divergence == nil { simplest.problems = again.outcome.problems }
    var report = failure(found, simplest, of: run, further: again.divergence.map { .nondeterminism(step: $0) })
    report.failsAgain = again.divergence == nil
    return report
  }

  /// Returns the failure to report for an endless schedule, simplified if possible. Up to two runs with low step limits look for a short
  /// schedule in which the tasks run in a loop. Up to `shrinkLimit` further runs, but no more than 200, simplify that schedule.
  ///
  /// The replay string contains no `OrderTrail`, because the replay may have a different step limit.
  private func shrunkLivelock(
    _ found: ScheduleRun.Outcome, of run: ScheduleRun, on pool: ThreadPool, _ body: @escaping ScheduleRun.Body
  ) throws -> ExplorationFailure {
    var run = run
    func repetition(_ choices: [Int]) throws -> ScheduleRun.Outcome? {
      let outcome = try run.run(ReplayChooser(choices: choices), on: pool, body)
      let isEqual = outcome.problems.first?.kind == found.problems.first?.kind
      return isEqual && outcome.problems.contains { $0.livelock?.cycle != nil } ? outcome : nil
    }
    let limit = run.stepLimit
    var short: ScheduleRun.Outcome?
    for steps in [400, 4_000] where short == nil {
      run.stepLimit = min(limit, steps)
      short = try repetition(Array(found.record.choices.prefix(run.stepLimit)))
    }
    guard var simplest = short else { return failure(found, found, of: run, hasTrail: false) }
    var shrinker = ChoiceShrinker(failing: simplest.record.choices)
    for _ in 0..<min(shrinkLimit, 200) {
      guard let candidate = shrinker.candidate else { break }
      if let outcome = try repetition(candidate) {
        shrinker.candidateFailed(outcome.record.choices)
        if shrinker.choices == ReplayCode(seed: 0, choices: outcome.record.choices).choices { simplest = outcome }
      } else {
        shrinker.candidatePassed()
      }
    }
    let again = try run.again(simplest, on: pool, isTraced: true, body)
    simplest.trace = again.outcome.trace
    if again.divergence == nil { simplest.problems = again.outcome.problems }
    var report = failure(found, simplest, of: run, hasTrail: false)
    report.failsAgain = again.divergence == nil
    return report
  }

  /// Returns the failure to report for a schedule whose current step does not end.
  private func hang(_ executor: ScheduleExecutor) -> ExplorationFailure {
    let record = executor.record
    let environment = executor.environment
    let run = scheduleRun(environment?.schedule ?? 0, seed: environment?.seed ?? 0)
    let problem: ExplorationProblem =
      switch executor.abandonment {
      case .endless: .endless(Livelock(steps: stepLimit, tasks: []))
      case .deadlock(let cycle):
        .deadlock(
          Deadlock(
            tasks: executor.taskCount, instant: environment?.clock.now ?? VirtualClock.Instant(), waits: [],
            aftermath: .abandoned, locks: cycle))
      case nil: .hanging(task: record.tasks.last ?? 0, step: record.steps)
      }
    let outcome = ScheduleRun.Outcome(
      problems: [problem], record: record, notes: (environment?.notes ?? []) + executor.lockLines, tallies: [:])
    return failure(outcome, outcome, of: run)
  }

  private func failure(
    _ found: ScheduleRun.Outcome, _ simplest: ScheduleRun.Outcome, of run: ScheduleRun,
    further: ExplorationProblem? = nil, hasTrail: Bool = true
  ) -> ExplorationFailure {
    let choices = simplest.record.choices
    let trail = hasTrail ? OrderTrail(simplest.record.tasks) : nil
    return ExplorationFailure(
      seed: seed, schedule: run.schedule, strategy: strategy,
      problems: simplest.problems + (further.map { [$0] } ?? []),
      replay: ReplayCode(seed: run.seed, choices: choices, trail: trail).description,
      order: simplest.record.tasks, notes: simplest.notes,
      deviations: (
        ChoiceShrinker.deviations(in: found.record.choices), ChoiceShrinker.deviations(in: choices)
      ), hasChoices: found.record.hasChoices, failsAgain: nil, trace: simplest.trace)
  }
}
