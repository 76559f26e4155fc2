import Synchronization

/// One schedule from its beginning to its end.
struct ScheduleRun: Sendable {
  typealias Body = @Sendable (ExplorationEnvironment) async throws -> Void

  /// What there is to know about a schedule that has ended.
  struct Outcome: Sendable {
    var problems: [ExplorationProblem]
    var record: ScheduleRecord
    var notes: [String]
    var tallies: [String: Int]

    /// Whether the same choices can be relied upon, and afforded, to fail again.
    var isReproducible: Bool {
      problems.allSatisfy { problem in
        switch problem {
        case .check, .thrown, .deadlock: true
        case .endless, .uncontrolled: false
        }
      }
    }
  }

  /// How the body ended, once it has.
  private final class Ending: Sendable {
    let result = Mutex<Result<Void, any Error>?>(nil)
    var isKnown: Bool { result.withLock { $0 != nil } }
  }

  var schedule: Int
  var seed: UInt64
  var stepLimit: Int
  var patience: Duration
  var allowsUncontrolled: Bool

  /// Runs `body` with the choices of `chooser`, on the calling thread, and returns when nothing of it can go on.
  ///
  /// - Throws: `CancellationError` if the calling task is cancelled, after the schedule.
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

  /// Drives until nothing can go on. Time passes only until the body has finished.
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

  /// Lets whatever is left come to its end, as far as it does so by itself or when its sleeps are cut short.
  private func windUp(_ executor: ScheduleExecutor, _ environment: ExplorationEnvironment) {
    _ = executor.runUntilIdle(limit: stepLimit * 2)
    executor.asDriver { environment.clock.cancelSleepers() }
    _ = executor.runUntilIdle(limit: stepLimit * 2)
  }
}
