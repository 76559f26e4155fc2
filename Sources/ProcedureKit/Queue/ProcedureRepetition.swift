/// The values of a procedure that is run again and again; see ``ProcedureQueue/repeating(_:input:_:maxCount:)``.
public struct ProcedureRepetition<Input: Sendable, Output: Sendable>: AsyncSequence, Sendable {
  /// A value of the procedure.
  public typealias Element = Output

  let queue: ProcedureQueue
  let task: ProcedureTask<Input, Output>
  let input: Input
  let pace: RepetitionPace
  let maxCount: Int

  /// Begins a use of the sequence.
  public func makeAsyncIterator() -> Iterator {
    Iterator(self)
  }

  /// One use of the sequence, by one task.
  public struct Iterator: AsyncIteratorProtocol {
    private let repetition: ProcedureRepetition
    private var pace: RepetitionPace.Iterator?
    private var count = 0
    private var isOver = false

    fileprivate init(_ repetition: ProcedureRepetition) {
      self.repetition = repetition
    }

    /// Runs the procedure once more, in the caller's task, after the pause that is due. Cancelling the caller ends the pause at
    /// once, or cancels the procedure.
    ///
    /// - Returns: The value; `nil` if there is no other run.
    /// - Throws: What the run throws, which is the last one; `CancellationError`.
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

    /// What a body holds is kept: it knows nothing of the pause.
    private static func pause(for delay: Duration, _ timers: Timers) async throws {
      let end = timers.now.advanced(by: delay.saturated.roundedUpToNanoseconds)
      guard let run = ProcedureContext.current?.run.living else { return try await timers.pause(for: delay) }
      guard delay > .zero else { return }
      let place = Place()
      let timer = timers.schedule(at: end) { place.call() }
      run.core.waitStarted(run)
      let isCalled = await run.wait(at: place)
      await run.core.waitEnded(run)
      if !isCalled {
        timers.cancel(timer)
        throw run.inheritedReason ?? CancellationError()
      }
    }
  }
}

extension ProcedureQueue {
  /// The values of a procedure that is run again and again, with a pause between: for polling.
  ///
  /// ```swift
  /// for try await status in queue.repeating(GetStatus(), input: id, .constant(.seconds(1))) {
  ///   if status != .pending { break }
  /// }
  /// ```
  ///
  /// Each run is one of its own on this queue, in the task that iterates, when the next value is asked for: whoever takes long
  /// over a value has the next run start later. Ending the iteration ends it all. A failure ends it with that error. Without a
  /// failure it ends with the schedule, or when there have been as many runs as there may be.
  ///
  /// - Parameters:
  ///   - procedure: What to run.
  ///   - input: What each run is given.
  ///   - schedule: How long to wait before each run but the first, from the moment at which it is asked for.
  ///   - maxCount: How many runs there may be.
  /// - Returns: The values, as they come.
  public nonisolated func repeating<P: Procedure>(
    _ procedure: P, input: P.Input, _ schedule: Schedule, maxCount: Int = .max
  ) -> ProcedureRepetition<P.Input, P.Output> {
    ProcedureRepetition(
      queue: self, task: procedure.procedureTask, input: input, pace: .after(schedule), maxCount: maxCount)
  }

  /// The values of a procedure that is given nothing; see ``repeating(_:input:_:maxCount:)``.
  public nonisolated func repeating<P: Procedure>(
    _ procedure: P, _ schedule: Schedule, maxCount: Int = .max
  ) -> ProcedureRepetition<P.Input, P.Output> where P.Input == Void {
    repeating(procedure, input: (), schedule, maxCount: maxCount)
  }

  /// The values of a procedure that is run at a fixed rate; see ``repeating(_:input:_:maxCount:)``.
  ///
  /// - Parameters:
  ///   - procedure: What to run.
  ///   - input: What each run is given.
  ///   - period: The time from one start to the next. Beats that were missed are skipped.
  ///   - maxCount: How many runs there may be.
  /// - Returns: The values, as they come.
  public nonisolated func repeating<P: Procedure>(
    _ procedure: P, input: P.Input, every period: Duration, maxCount: Int = .max
  ) -> ProcedureRepetition<P.Input, P.Output> {
    ProcedureRepetition(
      queue: self, task: procedure.procedureTask, input: input, pace: .every(period), maxCount: maxCount)
  }

  /// The values of a procedure that is given nothing, at a fixed rate; see ``repeating(_:input:every:maxCount:)``.
  public nonisolated func repeating<P: Procedure>(
    _ procedure: P, every period: Duration, maxCount: Int = .max
  ) -> ProcedureRepetition<P.Input, P.Output> where P.Input == Void {
    repeating(procedure, input: (), every: period, maxCount: maxCount)
  }
}
