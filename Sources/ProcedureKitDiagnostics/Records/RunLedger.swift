import ProcedureKit

/// Collects events into records, in bounded memory. A value.
struct RunLedger {
  private let limit: Int
  private var records: [ProcedureID: RunRecord] = [:]
  /// The runs that have ended, in that order, from `firstEnded` on.
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

  /// Takes an event.
  ///
  /// - Parameters:
  ///   - event: The event.
  ///   - queue: The name of the queue.
  ///   - offset: The time of the recording at which the clock of the queue stood at zero.
  mutating func take(_ event: ProcedureEvent, of queue: String, offset: Duration) {
    let time = event.instant.sinceStart + offset
    latest = max(latest, time)
    if event.kind == .gap {
      lostEventCount += event.lostCount ?? 0
      return
    }
    // A run that was there before the recording has no beginning: it begins with the first event that is seen.
    update(event.id, RunRecord(id: event.id, name: event.name, queue: queue, begin: time)) { record in
      record.parent = event.parent
      record.graph = event.graph
      switch event.kind {
      case .didAttach: record.dependencies = event.dependencies
      case .willExecute:
        record.executions.append(.init(attempt: event.attempt, slot: event.slot, begin: time))
      case .didExecute: record.endExecution(at: time)
      case .reused:
        record.outcome = .reused
        record.reason = event.reuseName
      case .didFinish: record.end(with: event, at: time)
      default: break
      }
    }
    if event.kind == .didFinish { end(event.id) }
  }

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
  private static let reasonLimit = 2_000

  fileprivate mutating func endExecution(at time: Duration) {
    guard let last = executions.indices.last, executions[last].end == nil else { return }
    executions[last].end = time
  }

  fileprivate mutating func end(with event: ProcedureEvent, at time: Duration) {
    endExecution(at: time)
    end = time
    metrics = event.metrics
    switch event.outcome {
    case .finished, nil: if outcome != .reused { outcome = .finished }
    case .ignored(by: let condition): (outcome, reason) = (.ignored, condition)
    case .cancelled(let reason):
      outcome = .cancelled
      self.reason = reason.map { "\($0)".shortened(to: Self.reasonLimit) }
    case .failed(let error):
      let error = error as? ProcedureError
      outcome = error?.kind == .dependencyFailed && executions.isEmpty ? .skipped : .failed
      cause = outcome == .skipped ? error?.origin : nil
      reason = event.error.map { "\($0)".shortened(to: Self.reasonLimit) }
    }
  }
}
