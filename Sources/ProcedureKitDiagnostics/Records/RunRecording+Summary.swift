import ProcedureKit

extension RunRecording {
  /// The runs that are counted in ``counts``. As in ``TerminalProgress``, the nodes of a graph are counted. The graph itself is counted
  /// only if it failed but none of its nodes did.
  var countedRuns: [RunRecord] {
    let graphs = Set(runs.compactMap(\.graph))
    let parents = Dictionary(runs.map { ($0.id, $0.parent) }) { first, _ in first }
    var hasFailedPart: Set<ProcedureID> = []
    for run in runs where run.outcome == .failed || run.outcome == .skipped {
      var parent = run.parent
      while let id = parent, hasFailedPart.insert(id).inserted { parent = parents[id] ?? nil }
    }
    return runs.filter { run in
      !graphs.contains(run.id) || run.outcome == .failed && !hasFailedPart.contains(run.id)
    }
  }

  /// The number of counted runs with each outcome. Outcomes that did not occur are omitted.
  var counts: [(outcome: RunRecord.Outcome, count: Int)] { Self.counts(of: countedRuns) }

  private static func counts(of runs: [RunRecord]) -> [(outcome: RunRecord.Outcome, count: Int)] {
    RunRecord.Outcome.allCases.compactMap { outcome in
      let count = runs.count { $0.outcome == outcome }
      return count > 0 ? (outcome, count) : nil
    }
  }

  /// A summary of the counts, for example `12 runs in 1.25 s: 10 finished, 2 failed`.
  var summary: String {
    let runs = countedRuns
    let all = "\(runs.count.counting("run")) in \(duration.short)"
    let open = runs.count { $0.outcome == nil }
    let parts =
      Self.counts(of: runs).map { "\($0.count) \($0.outcome.rawValue)" } + (open > 0 ? ["\(open) not ended"] : [])
    return parts.isEmpty ? all : all + ": " + parts.joined(separator: ", ")
  }

  /// A description of what is missing from the recording; `nil` if it is complete.
  var gaps: String? {
    var parts: [String] = []
    if droppedCount > 0 { parts.append(droppedCount.counting("earlier run was", "earlier runs were") + " dropped") }
    if lostEventCount > 0 { parts.append(lostEventCount.counting("event was", "events were") + " lost") }
    return parts.isEmpty ? nil : "Incomplete: " + parts.sentenceList + "."
  }
}
