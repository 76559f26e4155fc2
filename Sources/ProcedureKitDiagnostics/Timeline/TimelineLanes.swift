import ProcedureKit

/// Assigns executions to lanes. An execution is in the lane of its slot, or in an additional lane if executions overlap because a waiting
/// body has released the slot.
struct TimelineLanes {
  /// An execution of a run.
  struct Bar {
    let run: Int
    let execution: Int
    let lane: Int
    /// The end of the previous execution in the lane; zero for the first execution.
    let free: Duration
    let begin: Duration
    let end: Duration
  }

  /// The maximum number of columns for the name of a lane. Most characters occupy one column.
  private static let nameLimit = 17

  private(set) var bars: [Bar] = []
  /// The names of the lanes, from top to bottom.
  private(set) var names: [String] = []

  /// Assigns all executions to lanes.
  ///
  /// - Complexity: O(n log n + n l) for n executions and l lanes for each slot.
  init(_ recording: RunRecording) {
    struct Slot: Hashable {
      let queue: ByteText
      let number: Int
    }
    struct Placed {
      var run, execution, depth: Int
      var slot: Slot
      var begin, end: Duration
      var free = Duration.zero
    }
    let queues = recording.runs.reduce(into: [ByteText: Int]()) {
      $0[ByteText($1.queue)] = $0[ByteText($1.queue)] ?? $0.count
    }
    var placed: [Placed] = []
    for (run, record) in recording.runs.enumerated() {
      for (index, execution) in record.executions.enumerated() {
        let end = max(execution.end ?? recording.duration, execution.begin)
        let slot = Slot(queue: ByteText(record.queue), number: execution.slot ?? .max)
        placed.append(Placed(run: run, execution: index, depth: 0, slot: slot, begin: execution.begin, end: end))
      }
    }
    // If executions begin at the same time, the one that ends last comes first, because it encloses the others.
    placed.sort { ($0.begin, $1.end) < ($1.begin, $0.end) }
    var ends: [Slot: [Duration]] = [:]
    for index in placed.indices {
      let bar = placed[index]
      var depths = ends[bar.slot, default: []]
      let depth = depths.firstIndex { $0 <= bar.begin } ?? depths.count
      if depth == depths.count { depths.append(.zero) }
      placed[index].free = depths[depth]
      depths[depth] = bar.end
      ends[bar.slot] = depths
      placed[index].depth = depth
    }
    let slots = ends.keys.sorted { (queues[$0.queue] ?? 0, $0.number) < (queues[$1.queue] ?? 0, $1.number) }
    var first: [Slot: Int] = [:]
    for slot in slots {
      first[slot] = names.count
      let end = slot.number == .max ? ", no slot" : " \(slot.number)"
      let name = TerminalText.line(slot.queue.text, columns: Self.nameLimit - end.count).text + end
      names += (0..<ends[slot, default: []].count).map { $0 == 0 ? name : "" }
    }
    bars = placed.map {
      Bar(
        run: $0.run, execution: $0.execution, lane: first[$0.slot, default: 0] + $0.depth, free: $0.free,
        begin: $0.begin, end: $0.end)
    }
  }
}
