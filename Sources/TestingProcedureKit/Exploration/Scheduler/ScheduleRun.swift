import Synchronization

/// One schedule, from start to finish.
struct ScheduleRun: Sendable {
  typealias Body = @Sendable (ExplorationEnvironment) async throws -> Void

  /// The result of a schedule.
  struct Outcome: Sendable {
    var problems: [ExplorationProblem]
    var record: ScheduleRecord
    var notes: [String]
    var tallies: [String: Int]
    var trace: ScheduleTrace?
    /// The number of jobs in which the runtime chose the next caller of an actor.
    var unorderedVisits = 0
    /// Whether the duration of a real-time wait is uncertain.
    var hasUnclearSleep = false

    /// Whether making the same choices again reproduces the failure reliably and at a reasonable cost.
    var isReproducible: Bool {
      problems.allSatisfy { problem in
        switch problem {
        case .check, .thrown, .deadlock, .endless, .lockOrder: true
        case .hanging, .nondeterminism, .uncontrolled: false
        }
      }
    }
  }

  /// Replays the choices of `first`, and records a trace if `isTraced` is `true`.
  ///
  /// - Returns: The second run, and the number of a step at or before which the runs diverged. The number is `nil` if the runs are equal.
  func again(
    _ first: Outcome, on pool: ThreadPool, isTraced: Bool = false, _ body: @escaping Body
  ) throws -> (outcome: Outcome, divergence: Int?) {
    var run = self
    run.isTracing = false
    run.isRepetition = true
    var second = try run.repeated(first, on: pool, body)
    guard isTraced else { return second }
    let traced = try run.traced(first, on: pool, body)
    if traced.divergence == nil { return (traced.outcome, second.divergence) }
    second.outcome.trace = traced.outcome.trace
    return second
  }

  /// Replays the choices of `first`, and records a trace.
  ///
  /// Recording a trace keeps tasks in memory after they end, which can affect code with side effects in `deinit`. Therefore, the trace
  /// comes from a separate run.
  func traced(
    _ first: Outcome, on pool: ThreadPool, _ body: @escaping Body
  ) throws -> (outcome: Outcome, divergence: Int?) {
    var run = self
    run.isTracing = true
    run.isRepetition = true
    // The runtime test starts a task, so it must not run within a step of a schedule.
    _ = (ResumePoint.isKnown, ProcedureFeeds.areInstalled)
    return try run.repeated(first, on: pool, body)
  }

  private func repeated(
    _ first: Outcome, on pool: ThreadPool, _ body: @escaping Body
  ) throws -> (outcome: Outcome, divergence: Int?) {
    let second = try run(ReplayChooser(choices: first.record.choices), on: pool, body)
    if let step = OrderTrail(first.record.tasks).divergence(of: second.record.tasks) { return (second, step) }
    let isEqual = first.tallies == second.tallies && first.problems.map(\.kind) == second.problems.map(\.kind)
    return (second, isEqual ? nil : first.record.steps)
  }

  /// A container for the result of the body. It is empty until the body ends.
  private final class Ending: Sendable {
    let result = Mutex<Result<Void, any Error>?>(nil)
    var isKnown: Bool { result.withLock { $0 != nil } }
  }

  var schedule: Int
  var seed: UInt64
  var stepLimit: Int
  var patience: Duration
  var allowsUncontrolled: Bool
  var preemptionLimit = Int.max
  var timersOvertakeWork = false
  var checksLockOrder = true
  var isTracing = false
  /// Whether recorded choices are repeated exactly. The recorded choices already take wakes under a lock into account, so such wakes do not
  /// have to be detected during the repetition.
  var isRepetition = false

  /// The maximum number of attempts to run a schedule in which wakers are parked while they hold locks.
  private static let attempts = 20

  /// The maximum number of attempts to run a schedule in which the duration of a real-time wait is uncertain.
  private static let attemptsToSleep = 10

  /// Runs `body` with the choices that `chooser` makes, and returns when no job is left. Only the driver calls this function.
  ///
  /// If a job has to wait for a lock that a parked waker holds, the schedule is run again. If the new run collides with a waker at the same
  /// stack depth, the explorer no longer makes choices at wakes at that depth.
  ///
  /// The schedule is also run again if the duration of a real-time wait is uncertain because the system suspended a thread. The first
  /// attempt measures only real time. Later attempts subtract the processor time that the thread used, because a wait in a long step would
  /// otherwise always be uncertain. On a virtual machine, the result can be wrong, because a thread appears to be running even while the
  /// host has suspended it.
  ///
  /// - Throws: `CancellationError` if the calling task is cancelled. The error is thrown only after the schedule has ended.
  func run(_ chooser: any ScheduleChooser, on pool: ThreadPool, _ body: @escaping Body) throws -> Outcome {
    var suspect: UInt?
    for attempt in 1...Self.attempts {
      let executor = ScheduleExecutor(
        chooser: chooser, pool: pool, preemptionLimit: preemptionLimit, timersOvertakeWork: timersOvertakeWork,
        isTracing: isTracing, isRepetition: isRepetition, measuresProcessorTime: attempt > 1)
      let outcome = try run(executor, body)
      guard let collision = executor.awaitCollision() else {
        if executor.needsRestart || executor.hasUnclearSleep && attempt < Self.attemptsToSleep { continue }
        return outcome
      }
      if let depth = collision.depth, depth == suspect, !isRepetition { pool.didFindLock(depth) }
      suspect = collision.depth
    }
    let executor = ScheduleExecutor(
      chooser: chooser, pool: pool, preemptionLimit: 0, timersOvertakeWork: timersOvertakeWork, isTracing: isTracing,
      measuresProcessorTime: true)
    return try run(executor, body)
  }

