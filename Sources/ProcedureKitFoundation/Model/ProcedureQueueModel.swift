public import Observation
public import ProcedureKit

/// An observable model of a queue for use in views. It contains totals and a row for each procedure.
///
/// ```swift
/// List(model.rows) { row in Text(row.name) }
///   .task { await model.run() }
/// ```
///
/// The model is updated only while ``run()`` is executing. It is updated at most once in each interval, no matter how many events the queue
/// publishes. A property that has not changed is not set again, so views are not updated unnecessarily. For each update, a snapshot of the
/// queue is created outside the main actor, in O(n log n) time for n unfinished procedures.
///
/// Each procedure that you add to the queue, or run on it, has a row. The nodes of graphs, the children that a procedure produces, and the
/// procedures that a body runs on the same queue do not have rows. Their progress counts towards the progress of the procedure to which
/// they belong.
///
/// A failure that a row shows is considered observed, even if no code reads the procedure's handle. It is not passed to
/// `onUnobservedFailure`.
///
/// The model retains its queue. After ``run()`` returns, releasing the model also releases the queue.
@MainActor @Observable public final class ProcedureQueueModel {
  /// A row that represents one run of a procedure.
  public struct Row: Sendable, Identifiable {
    /// The ID of the run.
    public let id: ProcedureID
    /// The name of the procedure.
    public let name: String
    /// The state of the run.
    public let state: ProcedureState
    /// The completed fraction, from 0 to 1; `nil` if it is unknown.
    ///
    /// Before the run ends, the fraction is known if the body has reported progress, or if the run has children or nodes. Afterwards, it is
    /// known if the run finished with a value. See `ProgressReporter`.
    public let progress: Double?
    /// The reason the run is waiting; `nil` while the body is working and after the run has ended.
    public let wait: QueueSnapshot.Wait?
    /// The number of attempts that have started.
    public let attempts: Int
    /// The outcome of the run; `nil` if the run has not ended.
    public let outcome: ProcedureOutcome<Void>?

    /// The error of a failed run.
    public var failure: (any Error)? {
      if case .failed(let error)? = outcome { error } else { nil }
    }

    fileprivate init(_ entry: QueueSnapshot.Entry, _ details: QueueCore.ModelDetails) {
      (id, name, state) = (entry.procedure.id, entry.procedure.name, entry.state)
      (wait, progress, attempts, outcome) = (entry.wait, details.progress, details.attempts, nil)
    }

    fileprivate init(_ end: RunEnds.End) {
      (id, name, state) = (end.procedure.id, end.procedure.name, .finished)
      (wait, progress, attempts, outcome) = (nil, end.outcome.value.map { 1 }, end.attempts, end.outcome)
    }

    /// Returns whether two rows look the same in a view. Outcomes are not compared, because an outcome appears only when the state changes
    /// to `finished`.
    fileprivate func isEqual(to other: Row) -> Bool {
      (id, state, progress, attempts, wait) == (other.id, other.state, other.progress, other.attempts, other.wait)
    }
  }

  /// The number of runs, by state and outcome.
  public struct Totals: Hashable, Sendable {
    /// The number of runs that have not started and are waiting for dependencies, conditions, resources, a slot, or the queue to be
    /// resumed.
    public fileprivate(set) var waitingCount = 0
    /// The number of runs that are executing or finishing.
    public fileprivate(set) var executingCount = 0
    /// The number of runs that are pausing before an attempt.
    public fileprivate(set) var pausingCount = 0
    /// The number of runs that finished with a value while ``ProcedureQueueModel/run()`` was executing, whether or not they have a row.
    public fileprivate(set) var finishedCount = 0
    /// The number of runs that failed, counted in the same way as ``finishedCount``.
    public fileprivate(set) var failedCount = 0
    /// The number of runs that were cancelled, counted in the same way as ``finishedCount``.
    public fileprivate(set) var cancelledCount = 0
    /// The number of runs that were ignored because of a condition, counted in the same way as ``finishedCount``.
    public fileprivate(set) var ignoredCount = 0

