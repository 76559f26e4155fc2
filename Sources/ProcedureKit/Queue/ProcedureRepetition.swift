/// The values of a repeated procedure; see ``ProcedureQueue/repeating(_:input:_:maxCount:)``.
public struct ProcedureRepetition<Input: Sendable, Output: Sendable>: AsyncSequence, Sendable {
  /// A value of the procedure.
  public typealias Element = Output

  let queue: ProcedureQueue
  let task: ProcedureTask<Input, Output>
  let input: Input
  let pace: RepetitionPace
  let maxCount: Int

  /// Begins an iteration.
  public func makeAsyncIterator() -> Iterator {
    Iterator(self)
  }

  /// An iteration, by one task.
  public struct Iterator: AsyncIteratorProtocol {
    private let repetition: ProcedureRepetition
    private var pace: RepetitionPace.Iterator?
    private var count = 0
    private var isOver = false

    fileprivate init(_ repetition: ProcedureRepetition) {
      self.repetition = repetition
    }

    /// Waits for the end of the pause, and runs the procedure once more, in the caller's task. Cancelling the caller ends the
    /// pause at once, or cancels the procedure.
    ///
    /// - Returns: The value; `nil` if no further run follows.
    /// - Throws: The error of the run, after which no further run follows; `CancellationError`.
    public mutating func next() async throws -> Output? {
      guard !isOver, count < repetition.maxCount else { return nil }
      isOver = true
      let core = repetition.queue.core
      if pace == nil {
        pace = RepetitionPace.Iterator(repetition.pace, from: core.timers.now, core.makeGenerator())
      } else {
        guard let delay = pace?.delay(at: core.timers.now) else { return nil }
        try await Self.pause(for: delay, core.timers)
      }
      count += 1
      let output = try await repetition.queue.run(repetition.task, input: repetition.input)
      isOver = false
      return output
    }

    /// Pauses. A body that iterates releases its slot, and keeps its resources.
    private static func pause(for delay: Duration, _ timers: Timers) async throws {
      let end = timers.now.advanced(by: delay.saturated.roundedUpToNanoseconds)
      guard let run = ProcedureContext.current?.run.living else { return try await timers.pause(for: delay) }
      guard delay > .zero else { return }
      let wakeup = Wakeup()
      let timer = timers.schedule(at: end) { wakeup.call() }
      let isCalled = await run.withSlotReleased { await run.wait(at: wakeup) }
      if !isCalled {
        timers.cancel(timer)
        throw run.inheritedReason ?? CancellationError()
      }
    }
  }
}

extension ProcedureQueue {
  /// Returns the values of a procedure that runs repeatedly, with a pause between two runs: for polling.
  ///
  /// ```swift
  /// for try await status in queue.repeating(GetStatus(), input: id, .constant(.seconds(1))) {
  ///   if status != .pending { break }
  /// }
  /// ```
  ///
  /// Each execution is a separate run on the queue, in the iterating task. A run starts when the loop asks for the next
  /// value: a loop that takes long over a value delays the next run. Leaving the loop ends the repetition. A failure ends the
  /// repetition with the error. Without a failure, the repetition ends with the schedule or after `maxCount` runs.
  ///
  /// - Parameters:
  ///   - procedure: The procedure to run.
  ///   - input: The input of each run.
  ///   - schedule: The delays before the second run and all later runs, each from the moment when the loop asks for the value.
  ///   - maxCount: The largest number of runs.
  /// - Returns: The values, in the order of the runs.
  public nonisolated func repeating<P: Procedure>(
    _ procedure: P, input: P.Input, _ schedule: Schedule, maxCount: Int = .max
  ) -> ProcedureRepetition<P.Input, P.Output> {
    ProcedureRepetition(
      queue: self, task: procedure.procedureTask, input: input, pace: .after(schedule), maxCount: maxCount)
  }

  /// Returns the values of a repeated procedure without an input; see ``repeating(_:input:_:maxCount:)``.
  public nonisolated func repeating<P: Procedure>(
    _ procedure: P, _ schedule: Schedule, maxCount: Int = .max
  ) -> ProcedureRepetition<P.Input, P.Output> where P.Input == Void {
    repeating(procedure, input: (), schedule, maxCount: maxCount)
  }

  /// Returns the values of a procedure that runs at a fixed rate; see ``repeating(_:input:_:maxCount:)``.
  ///
  /// The period is the time from one start to the next start. Missed multiples of the period are skipped.
  public nonisolated func repeating<P: Procedure>(
    _ procedure: P, input: P.Input, every period: Duration, maxCount: Int = .max
  ) -> ProcedureRepetition<P.Input, P.Output> {
    ProcedureRepetition(
      queue: self, task: procedure.procedureTask, input: input, pace: .every(period), maxCount: maxCount)
  }

  /// Returns the values of a procedure without an input at a fixed rate; see ``repeating(_:input:every:maxCount:)``.
  public nonisolated func repeating<P: Procedure>(
    _ procedure: P, every period: Duration, maxCount: Int = .max
  ) -> ProcedureRepetition<P.Input, P.Output> where P.Input == Void {
    repeating(procedure, input: (), every: period, maxCount: maxCount)
  }
}
