import ProcedureKit

/// A value type that assembles run records from events, using a limited amount of memory.
struct RunRecordStore {
  private let limit: Int
  private var records: [ProcedureID: RunRecord] = [:]
  /// The runs that have ended, in the order in which they ended. Only the elements from `firstEnded` on are valid.
  private var ended: [ProcedureID] = []
  private var firstEnded = 0
  private var latest: Duration = .zero
  private(set) var droppedCount = 0
  private(set) var lostEventCount = 0

  init(limit: Int) {
    self.limit = max(limit, 1)
  }

  var recording: RunRecording {
    RunRecording(
      runs: Array(records.values), duration: latest, droppedCount: droppedCount, lostEventCount: lostEventCount)
  }

  /// Records an event.
  ///
  /// - Parameters:
  ///   - event: The event.
  ///   - queue: The name of the queue.
  ///   - offset: The time in the recording that corresponds to zero on the queue's clock.
  ///   - reason: The result of ``reason(in:)`` for the event.
  mutating func take(_ event: ProcedureEvent, of queue: String, offset: Duration, reason: String?) {
    let time = event.instant.sinceStart + offset
    latest = max(latest, time)
    if case .gap(let lostCount) = event.step {
      lostEventCount += lostCount
      return
    }
    // If a run was admitted before the recording began, the time of its admission is unknown, so the time of its first recorded event is
    // used instead.
    update(event.id, RunRecord(id: event.id, name: event.name, queue: queue, begin: time)) { record in
      record.parent = event.parent
      record.graph = event.graph
      switch event.step {
      case .didAttach: (record.dependencies, record.collection) = (event.dependencies, event.collection)
      case .willExecute:
        record.executions.append(
          .init(attempt: event.attempt, slot: event.slot, slotWait: event.slotWait, begin: time))
        record.executionCause = record.executionCause ?? event.executionCause
      case .didExecute: record.endExecution(at: time)
      case .retrying:
        if let last = record.executions.indices.last { record.executions[last].isRetried = true }
      case .didAwait(let awaited) where record.awaits.count < Self.awaitLimit:
        record.awaits.append(.init(run: awaited.id, end: time, slot: event.slot, slotWait: event.slotWait))
      case .didRequest(let requested) where record.requests.count < Self.awaitLimit:
        record.requests.append(requested.id)
      case .reused(let name): (record.outcome, record.reason) = (.reused, name)
      case .didFinish: record.end(with: event, reason, at: time)
      default: break
      }
    }
    if event.kind == .didFinish { end(event.id) }
  }

  /// Returns the error that ended a run, or another reason for its end. The function calls the user's code (`description`), so it must not
  /// be called while a lock is held.
  static func reason(in event: ProcedureEvent) -> String? {
    guard event.kind == .didFinish else { return nil }
    switch event.outcome {
    case .failed: return event.error.map { "\($0)".shortened(to: reasonLimit) }
    case .cancelled(let reason): return reason.map { "\($0)".shortened(to: reasonLimit) }
    case .ignored(by: let condition): return condition
    case .finished, nil: return nil
    }
  }

  private static let reasonLimit = 2_000
  /// The maximum number of waits that are kept for each run. The same limit applies to requests. Without a limit, a body that waits in a
  /// loop could use any amount of memory.
  private static let awaitLimit = 10_000

  private mutating func update(_ id: ProcedureID, _ new: RunRecord, _ change: (inout RunRecord) -> Void) {
    change(&records[id, default: new])
  }

  private mutating func end(_ id: ProcedureID) {
    ended.append(id)
    while records.count > limit, firstEnded < ended.count {
      records[ended[firstEnded]] = nil
      firstEnded += 1
      droppedCount += 1
    }
    if firstEnded > limit {
      ended.removeFirst(firstEnded)
      firstEnded = 0
    }
  }
}

extension RunRecord {
  fileprivate mutating func endExecution(at time: Duration) {
    guard let last = executions.indices.last, executions[last].end == nil else { return }
    executions[last].end = time
  }

  fileprivate mutating func end(with event: ProcedureEvent, _ reason: String?, at time: Duration) {
    endExecution(at: time)
    end = time
    metrics = event.metrics
    outcome = Outcome(of: event, isReused: outcome == .reused, hasExecuted: !executions.isEmpty)
    if outcome == .skipped { cause = (event.error as? ProcedureError)?.origin }
    if outcome != .reused { self.reason = reason }
  }
}
