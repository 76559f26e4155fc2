/// One iteration over a result sequence, which adds procedures, at most `limit` at a time, and returns their values.
///
/// An iteration is used by one task at a time. When it is released, the unfinished procedures are cancelled.
final class ResultFlow<Input: Sendable, Output: Sendable> {
  private let sequence: ResultSequence<Input, Output>
  private let adder: ResultAdder<Input, Output>
  private let reader = CancellableTask()
  /// A signal that is sent when the reader has ended.
  private let readerEnd = OneShotSignal()
  private var inputs: ResultInputs<Input>?
  /// An input that is waiting for room on the queue.
  private var nextInput: Input?
  private var inputError: (any Error)?
  /// The procedures whose values have not been returned yet, by number.
  private var inFlight: [Int: ProcedureHandle<Output>] = [:]
  /// The numbers of the finished procedures, latest first; used only if the values are unordered.
  private var finished: [Int] = []
  private var (added, taken, granted) = (0, 0, 0)
  private var isOver = false

  private var exchange: ResultExchange<Output> { adder.exchange }
  private var readsAhead: Bool { granted > 0 }

  init(_ sequence: ResultSequence<Input, Output>) {
    self.sequence = sequence
    adder = ResultAdder(sequence)
    inputs = sequence.makeInputs()
  }

  deinit {
    guard !isOver else { return }
    // The reader cancels any procedures that it adds after this point.
    reader.cancel()
    cancelAdded()
  }

  /// Returns the next value; `nil` after the last one.
  func next() async throws -> Output? {
    guard !isOver else { return nil }
    do {
      while true {
        if ProcedureContext.isCurrentCancelled { throw Self.cancelError }
        try await fill()
        guard let handle = try await nextFinished() else { break }
        switch handle.finishedOutcome {
        case .finished(let value): return value
        case .ignored: continue
        case .failed(let error): throw error
        case .cancelled(let reason): throw reason ?? CancellationError()
        }
      }
      if let inputError { throw inputError }
      isOver = true
      return nil
    } catch {
      await end()
      throw error
    }
  }

  // MARK: Inputs

  /// Adds procedures for further inputs, up to the limit, or permits the reader to do so.
  private func fill() async throws {
    switch inputs {
    case nil: return
    case .atOnce(let next):
      while inFlight.count < sequence.limit {
        guard let input = nextInput.take() ?? next() else {
          inputs = nil
          return
        }
        guard try await adder.reserveRoom(waiting: inFlight.isEmpty) else {
          nextInput = input
          return
        }
        track(adder.add(input))
      }
    case .read(let read):
      let wanted = taken + sequence.limit - granted
      guard wanted > 0 else { return }
      let starts = granted == 0
      granted += wanted
      exchange.grant(wanted)
      if starts { adder.start(reader, end: readerEnd, read) }
    }
  }

  private func track(_ handle: ProcedureHandle<Output>) {
    inFlight[added] = handle
    if !sequence.isOrdered { adder.watch(handle, added) }
    added += 1
  }

  // MARK: Values

  /// Waits for the procedure whose value is to be returned next. Returns `nil` if there is none.
  private func nextFinished() async throws -> ProcedureHandle<Output>? {
    while true {
      if let number = sequence.isOrdered ? taken : finished.popLast(), let handle = inFlight[number] {
        if !handle.run.isFinished {
          switch await handle.run.waitForEnd(endsOnCancellation: true) {
          case .ended: break
          case .cancelled: throw Self.cancelError
          case .refused(let error): throw error
          }
        }
        inFlight[number] = nil
        taken += 1
        return handle
      }
      if inputs == nil, inFlight.isEmpty { return nil }
      try await receive()
    }
  }

  /// Waits for arrivals from the procedures and the reader, and receives them.
  private func receive() async throws {
    if let signal = exchange.waitForArrival() {
      let isCalled = await ProcedureContext.withSlotReleased(waitingFor: sequence.task.name) {
        guard let run = ProcedureContext.current?.run.nearestUnfinished else { return await signal.wait() }
        return await run.wait(at: signal)
      }
      guard isCalled else { throw Self.cancelError }
    }
    var numbers: [Int] = []
    for arrival in exchange.takeAll() {
      switch arrival {
      case .added(let handle): track(handle)
      case .finished(let number): numbers.append(number)
      case .inputEnded(let error): (inputs, inputError) = (nil, error)
      }
    }
    finished = numbers.reversed() + finished
  }

  // MARK: The end

  /// Cancels the unfinished procedures and waits until they have ended.
  private func end() async {
    isOver = true
    reader.cancel()
    cancelAdded()
    if readsAhead {
      await ProcedureContext.withSlotReleased(waitingFor: sequence.task.name) { [readerEnd] in
        await readerEnd.waitUntilResolved()
      }
      cancelAdded()
    }
    for handle in inFlight.inOrder { _ = await handle.outcome }
    (inFlight, inputs) = ([:], nil)
  }

  /// Cancels the unfinished procedures, including those that the reader has added in the meantime.
  private func cancelAdded() {
    for arrival in exchange.takeAll() {
      if case .added(let handle) = arrival { track(handle) }
    }
    for handle in inFlight.inOrder { handle.cancel() }
  }

  private static var cancelError: any Error { ProcedureContext.current?.cancellationReason ?? CancellationError() }
}