    fileprivate init() {}

    fileprivate init(_ counts: RunEnds.Counts, _ rows: [Row]) {
      (finishedCount, failedCount) = (counts.finished, counts.failed)
      (cancelledCount, ignoredCount) = (counts.cancelled, counts.ignored)
      for row in rows {
        switch row.state {
        case .pending, .evaluating, .waiting: waitingCount += 1
        case .executing, .finishing: executingCount += 1
        case .pausing: pausingCount += 1
        case .finished: break
        }
      }
    }
  }

  /// The unfinished runs in the order of their admission, followed by the runs that have ended, latest first.
  public private(set) var rows: [Row] = []
  /// The number of runs, by state and outcome.
  public private(set) var totals = Totals()
  /// Whether the queue is suspended.
  public private(set) var isSuspended: Bool

  /// The queue that the model shows.
  public nonisolated let queue: ProcedureQueue
  /// The maximum number of rows for runs that have ended.
  public nonisolated let maxFinishedRows: Int

  /// The maximum time between two updates if no event is published.
  ///
  /// Some changes cause no event: a run can begin to wait for something else, and other code can suspend the queue.
  nonisolated static let refreshInterval: Duration = .milliseconds(500)

  private let interval: Duration
  private let clock: any Clock<Duration>
  private let elapsed: () -> Duration
  private let ends: RunEnds
  /// The rows for runs that have ended, latest last.
  @ObservationIgnored private var finishedRows: [Row] = []
  @ObservationIgnored private var runCount = 0
  @ObservationIgnored private var isUpdating = false
  @ObservationIgnored private var nextUpdate: Duration = .zero

  /// Creates a model, which is empty until ``run()`` is called.
  ///
  /// - Parameters:
  ///   - queue: The queue to show.
  ///   - maxFinishedRows: The maximum number of rows for runs that have ended. The oldest are removed first. Passing a negative number
  ///     traps.
  ///   - interval: The minimum time between two updates. The default is about the duration of a frame at 60 Hz. Choose a longer interval
  ///     for a queue with thousands of waiting procedures.
  ///   - clock: The clock that measures the interval.
  public init(
    _ queue: ProcedureQueue, maxFinishedRows: Int = 100, every interval: Duration = .milliseconds(16),
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    require(maxFinishedRows >= 0, "ProcedureQueueModel: maxFinishedRows must be at least 0, got \(maxFinishedRows)")
    (self.queue, self.maxFinishedRows, self.clock) = (queue, maxFinishedRows, clock)
    (self.interval, elapsed) = (interval.saturated, Self.stopwatch(clock))
    (ends, isSuspended) = (RunEnds(limit: maxFinishedRows), queue.isSuspended)
  }

  private static func stopwatch<C: Clock>(_ clock: C) -> () -> Duration where C.Duration == Duration {
    let start = clock.now
    return { start.duration(to: clock.now) }
  }

  /// Updates the model until the caller is cancelled, or the queue has been shut down and its last procedure has ended.
  ///
  /// In SwiftUI, call this function in the `task` modifier, which cancels the call when the view disappears. The first update takes place
  /// immediately and shows the procedures that are on the queue. Runs that end while this function is not executing do not get a row. A
  /// failure that no update has shown is reported as unobserved. Several tasks can call this function concurrently. They share the updates,
  /// which continue until the last task is cancelled. If no events are published, the model is updated twice a second.
  public func run() async {
    if runCount == 0 { queue.core.collect(ends) }
    runCount += 1
    defer {
      runCount -= 1
      if runCount == 0 { queue.core.stopCollecting(ends) }
    }
    var mayChange = true
    while true {
      await waitForNextUpdate()
      if Task.isCancelled { return }
      // The subscription begins before the snapshot, so that no later change is missed. The model only has to know whether there is an
      // event, so a buffer for one event is enough.
      let feed = queue.feed(bufferingNewest: 1)
      await update()
      guard mayChange else { return }
      mayChange = await waitForChange(feed)
    }
  }

