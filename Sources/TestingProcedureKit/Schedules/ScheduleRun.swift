import Synchronization

/// One schedule, from start to end.
struct ScheduleRun: Sendable {
  typealias Body = @Sendable (ExplorationEnvironment) async throws -> Void

  /// The result of a schedule.
  struct Outcome: Sendable {
    var problems: [ExplorationProblem]
    var record: ScheduleRecord
    var notes: [String]
    var tallies: [String: Int]

    /// Whether equal choices reliably fail again, at a bearable cost.
    var isReproducible: Bool {
      problems.allSatisfy { problem in
        switch problem {
        case .check, .thrown, .deadlock: true
        case .endless, .uncontrolled: false
        }
      }
    }
  }

  /// The result of the body, once the body has ended.
  private final class Ending: Sendable {
    let result = Mutex<Result<Void, any Error>?>(nil)
    var isKnown: Bool { result.withLock { $0 != nil } }
  }

  var schedule: Int
  var seed: UInt64
  var stepLimit: Int
  var patience: Duration
  var allowsUncontrolled: Bool

  /// Runs `body` with the choices of `chooser`, on the calling thread, and returns when no job is left to run.
  ///
  /// - Throws: `CancellationError` after the schedule, if the calling task is cancelled.
  @concurrent
  func run(_ chooser: any ScheduleChooser, _ body: @escaping Body) async throws -> Outcome {
    let executor = ScheduleExecutor(chooser: chooser)
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
    let stop = await drive(executor, environment, until: ending)
    executor.stopRecording()
    var problems = environment.failedChecks.map(ExplorationProblem.check)
    if case .failure(let error) = ending.result.withLock({ $0 }) { problems.append(.thrown(error)) }
    let strands = executor.strandCount
    let instant = environment.clock.now
    let waits = stop == .stuck ? environment.waits : []

    if stop != .finished { executor.asDriver { root.cancel() } }
    windUp(executor, environment)
    try Task.checkCancellation()

    switch stop {
    case .finished: break
    case .endless: problems.append(.endless(steps: stepLimit))
    case .stuck:
      let aftermath: Deadlock.Aftermath = ending.isKnown ? .endedByCancelling : .abandoned
      problems.append(.deadlock(Deadlock(strands: strands, instant: instant, waits: waits, aftermath: aftermath)))
    }
    if !allowsUncontrolled, let job = executor.uncontrolled.first { problems.append(.uncontrolled(job)) }
    return Outcome(problems: problems, record: executor.record, notes: environment.notes, tallies: environment.tallies)
  }

  private enum Stop { case finished, stuck, endless }

  /// Runs jobs until the schedule stands still. Virtual time passes only until the body has finished.
  private func drive(
    _ executor: ScheduleExecutor, _ environment: ExplorationEnvironment, until ending: Ending
  ) async -> Stop {
    while true {
      guard executor.runUntilIdle(limit: stepLimit) else { return .endless }
      if ending.isKnown { return .finished }
      if executor.asDriver({ environment.clock.advanceToNextDeadline() }) { continue }
      if patience > .zero, await executor.waitForArrival(atMost: patience) { continue }
      return .stuck
    }
  }

  /// Runs the remaining jobs to their end, as far as possible by themselves and by cancelling their sleeps.
  private func windUp(_ executor: ScheduleExecutor, _ environment: ExplorationEnvironment) {
    _ = executor.runUntilIdle(limit: stepLimit * 2)
    executor.asDriver { environment.clock.cancelSleepers() }
    _ = executor.runUntilIdle(limit: stepLimit * 2)
  }
}
