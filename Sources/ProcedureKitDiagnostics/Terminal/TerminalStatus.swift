import ProcedureKit

/// A value type that counts the runs on one or more queues, based on their events. Its memory use depends on the number of concurrent runs.
///
/// A run that executes a graph is represented by its nodes. It is counted itself only if it failed but none of its nodes did.
struct TerminalStatus {
  /// A run's end, to be reported on a separate line.
  struct Ending {
    let name: String
    let outcome: RunRecord.Outcome
    /// The number of runs that had ended when this run ended, including this run. `total` is the number of all runs at that time.
    let number: Int
    let total: Int
  }

  private struct Run {
    let name: String
    let queue: Int
    var isCounted = true
    var isExecuting = false
    var hasExecuted = false
    var isReused = false
    var percent: Int?
    /// The position of the run's latest start among the starts on all queues.
    var start = 0
    var hasFailedPart = false
  }

  private var runs: [ProcedureID: Run] = [:]
  /// The starts of executing runs, oldest first. Some of these runs may have ended or started again since.
  private var starts: [(id: ProcedureID, number: Int)] = []
  private var startCount = 0
  /// The number of counted runs, including those that have ended.
  private(set) var total = 0
  /// The number of counted runs that have ended.
  private(set) var finished = 0
  /// The number of executing bodies.
  private(set) var executing = 0
  private(set) var counts: [RunRecord.Outcome: Int] = [:]
  /// The number of lost events.
  private(set) var lost = 0

  /// Records an event.
  ///
  /// - Parameters:
  ///   - event: The event.
  ///   - queue: A number that identifies the queue.
  /// - Returns: The end of a run; `nil` if the event does not report one.
  mutating func take(_ event: ProcedureEvent, of queue: Int) -> Ending? {
    if case .gap(let lostCount) = event.step {
      lost += lostCount
      forget(queue)
      return nil
    }
    var run = runs.removeValue(forKey: event.id) ?? enter(event, queue)
    if let graph = event.graph { standsForParts(graph) }
    switch event.step {
    case .willExecute:
      executing(true, &run)
      run.hasExecuted = true
      if run.isExecuting { started(event.id, &run) }
    case .didExecute: executing(false, &run)
    case .reused: run.isReused = true
    case .progress(let progress): run.percent = progress.percent
    case .didFinish:
      executing(false, &run)
      return end(run, event)
    default: break
    }
    runs[event.id] = run
    return nil
  }

  private mutating func enter(_ event: ProcedureEvent, _ queue: Int) -> Run {
    total += 1
    return Run(name: event.name, queue: queue)
  }

  private mutating func executing(_ isExecuting: Bool, _ run: inout Run) {
    guard run.isCounted, run.isExecuting != isExecuting else { return }
    run.isExecuting = isExecuting
    executing += isExecuting ? 1 : -1
  }

  private mutating func standsForParts(_ graph: ProcedureID) {
    guard var run = runs[graph], run.isCounted else { return }
    executing(false, &run)
    run.isCounted = false
    total -= 1
    runs[graph] = run
  }

  private mutating func end(_ run: Run, _ event: ProcedureEvent) -> Ending? {
    let outcome = RunRecord.Outcome(of: event, isReused: run.isReused, hasExecuted: run.hasExecuted)
    let hasFailed = outcome == .failed || outcome == .skipped || run.hasFailedPart
    if hasFailed, let parent = event.parent { runs[parent]?.hasFailedPart = true }
    if !run.isCounted {
      // If a graph failed because a node failed, the failure has already been reported.
      guard outcome == .failed, !run.hasFailedPart else { return nil }
      total += 1
    }
    finished += 1
    counts[outcome, default: 0] += 1
    return Ending(name: run.name, outcome: outcome, number: finished, total: total)
  }

  /// Removes the runs on a queue. After some of the queue's events are lost, it is unknown which of the runs still exist. A run that still
  /// exists is added again at its next event.
  private mutating func forget(_ queue: Int) {
    for (id, run) in runs where run.queue == queue {
      runs[id] = nil
      if run.isCounted { total -= 1 }
      if run.isExecuting { executing -= 1 }
    }
  }

  private mutating func started(_ id: ProcedureID, _ run: inout Run) {
    startCount += 1
    run.start = startCount
    starts.append((id, startCount))
    if starts.count > 2 * executing + 64 {
      starts = starts.filter { $0.number == startCount || executes($0) != nil }
    }
  }

  /// Returns the run to which a start belongs, if the run is still executing and has not started again.
  private func executes(_ start: (id: ProcedureID, number: Int)) -> Run? {
    runs[start.id].flatMap { $0.isExecuting && $0.start == start.number ? $0 : nil }
  }

  /// Returns the names of up to `limit` executing runs, in the order in which the runs started. If a run reports progress, its completed
  /// percentage is included.
  func firstExecuting(_ limit: Int) -> some Sequence<(name: String, percent: Int?)> {
    starts.lazy.compactMap(executes).prefix(limit).map { ($0.name, $0.percent) }
  }
}

extension RunRecord.Outcome {
  /// Determines the outcome of a run from its last event.
  init(of event: ProcedureEvent, isReused: Bool, hasExecuted: Bool) {
    switch event.outcome {
    case .finished, nil: self = isReused ? .reused : .finished
    case .ignored: self = .ignored
    case .cancelled: self = .cancelled
    case .failed(let error):
      self = (error as? ProcedureError)?.kind == .dependencyFailed && !hasExecuted ? .skipped : .failed
    }
  }
}
