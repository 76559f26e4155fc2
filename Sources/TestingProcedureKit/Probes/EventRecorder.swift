import Synchronization

/// Collects events as they happen, to be looked at as an array.
///
/// ```swift
/// let recorder = EventRecorder(queue)
/// // …
/// try await recorder.wait(for: .didFinish, of: handle.id)
/// #expect(recorder.happened(.didFinish, of: first.id, before: .willExecute, of: second.id))
/// #expect(recorder.events.orderViolations().isEmpty)
/// ```
///
/// A task of its own reads the stream, until the stream ends. When the recorder is no more that task ends with the next event,
/// and until then a queue is still watched. Made within an exploration, it belongs to the exploration.
public final class EventRecorder: Sendable {
  private struct State {
    var events: [ProcedureEvent] = []
    var hasEnded = false
  }

  private let state = Mutex(State())
  /// Counts changes: events, and the end of the stream.
  private let changes = Milestones()

  /// Begins to record a stream of events.
  ///
  /// - Parameters:
  ///   - events: Those of a queue or of a handle.
  ///   - executor: Where the stream is read; `nil` for the exploration's executor within one, and else the global one.
  public init(
    _ events: some AsyncSequence<ProcedureEvent, Never> & Sendable, executor: (any TaskExecutor)? = nil
  ) {
    KitSpawner.startReader(of: events, on: executor ?? ScheduleExecutor.current) { [weak self] event in
      guard let self else { return false }
      if let event { append(event) } else { end() }
      return true
    }
  }

  /// Begins to record what happens on a queue, from now on.
  ///
  /// - Parameters:
  ///   - queue: The queue to watch.
  ///   - executor: Where the stream is read; `nil` for the exploration's executor within one, and else the global one.
  public convenience init(_ queue: ProcedureQueue, executor: (any TaskExecutor)? = nil) {
    self.init(queue.events(bufferingNewest: .max), executor: executor)
  }

  /// The events so far, in the order in which they happened.
  public var events: [ProcedureEvent] { state.withLock { $0.events } }

  /// Whether the stream has ended: no event will follow.
  public var hasEnded: Bool { state.withLock { $0.hasEnded } }

  /// The kinds of events so far, of the run `id` or of all runs.
  public func steps(of id: ProcedureID? = nil) -> [EventStep] {
    events.steps(of: id)
  }

  /// The first event of a kind, of the run `id` or of all runs.
  public func first(_ step: EventStep, of id: ProcedureID? = nil) -> ProcedureEvent? {
    events.first { $0.step == step && (id == nil || $0.id == id) }
  }

  /// Whether both events have happened, and one before the other: each the first of its kind and run.
  ///
  /// Between different runs, only what one causes in the other is ordered.
  public func happened(
    _ earlier: EventStep, of earlierRun: ProcedureID, before later: EventStep, of laterRun: ProcedureID
  ) -> Bool {
    let events = events
    func index(_ step: EventStep, _ run: ProcedureID) -> Int? {
      events.firstIndex { $0.step == step && $0.id == run }
    }
    guard let first = index(earlier, earlierRun), let second = index(later, laterRun) else { return false }
    return first < second
  }

  /// Waits until an event of a kind has been recorded, of the run `id` or of any run. Cancelling the caller ends the wait.
  ///
  /// - Returns: The first such event.
  /// - Throws: ``StreamEnded`` if the stream ends without it; `CancellationError` if the task is cancelled before.
  @discardableResult
  public func wait(for step: EventStep, of id: ProcedureID? = nil) async throws -> ProcedureEvent {
    try await wait(for: "\(step.rawValue)\(id.map { " of \($0)" } ?? "")") { events in
      events.first { $0.step == step && (id == nil || $0.id == id) }
    }
  }

  /// Waits until the events so far are as wanted. Cancelling the caller ends the wait.
  ///
  /// - Throws: ``StreamEnded`` if the stream ends before they are; `CancellationError` if the task is cancelled before.
  public func wait(until isSatisfied: ([ProcedureEvent]) -> Bool) async throws {
    try await wait(for: "what was wanted") { isSatisfied($0) ? () : nil }
  }

  /// Waits until the stream has ended: no event will follow. Cancelling the caller ends the wait.
  ///
  /// - Throws: `CancellationError` if the task is cancelled before.
  public func waitUntilEnded() async throws {
    while true {
      let next = changes.count + 1
      if hasEnded { return }
      try await changes.wait(for: next)
    }
  }

  private func wait<Found>(for awaited: String, find: ([ProcedureEvent]) -> Found?) async throws -> Found {
    while true {
      let next = changes.count + 1
      let (events, hasEnded) = state.withLock { ($0.events, $0.hasEnded) }
      if let found = find(events) { return found }
      if hasEnded { throw StreamEnded(awaited: awaited, events: events) }
      try await changes.wait(for: next)
    }
  }

  private func append(_ event: ProcedureEvent) {
    state.withLock { $0.events.append(event) }
    changes.increment()
  }

  private func end() {
    state.withLock { $0.hasEnded = true }
    changes.increment()
  }
}
