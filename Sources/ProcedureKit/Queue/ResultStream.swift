/// One iteration over a result sequence. The iteration adds procedures, at most `limit` at a time, and returns the finished runs.
///
/// The class does not depend on the user's types: `ResultInputs` creates the elements, and `ResultSequence.Iterator` reads the values. An
/// iteration is used by one task at a time. When it is released, the unfinished procedures are cancelled.
@usableFromInline
final class ResultFlow {
  private let name: String
  private let limit: Int
  private let iteration: ResultIteration
  private let reader = CancellableTask()
  /// A signal that is sent when the reader ends.
  private let readerEnd = OneShotSignal()
  private var inputs: ResultInputs?
  /// An element that is waiting for room in the queue.
  private var nextElement: ResultElement?
  private var inputError: (any Error)?
  /// The runs whose values have not been returned yet; used only if the values are unordered.
  private var inFlight: [ProcedureID: Run] = [:]
  /// The runs in the order in which their values are returned. If the values are unordered, only the finished runs are stored here.
  private var queue = Deque<Run>()
  /// The runs that were reported as finished before the reader reported that it had added them. Used only if the values are unordered.
  private var finishedEarly: Set<ProcedureID> = []
  private var (taken, granted) = (0, 0)
  private var hasEnded = false

  /// The number of runs whose values have not been returned yet.
  private var count: Int { iteration.isOrdered ? queue.count : inFlight.count }
  private var exchange: ResultExchange { iteration.exchange }
  private var readsAhead: Bool { granted > 0 }

  @usableFromInline
  init<Output>(_ sequence: ResultSequence<Output>) {
    (name, limit) = (sequence.name, sequence.limit)
    iteration = ResultIteration(on: sequence.queue.core, isOrdered: sequence.isOrdered)
    inputs = sequence.makeInputs(iteration)
  }

  deinit {
    guard !hasEnded else { return }
    // The reader cancels any procedures that it adds after this point.
    reader.cancel()
    cancelAdded()
  }

  /// Returns the next run that succeeded; `nil` after the last one.
  @usableFromInline
  func next() async throws -> Run? {
    guard !hasEnded else { return nil }
    do {
      while true {
        if ProcedureContext.isCurrentCancelled { throw ProcedureContext.cancellationError }
        try await fill()
        guard let run = try await nextFinished() else { break }
        run.setObserved()
        switch run.outcome?.failure {
        case nil: return run
        case .ignored: continue
        case .failed(let error): throw error
        case .cancelled(let reason): throw reason ?? CancellationError()
        }
      }
      if let inputError { throw inputError }
      hasEnded = true
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
      while count < limit {
        guard let element = nextElement.take() ?? next() else {
          inputs = nil
          return
        }
        guard try await iteration.reserveRoom(for: element, waiting: count == 0) else {
          nextElement = element
          return
        }
        track(iteration.add(element))
      }
    case .read(let read):
      let wanted = taken + limit - granted
      guard wanted > 0 else { return }
      let starts = granted == 0
      granted += wanted
      exchange.grant(wanted)
      if starts { iteration.start(reader, end: readerEnd, read) }
    }
  }

  private func track(_ run: Run) {
    if iteration.isOrdered { return queue.append(run) }
    inFlight[run.id] = run
    if finishedEarly.remove(run.id) != nil { queue.append(run) }
  }

  // MARK: Values

  /// Waits for the run whose value is returned next. Returns `nil` if there is no such run.
  private func nextFinished() async throws -> Run? {
    while true {
      if let run = queue.first {
        if !run.isFinished {
          switch await run.waitForEnd(endsOnCancellation: true) {
          case .ended: break
          case .cancelled: throw ProcedureContext.cancellationError
          case .refused(let error): throw error
          }
        }
        _ = queue.popFirst()
        if !iteration.isOrdered { inFlight[run.id] = nil }
        taken += 1
        return run
      }
      if inputs == nil, count == 0 { return nil }
      try await receive()
    }
  }

  /// Waits until a procedure finishes or the reader reports something, and processes all the reports that have arrived.
  private func receive() async throws {
    if let signal = exchange.waitForArrival() {
      let isCalled = await ProcedureContext.withSlotReleased(waitingFor: name) {
        await ProcedureContext.wait(at: signal)
      }
      guard isCalled else { throw ProcedureContext.cancellationError }
    }
    for arrival in exchange.takeAll() {
      switch arrival {
      case .added(let run): track(run)
      case .finished(let run):
        if inFlight[run.id] != nil { queue.append(run) } else { finishedEarly.insert(run.id) }
      case .inputEnded(let error): (inputs, inputError) = (nil, error)
      }
    }
  }

  // MARK: The end

  /// Cancels the unfinished procedures and waits until they have ended.
  private func end() async {
    hasEnded = true
    reader.cancel()
    cancelAdded()
    if readsAhead {
      await ProcedureContext.withSlotReleased(waitingFor: name) { [readerEnd] in
        await readerEnd.waitUntilResolved()
      }
      cancelAdded()
    }
    for run in unreturned {
      _ = await run.waitForEnd(endsOnCancellation: false)
      run.setObserved()
    }
    (inFlight, queue, inputs) = ([:], Deque(), nil)
  }

  /// Cancels the unfinished procedures, including those that the reader has added but this iteration has not yet received.
  private func cancelAdded() {
    for arrival in exchange.takeAll(closes: true) {
      if case .added(let run) = arrival { track(run) }
    }
    for run in unreturned { run.cancel(nil) }
  }

  private var unreturned: [Run] { iteration.isOrdered ? queue.all : inFlight.inOrder }
}
