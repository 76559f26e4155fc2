import ProcedureKit

/// An assignment of executions to lanes. An execution is in the lane of its slot. If executions in a slot overlap, because a waiting body
/// released the slot, additional lanes are used.
struct TimelineLanes {
  /// A bar in a lane, which represents one execution of a run.
  struct Bar {
    let run: Int
    let execution: Int
    let lane: Int
    let begin: Duration
    let end: Duration
    /// The time at which the wait before the execution began. If the lane was still in use, it is the time at which the lane became free.
    let waitBegin: Duration
  }

  /// A row of the picture.
  struct Lane {
    let queue: String
    /// The number of the slot; `nil` for bodies that executed without a slot.
    let slot: Int?
    /// Whether this is the first lane of its queue.
    let isFirst: Bool

    /// A short name. An additional lane has the same name as the first lane of its slot.
    var label: String {
      // There is room for six or seven characters.
      slot.map { $0 < 100 ? "slot \($0)" : "\($0)" } ?? "no slot"
    }
  }

  /// The bars, in the order in which they begin.
  private(set) var bars: [Bar] = []
  /// The lanes, from top to bottom.
  private(set) var lanes: [Lane] = []

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
      first[slot] = lanes.count
      for _ in ends[slot, default: []] {
        let isFirst = lanes.last.map { ByteText($0.queue) } != slot.queue
        lanes.append(Lane(queue: slot.queue.text, slot: slot.number == .max ? nil : slot.number, isFirst: isFirst))
      }
    }
    bars = placed.map {
      let run = recording.runs[$0.run]
      let wait = $0.execution == 0 ? run.begin : run.executions[$0.execution - 1].end ?? run.begin
      return Bar(
        run: $0.run, execution: $0.execution, lane: first[$0.slot, default: 0] + $0.depth, begin: $0.begin,
        end: $0.end, waitBegin: min(max(wait, $0.free), $0.begin))
    }
  }
}
