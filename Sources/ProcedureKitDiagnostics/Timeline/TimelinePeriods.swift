import ProcedureKit

/// The parts of executions that a timeline marks: waits for nested work, and periods on the critical path.
struct TimelinePeriods {
  typealias Period = Range<Duration>

  private let nested: [ProcedureID: [Period]]
  private let critical: [ProcedureID: [Period]]

  /// Whether a body waited for nested work.
  var hasNested: Bool { !nested.isEmpty }

  init(_ recording: RunRecording, path: CriticalPath) {
    var (nested, critical): ([ProcedureID: [Period]], [ProcedureID: [Period]]) = ([:], [:])
    let runs = Dictionary(recording.runs.map { ($0.id, $0) }) { first, _ in first }
    func period(_ begin: Duration, _ end: Duration) -> Period { begin..<max(begin, end) }
    for run in recording.runs {
      if let graph = run.graph { nested[graph, default: []].append(period(run.begin, run.end ?? recording.duration)) }
      // A body begins to wait for a nested run when that run begins.
      for wait in run.awaits {
        if let begin = runs[wait.run]?.begin { nested[run.id, default: []].append(period(begin, wait.end)) }
      }
    }
    // The steps adjoin each other, and the last one ends with its run.
    if var end = path.steps.last.flatMap({ runs[$0.id]?.end }) {
      for step in path.steps.reversed() {
        critical[step.id, default: []].append(period(end - step.duration, end))
        end -= step.duration
      }
    }
    self.nested = nested.mapValues(Self.union)
    self.critical = critical.mapValues(Self.union)
  }

  /// Returns the parts of a period during which a run's body was waiting for nested work, in chronological order.
  func nested(in id: ProcedureID, _ period: Period) -> [Period] { Self.part(of: nested[id] ?? [], in: period) }

  /// Returns the parts of a period during which a run was on the critical path, in chronological order.
  func critical(in id: ProcedureID, _ period: Period) -> [Period] { Self.part(of: critical[id] ?? [], in: period) }

  /// Returns the union of the periods as periods that do not overlap, in chronological order.
  private static func union(_ periods: [Period]) -> [Period] {
    periods.sorted { $0.lowerBound < $1.lowerBound }.reduce(into: []) { union, next in
      if let last = union.last, next.lowerBound <= last.upperBound {
        union[union.count - 1] = last.lowerBound..<max(last.upperBound, next.upperBound)
      } else {
        union.append(next)
      }
    }
  }

  private static func part(of union: [Period], in limits: Period) -> [Period] {
    // A run can have many executions, and each shows only a few of the periods.
    var (low, high) = (0, union.count)
    while low < high {
      let middle = (low + high) / 2
      if union[middle].upperBound > limits.lowerBound { high = middle } else { low = middle + 1 }
    }
    return union[low...].prefix { $0.lowerBound < limits.upperBound }.map { $0.clamped(to: limits) }
      .filter { !$0.isEmpty }
  }
}

extension [Range<Duration>] {
  /// The total duration of the periods.
  var duration: Duration { reduce(.zero) { $0 + ($1.upperBound - $1.lowerBound) } }
}
