import Synchronization

extension Procedure {
  /// Returns a procedure that repeats this one after each success, with pauses in between.
  ///
  /// ```swift
  /// GetStatus().repeating(.constant(.seconds(1)), maxCount: 60) { $0 == .pending }
  /// ```
  ///
  /// The repetition ends when the schedule ends, after `maxCount` executions, or when `shouldRepeat` returns `false`. The procedure returns
  /// the value of the last execution. A failure ends the repetition, and its error is thrown. During a pause, the run holds neither a slot
  /// nor any of the procedure's resources, including the resources of modifiers that are applied later. A pause of the outermost layer
  /// occupies no task. Cancellation ends a pause immediately. To receive all values, use ``ProcedureQueue/repeating(_:input:_:maxCount:)``.
  ///
  /// - Parameters:
  ///   - schedule: The delays between the end of an execution and the start of the next one.
  ///   - maxCount: The maximum number of executions. Passing a value below 1 traps.
  ///   - shouldRepeat: A function that receives the value of an execution and returns whether to execute the procedure again.
  /// - Returns: A procedure that repeats this one.
  public func repeating(
    _ schedule: Schedule, maxCount: Int = .max,
    while shouldRepeat: @escaping @concurrent @Sendable (Output) async -> Bool = { _ in true }
  ) -> ProcedureTask<Input, Output> {
    repeating(maxCount, shouldRepeat) { _, generator in .delays(schedule.delays(using: generator)) }
  }

  /// Returns a procedure that repeats this one after each success, at a fixed rate; see ``repeating(_:maxCount:while:)``.
  ///
  /// `period` is the time from one start to the next. If it is zero or less, there is no pause. If an execution takes longer than the
  /// period, the next one starts at the next multiple of the period, and the missed multiples are skipped.
  public func repeating(
    every period: Duration, maxCount: Int = .max,
    while shouldRepeat: @escaping @concurrent @Sendable (Output) async -> Bool = { _ in true }
  ) -> ProcedureTask<Input, Output> {
    repeating(maxCount, shouldRepeat) { start, _ in .beats(period: period.saturated, start: start, latest: 0) }
  }

  private func repeating(
    _ maxCount: Int, _ shouldRepeat: @escaping @concurrent @Sendable (Output) async -> Bool,
    at makePace: @escaping RepetitionPace.Make
  ) -> ProcedureTask<Input, Output> {
    let task = procedureTask
    requirePositive(maxCount, "Procedure \"\(task.name)\": maxCount")
    return task.repeated { input in
      SuccessRepetition(task, input, makePace, maxCount: maxCount, shouldRepeat)
    }
  }
}

/// The executions within one run of a procedure that is repeated after each success.
private final class SuccessRepetition<Input: Sendable, Output: Sendable>: Repetition {
  private struct State {
    /// The pace, which is created for the first execution.
    var pace: RepetitionPace?
    var count = 0
  }

  private let task: ProcedureTask<Input, Output>
  private let input: Input
  private let makePace: RepetitionPace.Make
  private let maxCount: Int
  private let shouldRepeat: @concurrent @Sendable (Output) async -> Bool
  private let state = Mutex(State())

  init(
    _ task: ProcedureTask<Input, Output>, _ input: Input, _ makePace: @escaping RepetitionPace.Make, maxCount: Int,
    _ shouldRepeat: @escaping @concurrent @Sendable (Output) async -> Bool
  ) {
    (self.task, self.input, self.makePace, self.maxCount) = (task, input, makePace, maxCount)
    self.shouldRepeat = shouldRepeat
  }

  func execute(in run: Run) async throws -> any Sendable {
    state.withLock { state in
      if state.pace == nil { state.pace = makePace(run.core.timers.now, run.core.makeGenerator()) }
    }
    return try await task.executeAsLayer(input)
  }

  /// Decides whether another execution follows (T2).
  func pause(after result: Result<any Sendable, any Error>, in run: Run) async -> Pause? {
    guard case .success(let value) = result else { return nil }
    let count = state.withLock { state in
      state.count += 1
      return state.count
    }
    guard count < maxCount, await shouldRepeat(value as! Output) else { return nil }
    let now = run.core.timers.now
    return state.withLock { $0.pace?.delay(at: now) }.map { Pause(duration: $0) }
  }

  func attemptAbandoned() {}
}

/// The timing of one run's executions.
private enum RepetitionPace {
  /// A function that creates the pace, given the start of the first execution. The generator is used for random delays.
  typealias Make = @Sendable (_ start: ProcedureInstant, _ generator: any RandomNumberGenerator) -> RepetitionPace

  /// Each execution starts after the next delay, which is measured from the end of the previous execution.
  case delays(Schedule.Delays)
  /// Each execution starts at the next multiple of a period, measured from the start of the first execution. `latest` is the multiple at
  /// which the latest execution started.
  case beats(period: Duration, start: ProcedureInstant, latest: Int128)

