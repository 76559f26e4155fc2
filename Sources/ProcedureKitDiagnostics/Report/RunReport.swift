import ProcedureKit

/// A report that shows where the time in a recording was spent, which runs failed and why, and what you can do about it.
///
/// ```swift
/// let report = RunReport(await recorder.finish())
/// print(report.text)
/// try Data(report.html.utf8).write(to: URL(filePath: "report.html"))
/// ```
public struct RunReport: Sendable {
  /// A group of runs that have the same name, or that are elements of the same `map`.
  public struct Group: Sendable {
    /// The name of the procedures, or of the `map`.
    public var name: String
    /// The number of runs.
    public var count: Int
    /// The total execution time of the runs' bodies.
    public var executing: Duration
    /// The longest execution time of a single run.
    public var longest: Duration
    /// The name of the run with the longest execution time.
    public var slowest: String
    /// The total time that the runs waited for dependencies, conditions, resources and slots.
    public var waiting: Duration
  }

  /// The recording that the report describes.
  public let recording: RunRecording
  /// The chain of runs that determined the duration of the recording.
  public let criticalPath: CriticalPath
  /// The runs that were executed, grouped by name. Graphs and runs with children are not included. The group with the longest execution
  /// time comes first.
  public let groups: [Group]
  /// The failed runs, in chronological order. The first failure is the one most likely to have caused others. A graph is listed only if it
  /// failed but none of its nodes did.
  public let failures: [RunRecord]
  /// The skipped, ignored, cancelled and reused runs, in chronological order. Graphs are not included.
  public let others: [RunRecord]
  /// The nodes that durable graphs executed again, in chronological order. For the reasons, see ``RunRecord/executionCause``.
  public let executedAgain: [RunRecord]

  /// Creates a report about a recording.
  ///
  /// - Parameter recording: The recorded runs.
  /// - Complexity: O(n log n) for n runs.
  public init(_ recording: RunRecording) {
    self.recording = recording
    criticalPath = CriticalPath(recording)
    // The execution time of a graph, or of a run with children, includes that of its nodes or children, so these runs are left out to avoid
    // counting time twice.
    let parents = Set(recording.runs.compactMap(\.parent))
    var groups: [ByteText: Group] = [:]
    for run in recording.runs where !parents.contains(run.id) && !run.executions.isEmpty {
      let name = (run.collection ?? run.name).shortened(to: 200)
      var group =
        groups[ByteText(name)]
        ?? Group(
          name: name, count: 0, executing: .zero, longest: .zero, slowest: run.name.shortened(to: 200), waiting: .zero)
      group.count += 1
      group.executing += run.executionTime
      if run.executionTime > group.longest {
        (group.longest, group.slowest) = (run.executionTime, run.name.shortened(to: 200))
      }
      if let metrics = run.metrics { group.waiting += metrics.pending + metrics.evaluating + metrics.waiting }
      groups[ByteText(name)] = group
    }
    self.groups = groups.values.sorted {
      ($1.executing, ByteText($0.name)) < ($0.executing, ByteText($1.name))
    }
    let ended = recording.countedRuns.filter { $0.end != nil }.sorted { ($0.end!, $0.id) < ($1.end!, $1.id) }
    failures = ended.filter { $0.outcome == .failed }
    others = ended.filter { ![.failed, .finished].contains($0.outcome) }
    executedAgain = ended.filter { $0.executionCause != nil }
  }

  /// The number of runs for each outcome. As in a ``TerminalProgress``, the nodes of a graph are counted. The graph itself is counted only
  /// if it failed but none of its nodes did.
  public var counts: [(outcome: RunRecord.Outcome, count: Int)] { recording.counts }

  /// Returns the percentage of the recording that a duration accounts for, for example `42%`.
  func share(_ duration: Duration) -> String {
    let all = recording.duration.inSeconds
    return all > 0 ? "\(Int((duration.inSeconds / all * 100).rounded()))%" : "–"
  }

  /// Returns text that names the slowest run of a critical-path row and explains what the row's runs waited for. Returns `nil` if there is
  /// nothing to explain.
  func explanation(of row: CriticalPath.Row) -> String? {
    let times = row.times
    let waits = [
      ("dependencies", times.pending), ("conditions", times.evaluating), ("resources", times.claiming),
      ("a slot", times.waiting - times.claiming),
    ].filter { isNotable($0.1) }
    var parts =
      row.count > 1
      ? ["\(row.count) runs, slowest: \(row.slowest.name.shortened(to: 100)), \(row.slowest.duration.short)"] : []
    if !waits.isEmpty { parts.append("waited " + waits.map { "\($0.1.short) for \($0.0)" }.sentenceList) }
    if isNotable(times.paused) { parts.append("paused for \(times.paused.short)") }
    if isNotable(times.finishing) { parts.append("finishing took \(times.finishing.short)") }
    return parts.isEmpty ? nil : parts.joined(separator: "; ")
  }

  /// Returns whether a part of the critical path is long enough to be shown. The short time that it takes to start a run is not shown.
  private func isNotable(_ duration: Duration) -> Bool { duration > .zero && duration * 200 >= criticalPath.duration }

  /// Returns the reason for the outcome of a run, on one line.
  func explanation(of run: RunRecord) -> String {
    let reason = run.reason?.shortened(to: 400)
    return switch run.outcome {
    case .skipped: "skipped because \(run.cause.map { $0.name.shortened(to: 100) } ?? "a dependency") failed"
    case .ignored: "ignored" + (reason.map { " because of \"\($0)\"" } ?? "")
    case .cancelled: "cancelled" + (reason.map { ": \($0)" } ?? "")
    case .reused: "reused: \(reason ?? "")"
    case .failed: reason ?? "failed"
    case .finished: "finished"
    case nil: "not ended"
    }
  }
}
