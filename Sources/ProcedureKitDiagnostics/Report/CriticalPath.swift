public import ProcedureKit

/// The chain of runs that decided how long a recording took: shortening a run that is not part of it shortens nothing.
///
/// The path ends with the run that ended last. Before each run stands the dependency that ended last, of the run itself or, if the
/// run has none, of the run around it. Instead of a run with nodes or children, the path has those of them that ended last. A wait for a
/// slot or a resource belongs to the run that waited.
public struct CriticalPath: Sendable {
  /// One run of the path.
  public struct Step: Sendable {
    /// The run.
    public let id: ProcedureID
    /// The name of the procedure.
    public let name: String
    /// The time between the end of the former run, or the run's own beginning, and the end of this run.
    public let duration: Duration
    /// The part of the duration in which the body executed.
    public let executing: Duration
  }

  /// The runs, in the order of time.
  public let steps: [Step]

  /// The sum of the durations of all steps.
  public var duration: Duration { steps.reduce(.zero) { $0 + $1.duration } }

  /// Finds the path in a recording. O(n log n) for n runs.
  public init(_ recording: RunRecording) {
    let search = Search(recording.runs)
    steps = search.path
  }

  private struct Search {
    private let runs: [ProcedureID: RunRecord]
    /// Of each run, the child or node that ended last.
    private var lastParts: [ProcedureID: RunRecord] = [:]

    init(_ all: [RunRecord]) {
      runs = Dictionary(all.map { ($0.id, $0) }) { first, _ in first }
      for run in all {
        guard let parent = run.parent, let end = run.end else { continue }
        if let end = runs[parent]?.end, let own = run.end, own > end { continue }
        if lastParts[parent]?.end ?? .zero <= end { lastParts[parent] = run }
      }
    }

    var path: [Step] {
      var steps: [Step] = []
      var seen: Set<ProcedureID> = []
      var next = runs.values.filter { $0.end != nil && $0.outcome != .skipped }
        .max { ($0.end!, $1.id) < ($1.end!, $0.id) }
        .map(lastLeaf)
      while let run = next, seen.insert(run.id).inserted {
        let former = predecessor(of: run)
        steps.append(step(run, after: former?.end))
        next = former
      }
      return steps.reversed()
    }

    private func lastLeaf(of run: RunRecord) -> RunRecord {
      var (run, count) = (run, 0)
      while let part = lastParts[run.id], part.id != run.id, count < runs.count { (run, count) = (part, count + 1) }
      return run
    }

    private func predecessor(of run: RunRecord) -> RunRecord? {
      var current: RunRecord? = run
      var count = 0
      while let record = current, count <= runs.count {
        let last = record.dependencies.compactMap { runs[$0] }.filter { $0.end != nil }.max { $0.end! < $1.end! }
        if let last { return lastLeaf(of: last) }
        current = record.parent.flatMap { runs[$0] }
        count += 1
      }
      return nil
    }

    private func step(_ run: RunRecord, after former: Duration?) -> Step {
      let end = run.end ?? run.begin
      let begin = min(max(former ?? run.begin, run.begin), end)
      let executing = run.executions.reduce(Duration.zero) { sum, execution in
        sum + max((execution.end ?? execution.begin) - max(execution.begin, begin), .zero)
      }
      return Step(id: run.id, name: run.name, duration: end - begin, executing: min(executing, end - begin))
    }
  }
}
