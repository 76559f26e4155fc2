import Synchronization

/// A recorder that collects events in an array for a test to inspect.
///
/// ```swift
/// let recorder = EventRecorder(queue)
/// // …
/// try await recorder.wait(for: .didFinish, of: handle.id)
/// #expect(recorder.happened(.didFinish, of: first.id, before: .willExecute, of: second.id))
/// #expect(recorder.events.orderViolations().isEmpty)
/// ```
///
/// The recorder starts a task that reads the stream of events until the stream ends. If the recorder is deallocated, this task stays
/// subscribed to the queue until the next event arrives. A recorder that is created within an exploration is part of the exploration.
public final class EventRecorder: Sendable {
  private struct State {
    var events: [ProcedureEvent] = []
    var hasEnded = false
  }

  private let state = Mutex(State())
  /// The number of changes, counting one for each event and one for the end of the stream.
  private let changes = AwaitableCounter()

  /// Starts recording a stream of events.
  ///
  /// - Parameters:
  ///   - events: The events of a queue or a handle.
  ///   - executor: The executor of the task that reads the events. If it is `nil`, the exploration's executor is used within an
  ///     exploration, and the global executor elsewhere.
  public init(
    _ events: some AsyncSequence<ProcedureEvent, Never> & Sendable, executor: (any TaskExecutor)? = nil
  ) {
    KitSpawner.startReader(of: events, on: executor ?? ScheduleExecutor.current) { [weak self] event in
      guard let self else { return false }
      if let event { append(event) } else { end() }
      return true
    }
  }

  /// Starts recording the events of a queue.
  ///
  /// - Parameters:
  ///   - queue: The queue to record.
  ///   - executor: The executor of the task that reads the events. If it is `nil`, the exploration's executor is used within an
  ///     exploration, and the global executor elsewhere.
  public convenience init(_ queue: ProcedureQueue, executor: (any TaskExecutor)? = nil) {
    self.init(queue.events(bufferingNewest: .max), executor: executor)
  }

  /// The events so far, in order.
  public var events: [ProcedureEvent] { state.withLock { $0.events } }

  /// Whether the stream has ended. Once it has, no more events are recorded.
  public var hasEnded: Bool { state.withLock { $0.hasEnded } }

  /// Returns the kinds of the events so far, for the run `id` or for all runs.
  public func steps(of id: ProcedureID? = nil) -> [ProcedureEvent.Kind] {
    events.steps(of: id)
  }

  /// Returns the first event of the given kind, for the run `id` or for any run.
  public func first(_ step: ProcedureEvent.Kind, of id: ProcedureID? = nil) -> ProcedureEvent? {
    events.first { $0.kind == step && (id == nil || $0.id == id) }
  }

  /// Returns whether two events have occurred in the given order. Only the first event of each kind in a run is considered.
  ///
  /// Events of different runs are ordered only if one event causes the other.
  public func happened(
    _ earlier: ProcedureEvent.Kind, of earlierRun: ProcedureID, before later: ProcedureEvent.Kind,
    of laterRun: ProcedureID
  ) -> Bool {
    let events = events
    func index(_ step: ProcedureEvent.Kind, _ run: ProcedureID) -> Int? {
      events.firstIndex { $0.kind == step && $0.id == run }
    }
    guard let first = index(earlier, earlierRun), let second = index(later, laterRun) else { return false }
    return first < second
  }

  /// Waits until an event of the given kind has been recorded, for the run `id` or for any run. Cancelling the caller ends the wait.
  ///
  /// - Returns: The first matching event.
  /// - Throws: ``StreamEnded`` if the stream ends without a matching event; `CancellationError` if the task is cancelled while it is
  ///   waiting.
  @discardableResult
  public func wait(for step: ProcedureEvent.Kind, of id: ProcedureID? = nil) async throws -> ProcedureEvent {
    try await wait(for: "\(step)\(id.map { " of \($0)" } ?? "")") { events in
      events.first { $0.kind == step && (id == nil || $0.id == id) }
    }
  }