  /// Returns the delay from `now`, the end of an execution, to the next start; `nil` when the schedule ends.
  ///
  /// Multiples of the period that have already passed are skipped.
  mutating func delay(at now: ProcedureInstant) -> Duration? {
    switch self {
    case .delays(var delays):
      defer { self = .delays(delays) }
      return delays.next()
    case .beats(let period, let start, let latest):
      guard period > .zero else { return .zero }
      let elapsed = start.duration(to: now).attoseconds
      let (whole, rest) = elapsed.quotientAndRemainder(dividingBy: period.attoseconds)
      let next = max(latest + 1, rest > 0 ? whole + 1 : whole)
      self = .beats(period: period, start: start, latest: next)
      return Duration(attoseconds: next * period.attoseconds - elapsed)
    }
  }
}

/// The values of a repeated procedure; see ``ProcedureQueue/repeating(_:input:_:maxCount:)``.
struct ProcedureRepetition<Input: Sendable, Output: Sendable>: AsyncSequence, Sendable {
  let queue: ProcedureQueue
  let task: ProcedureTask<Input, Output>
  let input: Input
  let schedule: Schedule
  let maxCount: Int

  func makeAsyncIterator() -> Iterator { Iterator(repetition: self) }

  /// An iterator for use by a single task.
  struct Iterator: AsyncIteratorProtocol {
    let repetition: ProcedureRepetition
    /// The delays, which are created for the first run.
    private var delays: Schedule.Delays?
    private var count = 0
    private var hasFinished = false

    init(repetition: ProcedureRepetition) {
      self.repetition = repetition
    }

    /// Waits until the pause ends, if this is not the first run, and then runs the procedure in the caller's task (T2). An error ends the
    /// iteration.
    mutating func next() async throws -> Output? {
      guard !hasFinished, count < repetition.maxCount else { return nil }
      hasFinished = true
      let core = repetition.queue.core
      if delays == nil {
        delays = repetition.schedule.delays(using: core.makeGenerator())
      } else {
        guard let delay = delays?.next() else { return nil }
        try await Self.pause(for: delay, core.timers)
      }
      count += 1
      let output = try await repetition.queue.run(repetition.task, input: repetition.input)
      hasFinished = false
      return output
    }

    /// Pauses for a delay. A body that is iterating releases its slot, but keeps its resources.
    private static func pause(for delay: Duration, _ timers: Timers) async throws {
      guard let run = ProcedureContext.current?.run.nearestUnfinished else { return try await timers.pause(for: delay) }
      guard delay > .zero else { return }
      let signal = OneShotSignal()
      let timer = timers.schedule(after: delay) { signal.signal() }
      let isCalled = await run.withSlotReleased { await run.wait(at: signal) }
      if !isCalled {
        timers.cancel(timer)
        throw run.cancellationError
      }
    }
  }
}

extension ProcedureQueue {
  /// Returns the values of a procedure that runs repeatedly, with pauses in between, for example for polling.
  ///
  /// ```swift
  /// for try await status in queue.repeating(GetStatus(), input: id, .constant(.seconds(1))) {
  ///   if status != .pending { break }
  /// }
  /// ```
  ///
  /// Each execution is a separate run on the queue and executes in the iterating task. A run starts only when the loop requests the next
  /// value, so the time that the loop spends on a value delays the next run. Leaving the loop ends the repetition. A failure also ends the
  /// repetition, and its error is thrown. Otherwise, the repetition ends when the schedule ends, or after `maxCount` runs. If the iterating
  /// task is cancelled, any pause ends immediately, any running procedure is cancelled, and the iteration throws. To repeat a procedure at
  /// a fixed rate, use ``Procedure/repeating(every:maxCount:while:)``, whose function receives each value.
  ///
  /// - Parameters:
  ///   - procedure: The procedure to run.
  ///   - input: The input of each run.
  ///   - schedule: The delays before the second run and all later runs, measured from the loop's request for the value.
  ///   - maxCount: The maximum number of runs.
  /// - Returns: The values, in the order of the runs.
  public nonisolated func repeating<P: Procedure>(
    _ procedure: P, input: P.Input, _ schedule: Schedule, maxCount: Int = .max
  ) -> some AsyncSequence<P.Output, any Error> & Sendable {
    ProcedureRepetition(
      queue: self, task: procedure.procedureTask, input: input, schedule: schedule, maxCount: maxCount)
  }

  /// Returns the values of a repeated procedure that has no input; see ``repeating(_:input:_:maxCount:)``.
  public nonisolated func repeating<P: Procedure>(
    _ procedure: P, _ schedule: Schedule, maxCount: Int = .max
  ) -> some AsyncSequence<P.Output, any Error> & Sendable where P.Input == Void {
    repeating(procedure, input: (), schedule, maxCount: maxCount)
  }
}
