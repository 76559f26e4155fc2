@testable import ProcedureKit

/// The machines that decide how a run of a graph continues, used as in `GraphRun`.
@dynamicMemberLookup
struct GraphDecisions {
  typealias Advance = GraphProgress.Advance

  let countdown: GraphCountdown
  var progress: GraphProgress
  /// Descriptions of the cases in which a worker continued with a node other than the one that it would have been given.
  private(set) var contradictions: [String] = []

  init(shape: GraphShape, ranks: [Int32] = [], limit: Int, stopsAtFirstFailure: Bool) {
    countdown = GraphCountdown(shape)
    progress = GraphProgress(
      countdown, ranks: ContiguousArray(ranks), limit: limit, stopsAtFirstFailure: stopsAtFirstFailure)
  }

  subscript<Value>(dynamicMember path: KeyPath<GraphProgress, Value>) -> Value { progress[keyPath: path] }

  mutating func started() -> Advance { progress.started() }

  mutating func workerStarted() -> Advance { progress.workerStarted() }

  mutating func nodeSucceeded(_ node: Int32) -> Advance {
    let released = countdown.nodeSucceeded(node)
    guard let next = countdown.successor(among: released) else {
      return progress.nodeSucceeded(releasing: released)
    }
    var asked = progress
    let advance = asked.nodeSucceeded(releasing: released)
    if advance.next != next || advance.isComplete || asked.executing != progress.executing {
      contradictions.append("continued with \(next), but the machine would have returned \(advance)")
    }
    return Advance(next: next)
  }

  mutating func nodeStopped(
    _ node: Int32, _ ending: GraphProgress.Ending, skipped: inout [GraphCountdown.Skipped]
  ) -> (advance: Advance, isUnaccepted: Bool) {
    let stopped = countdown.nodeStopped(node, ending)
    skipped += stopped
    return progress.nodeStopped(node, ending, releasing: countdown.release(byStopping: node, stopped))
  }
}

extension GraphCountdown {
  /// Creates the countdown of a graph whose nodes have no values.
  convenience init(_ shape: GraphShape) {
    self.init(shape, GraphValues(ValueLayout(), dependencyCounts: shape.dependencyCounts))
  }
}