  /// Waits until `isSatisfied` returns `true` for the events that have been recorded. Cancelling the caller ends the wait.
  ///
  /// - Throws: ``StreamEnded`` if the stream ends before `isSatisfied` returns `true`; `CancellationError` if the task is cancelled while
  ///   it is waiting.
  public func wait(until isSatisfied: ([ProcedureEvent]) -> Bool) async throws {
    try await wait(for: "events that satisfy the condition") { isSatisfied($0) ? () : nil }
  }

  /// Waits until the stream ends. Cancelling the caller ends the wait.
  ///
  /// - Throws: `CancellationError` if the task is cancelled while it is waiting.
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

extension EventRecorder {
  /// The error that is thrown when the stream ends without the awaited event.
  public struct StreamEnded: Error, CustomStringConvertible {
    /// A description of the awaited event.
    public var awaited: String

    /// The recorded events.
    public var events: [ProcedureEvent]

    /// The awaited event and the recorded events.
    public var description: String {
      "the stream ended without \(awaited). Recorded events: \(events.map { "\($0.kind) of \($0.id)" })"
    }
  }
}

extension Sequence<ProcedureEvent> {
  /// Returns the kinds of the events in order, for the run `id` or for all runs.
  public func steps(of id: ProcedureID? = nil) -> [ProcedureEvent.Kind] {
    filter { id == nil || $0.id == id }.map(\.kind)
  }

  /// Checks the order of each run's events, and returns a description of each violation.
  ///
  /// The first event must be `didAttach`, and the last must be `didFinish`. `didCancel` must occur at most once and precede `willFinish`.
  /// The body must end as many times as it starts, and instants must never decrease. If a run has not finished, only the events so far are
  /// checked. A run whose first event is missing is reported as a violation.
  public func orderViolations() -> [String] {
    let runs = Dictionary(grouping: self, by: \.id)
    return runs.keys.sorted().flatMap { id in
      Self.violations(of: runs[id] ?? []).map { "\(id): \($0): \((runs[id] ?? []).map(\.kind))" }
    }
  }

  private static func violations(of events: [ProcedureEvent]) -> [String] {
    var violations: [String] = []
    func expect(_ condition: Bool, _ words: String) {
      if !condition { violations.append(words) }
    }
    let steps = events.map(\.kind)
    func count(_ step: ProcedureEvent.Kind) -> Int { steps.count { $0 == step } }
    expect(steps.first == .didAttach && count(.didAttach) == 1, "didAttach must occur once, as the first event")
    expect(count(.didCancel) <= 1, "didCancel must occur at most once")
    expect(count(.willFinish) <= 1 && count(.didFinish) <= 1, "willFinish and didFinish must occur at most once")
    if let finish = steps.firstIndex(of: .didFinish) {
      expect(finish == steps.count - 1, "didFinish must be the last event")
      expect(count(.willExecute) == count(.didExecute), "each willExecute must have a matching didExecute")
      expect(steps.firstIndex(of: .willFinish).map { $0 < finish } ?? false, "willFinish must precede didFinish")
    }
    if let end = steps.firstIndex(of: .willFinish) {
      expect(!steps[end...].contains(.didCancel), "didCancel must precede willFinish")
      expect(!steps[end...].contains(.willExecute), "willExecute must not follow willFinish")
    }
    expect(zip(events, events.dropFirst()).allSatisfy { $0.instant <= $1.instant }, "instants must not decrease")
    return violations
  }
}

extension ProcedureHandle {
  /// Waits for the run to finish and returns all its events.
  ///
  /// Cancelling the caller ends the wait. The function then returns the events so far.
  public func allEvents() async -> [ProcedureEvent] {
    var all: [ProcedureEvent] = []
    for await event in events { all.append(event) }
    return all
  }
}