  private func run(_ executor: ScheduleExecutor, _ body: @escaping Body) throws -> Outcome {
    executor.pool.executor = executor
    let environment = ExplorationEnvironment(executor: executor, schedule: schedule, seed: seed)
    executor.environment = environment
    let ending = Ending()
    let root = executor.asDriver {
      KitSpawner.startBody(on: executor) {
        do {
          try await body(environment)
          ending.result.withLock { $0 = .success(()) }
        } catch {
          ending.result.withLock { $0 = .failure(error) }
        }
      }
    }
    defer { GlobalExecutorWatch.shared.didEnd(executor) }
    let stop = drive(executor, environment, until: ending, limit: stepLimit)
    let livelock = stop == .endless ? livelock(executor, environment, ending) : nil
    executor.stopRecording()
    var problems = (environment.failedChecks + environment.unfulfilled).map(ExplorationProblem.check)
    if case .failure(let error) = ending.result.withLock({ $0 }) { problems.append(.thrown(error)) }
    let tasks = executor.taskCount
    let instant = environment.clock.now
    let waits = stop == .stuck ? environment.waits : []
    let stuck = stop == .stuck ? executor.stuckTasks : []

    if executor.abandonment == nil {
      // A cancellation handler may need a lock that a parked task holds.
      if stop == .endless, executor.keepsDriverFree { executor.endParked(limit: stepLimit * 3) }
      if stop != .finished, executor.abandonment == nil { executor.asDriver { root.cancel() } }
      windUp(executor, environment)
    }
    let tallies = environment.tallies
    if executor.abandonment == nil {
      endRealSleeps(executor)
      executor.endParked(limit: stepLimit * 4)
      GlobalExecutorWatch.shared.didEnd(executor)
      // Other threads may have added jobs before `didEnd` was called, for example because the schedule woke a task outside the
      // exploration.
      if executor.abandonment == nil { _ = executor.runUntilIdle(limit: stepLimit * 4) }
    }
    try Task.checkCancellation()

    switch stop {
    case .finished, .abandoned: break
    case .endless: if let livelock { problems.append(.endless(livelock)) }
    case .stuck:
      let aftermath: Deadlock.Aftermath = ending.isKnown ? .endedByCancelling : .abandoned
      problems.append(
        .deadlock(Deadlock(tasks: tasks, instant: instant, waits: waits, stuck: stuck, aftermath: aftermath)))
    }
    switch executor.abandonment {
    case .deadlock(let cycle):
      problems.append(
        .deadlock(
          Deadlock(tasks: tasks, instant: instant, waits: waits, aftermath: .abandoned, locks: cycle)))
    case .endless:
      if stop != .endless { problems.append(.endless(Livelock(steps: stepLimit, tasks: []))) }
    case nil: if checksLockOrder, let cycle = executor.possibleDeadlock { problems.append(.lockOrder(cycle)) }
    }
    if !allowsUncontrolled, let job = executor.uncontrolled.first { problems.append(.uncontrolled(job)) }
    return Outcome(
      problems: problems, record: executor.record, notes: environment.notes, tallies: tallies,
      trace: executor.trace, unorderedVisits: executor.unorderedVisits, hasUnclearSleep: executor.hasUnclearSleep)
  }

  private enum Stop { case finished, stuck, endless, abandoned }

  /// Runs jobs until none can run. Virtual time passes only until the body finishes.
  private func drive(
    _ executor: ScheduleExecutor, _ environment: ExplorationEnvironment, until ending: Ending, limit: Int
  ) -> Stop {
    while true {
      let isIdle = executor.runUntilIdle(limit: limit)
      if executor.abandonment != nil { return .abandoned }
      guard isIdle else { return .endless }
      if ending.isKnown { return .finished }
      if executor.asDriver({ environment.clock.answerQuiet() || executor.moveToNextDeadline(of: environment.clock) }) {
        continue
      }
      if patience > .zero, executor.waitForArrival(atMost: patience) { continue }
      return .stuck
    }
  }

  /// The maximum number of steps in which the tasks take turns once the step limit has been reached.
  private static let turns = 1_000

  /// Lets the tasks take turns after the step limit has been reached, and returns a description of what they do.
  private func livelock(
    _ executor: ScheduleExecutor, _ environment: ExplorationEnvironment, _ ending: Ending
  ) -> Livelock {
    let trace = executor.trace ?? ScheduleTrace()
    executor.takeTurns()
    var livelock = Livelock(steps: stepLimit, tasks: [])
    switch drive(executor, environment, until: ending, limit: stepLimit + min(stepLimit, Self.turns)) {
    case .finished: livelock.furtherSteps = executor.turns.count
    case .stuck, .abandoned: break
    case .endless:
      let order = executor.turns
      let cycle = Livelock.cycle(of: order)
      livelock.cycle = cycle
      let tasks = Set(cycle ?? Array(order.suffix(order.count / 2))).sorted()
      livelock.tasks = tasks.map { trace.title(of: $0) }
    }
    return livelock
  }

  /// Runs the remaining jobs, cancels all sleeps, and runs the jobs that become ready as a result.
  private func windUp(_ executor: ScheduleExecutor, _ environment: ExplorationEnvironment) {
    _ = executor.runUntilIdle(limit: stepLimit * 3)
    executor.asDriver { environment.clock.cancelSleepers() }
    _ = executor.runUntilIdle(limit: stepLimit * 3)
  }

  /// Ends the remaining real-time waits, so that their tasks can end. Most of these waits are timers for cancelled sleeps. A task that
  /// keeps waiting is abandoned.
  private func endRealSleeps(_ executor: ScheduleExecutor) {
    for _ in 0..<3 {
      guard executor.asDriver({ executor.endSleeps(through: nil) }) else { return }
      _ = executor.runUntilIdle(limit: stepLimit * 3)
    }
  }
}
