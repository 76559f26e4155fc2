import ProcedureKit

/// A diagram that shows which runs depended on other runs, or requested the values of other runs by key. Colours show outcomes, and thick
/// lines show the critical path.
///
/// ```swift
/// let diagram = RunDiagram(await recorder.finish())
/// print(diagram.mermaid)
/// ```
///
/// A graph, or a run with children, is drawn as a box around its nodes or children. The label of each run contains its name and the
/// execution time of its body. For readers who cannot distinguish the colours, a symbol before the name marks failed (✕), cancelled (⊘),
/// reused (↺), skipped (↷) and ignored (∅) runs. To draw a graph that has not been run, use `ProcedureGraph.mermaid`.
public struct RunDiagram: Sendable {
  /// The drawn runs, in the order in which they began.
  let runs: [RunRecord]
  /// The number of omitted runs.
  let omittedCount: Int
  /// The runs in each box, as indices of `runs`. The key is the index of the run that is drawn as the box, or -1 for runs that are not in a
  /// box.
  let parts: [Int: [Int]]
  /// The arrows between runs. Each end of an arrow is an index of `runs`.
  let arrows: [Arrow]
  /// The runs on the critical path, as indices of `runs`.
  let critical: Set<Int>

  struct Arrow: Sendable {
    let from: Int
    let to: Int
    let isCritical: Bool
  }

  /// Creates a diagram of a recording.
  ///
  /// - Parameters:
  ///   - recording: The recorded runs.
  ///   - limit: The maximum number of runs to draw, starting with the first. Drawing tools reject diagrams with thousands of runs, or
  ///     become slow.
  /// - Complexity: O(n log n) for n runs.
  public init(_ recording: RunRecording, limit: Int = 300) {
    let runs = Array(recording.runs.prefix(max(limit, 1)))
    let positions = Dictionary(runs.enumerated().map { ($1.id, $0) }) { first, _ in first }
    let path = CriticalPath(recording).steps.map(\.id)
    let steps = Set(zip(path, path.dropFirst()).map { [$0, $1] })
    self.runs = runs
    omittedCount = recording.runs.count - runs.count
    // Runs are in the order in which they began, so parents precede their children. A parent that follows its child is an error in the
    // recording.
    parts = Dictionary(grouping: runs.indices) { index in
      runs[index].parent.flatMap { positions[$0] }.flatMap { $0 < index ? $0 : nil } ?? -1
    }
    arrows = runs.indices.flatMap { to in
      var drawn: Set<ProcedureID> = []
      return (runs[to].dependencies + runs[to].requests).filter { drawn.insert($0).inserted }.compactMap { id in
        positions[id].map { Arrow(from: $0, to: to, isCritical: steps.contains([id, runs[to].id])) }
      }
    }
    critical = Set(path.compactMap { positions[$0] })
  }

  /// Returns the name of a run, with a symbol for its outcome, and the execution time of its body.
  func label(of run: RunRecord) -> (name: String, time: String?) {
    let sign =
      switch run.outcome {
      case .skipped: "↷ "
      case .ignored: "∅ "
      default: TimelineStyle.sign(of: run.outcome)
      }
    return (sign + run.name.shortened(to: 60), run.executions.isEmpty ? nil : run.executionTime.short)
  }

  /// Returns the fill and border colours for runs with the given outcome. The outcome `nil` means that the runs have not ended.
  static func colours(of outcome: RunRecord.Outcome?) -> (fill: String, stroke: String) {
    switch outcome {
    case .finished: ("#d6e6f7", "#2f6fb3")
    case .reused: ("#d3efe8", "#00866b")
    case .failed: ("#fbdcc8", "#d55e00")
    case .skipped, .ignored, .cancelled: ("#e4e6ea", "#6f7480")
    case nil: ("#f5ecc9", "#8a6d00")
    }
  }
}