  /// Waits until the next update is due, or the caller is cancelled. The caller must then begin the update before it suspends again.
  private func waitForNextUpdate() async {
    // Another task may have begun an update during the sleep.
    while case let time = nextUpdate - elapsed(), time > .zero {
      guard (try? await clock.sleep(for: time)) != nil else { return }
    }
  }

  /// Waits for an event, but no longer than the refresh interval. Returns `false` if no more events will be published, or if the caller is
  /// cancelled.
  private func waitForChange(_ feed: QueueFeed) async -> Bool {
    await withTaskGroup { [clock] group in
      group.addTask { await feed.next() != nil }
      group.addTask { (try? await clock.sleep(for: Self.refreshInterval)) != nil }
      defer { group.cancelAll() }
      return await group.next() ?? false
    }
  }

  private func update() async {
    // If another task is already updating the model, that task also shows the latest changes.
    guard !isUpdating else { return }
    isUpdating = true
    defer { isUpdating = false }
    nextUpdate = elapsed().addingSaturated(interval)
    let current = await Self.currentRows(of: queue.core)
    // The runs that have ended are collected after the snapshot, so that every run is in the snapshot, among the collected runs, or both. A
    // run that is in both has ended.
    let (newEnds, counts) = ends.take()
    for end in newEnds {
      end.setObserved()
      finishedRows.append(Row(end))
    }
    finishedRows.removeFirst(max(finishedRows.count - maxFinishedRows, 0))
    let ended = Set(newEnds.map(\.procedure.id))
    let unfinished = ended.isEmpty ? current : current.filter { !ended.contains($0.id) }
    show(unfinished + finishedRows.reversed(), Totals(counts, unfinished))
  }

  /// Returns the rows of the unfinished runs.
  @concurrent private static func currentRows(of core: QueueCore) async -> [Row] {
    let (snapshot, topLevel) = core.snapshotForModel()
    return snapshot.procedures.compactMap { entry in
      // A run that is still calling its last hooks has already ended.
      entry.state.isFinished ? nil : topLevel[entry.procedure.id].map { Row(entry, $0) }
    }
  }

  /// Sets only the properties that have changed, because setting a property notifies the views.
  private func show(_ rows: [Row], _ totals: Totals) {
    if !rows.elementsEqual(self.rows, by: { $0.isEqual(to: $1) }) { self.rows = rows }
    if totals != self.totals { self.totals = totals }
    showSuspension()
  }

  private func showSuspension() {
    let isSuspended = queue.isSuspended
    if isSuspended != self.isSuspended { self.isSuspended = isSuspended }
  }

  // MARK: Actions

  /// Cancels the run that a row represents, together with the run's children, nested runs and nodes.
  ///
  /// - Parameters:
  ///   - id: The ID of the row.
  ///   - reason: The reason for the cancellation; `nil` to use `CancellationError`.
  /// - Returns: Whether the run was still unfinished.
  @discardableResult
  public func cancel(_ id: ProcedureID, _ reason: (any Error)? = nil) -> Bool { queue.cancel(id, reason) }

  /// Cancels all procedures that are currently on the queue.
  ///
  /// - Parameter reason: The reason for the cancellation; `nil` to use `CancellationError`.
  public func cancelAll(_ reason: (any Error)? = nil) { queue.cancelAll(reason) }

  /// Suspends the queue. No further procedures start until it is resumed. ``isSuspended`` changes immediately, whereas the rows change with
  /// the next update.
  public func suspend() {
    queue.suspend()
    showSuspension()
  }

  /// Resumes the queue after ``suspend()``.
  public func resume() {
    queue.resume()
    showSuspension()
  }
}
