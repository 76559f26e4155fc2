extension RunRecording {
  /// The number of runs for each outcome; outcomes without a run are omitted.
  var counts: [(outcome: RunRecord.Outcome, count: Int)] {
    RunRecord.Outcome.allCases.compactMap { outcome in
      let count = runs.count { $0.outcome == outcome }
      return count > 0 ? (outcome, count) : nil
    }
  }

  /// The counts as a sentence: `12 runs in 1.25 s: 10 finished, 2 failed`.
  var summary: String {
    let all = "\(runs.count) \(runs.count == 1 ? "run" : "runs") in \(duration.short)"
    let open = runs.count { $0.outcome == nil }
    let parts = counts.map { "\($0.count) \($0.outcome.rawValue)" } + (open > 0 ? ["\(open) not ended"] : [])
    return parts.isEmpty ? all : all + ": " + parts.joined(separator: ", ")
  }

  /// A description of the recording's gaps; `nil` if it is complete.
  var gaps: String? {
    var parts: [String] = []
    if droppedCount > 0 { parts.append("\(droppedCount) earlier runs were dropped") }
    if lostEventCount > 0 { parts.append("\(lostEventCount) events were lost") }
    return parts.isEmpty ? nil : "Incomplete: " + parts.joined(separator: ", ") + "."
  }
}
