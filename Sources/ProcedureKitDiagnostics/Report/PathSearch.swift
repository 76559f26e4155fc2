import ProcedureKit

/// A search for a critical path, from its end to its beginning.
struct PathSearch {
  /// A run, and the marks that the search has not passed yet.
  struct Life {
    let run: RunRecord
    var marks: [Mark] = []
    /// The time that the run spent waiting for conditions and resources, and in pauses, minus the time that has already been assigned to
    /// steps.
    var rest: ProcedureMetrics
    /// The time during which modifiers waited or paused while the body was executing, minus the time that has already been assigned to
    /// steps.
    var inside: Duration
    /// The earliest time that has been passed to `begin(of:at:_:)` for this run; `nil` if the function has not been called for it.
    var earliest: Duration?

    /// Returns the first mark after a point in time.
    ///
    /// - Complexity: O(log n) for n marks, which are sorted by time.
    func firstMark(after time: Duration) -> Mark? {
      var (low, high) = (0, marks.count)
      while low < high {
        let middle = (low + high) / 2
        if marks[middle].time > time { high = middle } else { low = middle + 1 }
      }
      return low < marks.count ? marks[low] : nil
    }
  }

  /// A point in time during a run at which the critical path can continue with another run.
  struct Mark {
    enum Kind {
      /// The execution with this index begins.
      case start(Int)
      /// The execution with this index ends.
      case end(Int)
      /// A wait for another run ends.
      case awaited(ProcedureID)
    }

    let kind: Kind
    let time: Duration
    /// How long the run waited for its slot; `nil` if this is unknown.
    var slotWait: Duration?
    /// The slot in which the run continues.
    var slot: Slot?
    /// The position of the mark in the history of its slot.
    var position: Int?
  }

  struct Slot: Hashable {
    let queue: ByteText
    let number: Int
  }

  /// A period during which a run held a slot.
  private struct Use {
    let run: ProcedureID
    let mark: Int
    let begin: Duration
    /// The time at which the run released the slot; `nil` if the time is unknown.
    let end: Duration?
  }

  private(set) var lives: [ProcedureID: Life] = [:]
  private var uses: [Slot: [Use]] = [:]
  /// The steps found so far, from the last to the first.
  private var steps: [CriticalPath.Step] = []
  /// The runs that the search has left in order to continue with other runs. The run that it left last is the last element.
  private var passed: [ProcedureID] = []
  /// The runs to which the path has returned in order to continue with a run that they awaited. This happens at most once for each run.
  private var resumed: Set<ProcedureID> = []
  private var last: ProcedureID?

  init(_ runs: [RunRecord]) {
    var nodes: [ProcedureID: [RunRecord]] = [:]
    for run in runs where lives[run.id] == nil {
      let executions = run.executions.reduce(Duration.zero) { $0 + ($1.end ?? $1.begin) - $1.begin }
      lives[run.id] = Life(
        run: run, rest: run.metrics ?? ProcedureMetrics(),
        inside: run.metrics.map { max(executions - $0.executing, .zero) } ?? .zero)
      if let graph = run.graph, run.end != nil, !run.executions.isEmpty { nodes[graph, default: []].append(run) }
    }
    for id in lives.keys {
      let marks = marks(of: id, nodes[id] ?? [])
      lives[id]?.marks = marks
    }
    findUses()
    last =
      runs.filter { $0.end != nil && $0.outcome != .skipped }.max { ($0.end!, $1.id) < ($1.end!, $0.id) }?.id
  }

  // MARK: Preparation

  /// Returns the marks of a run, sorted by time. The run of a graph awaits its nodes, even though no event reports this.
  private func marks(of id: ProcedureID, _ nodes: [RunRecord]) -> [Mark] {
    guard let run = lives[id]?.run else { return [] }
    func slot(_ number: Int?) -> Slot? { number.map { Slot(queue: ByteText(run.queue), number: $0) } }
    var waits = nodes.compactMap { node in node.end.map { Mark(kind: .awaited(node.id), time: $0) } }
    for wait in run.awaits where lives[wait.run] != nil {
      waits.append(
        Mark(kind: .awaited(wait.run), time: wait.end, slotWait: wait.slotWait, slot: slot(wait.slot)))
    }
    // Marks with the same time are in the order of the events, except that marks for nodes come first.
    let order = waits.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }
    var remaining = order.map(\.element)[...]
    var marks: [Mark] = []
    for (index, execution) in run.executions.enumerated() {
      marks.append(
        Mark(
          kind: .start(index), time: execution.begin, slotWait: execution.slotWait, slot: slot(execution.slot)))
      guard let end = execution.end else { continue }
      while let wait = remaining.first, wait.time <= end {
        if wait.time >= execution.begin { marks.append(wait) }
        remaining.removeFirst()
      }
      marks.append(Mark(kind: .end(index), time: max(end, execution.begin)))
    }
    return run.executions.isEmpty ? [] : marks + remaining
  }

  private mutating func findUses() {
    for (id, life) in lives {
      for (index, mark) in life.marks.enumerated() {
        guard let slot = mark.slot else { continue }
        var end: Duration?
        switch life.marks.dropFirst(index + 1).first.map({ ($0.kind, $0.time) }) {
        case (.awaited(let other), let time)?:
          // A body begins to wait for a nested run when that run begins.
          end = lives[other].map { min(max($0.run.begin, mark.time), time) }
        case (_, let time)?: end = time
        case nil: break
        }
        uses[slot, default: []].append(Use(run: id, mark: index, begin: mark.time, end: end))
      }
    }
    for slot in uses.keys {
      uses[slot]?.sort {
        ($0.begin, $0.end ?? $0.begin, $0.run, $0.mark) < ($1.begin, $1.end ?? $1.begin, $1.run, $1.mark)
      }
      for (position, use) in (uses[slot] ?? []).enumerated() { lives[use.run]?.marks[use.mark].position = position }
    }
  }

  // MARK: The search

  /// Finds the path. This function must be called only once.
  mutating func path() -> [CriticalPath.Step] {
    guard var id = last, var time = lives[id]?.run.end else { return [] }
    // Each iteration passes a mark or the beginning of a run. The limit prevents an endless search if the recording is inconsistent.
    for _ in 0..<4 * lives.values.reduce(lives.count, { $0 + $1.marks.count }) {
      if let (other, moment) = leave(id, at: time) {
        passed.append(id)
        (id, time) = (other, moment)
      } else {
        guard let (other, moment) = resume(before: reached) else { break }
        (id, time) = (other, moment)
      }
    }
    return steps.reversed().filter { $0.duration > .zero }
  }

  /// The time that the search has reached on its way back from the end of the recording.
  private var reached = Duration.zero

  /// Goes back to a run that the path passed earlier. This function is called when the path reaches the beginning of a run whose cause is
  /// unknown.
  private mutating func resume(before time: Duration) -> (ProcedureID, Duration)? {
    while let id = passed.popLast() {
      guard let life = lives[id], life.run.begin < time else { continue }
      // At that time, the body may have been waiting for yet another run.
      if let next = life.firstMark(after: time), case .awaited(let other) = next.kind,
        let run = lives[other]?.run, run.begin < time, run.end ?? time > time, resumed.insert(id).inserted
      {
        passed.append(id)
        return (other, time)
      }
      return (id, time)
    }
    return nil
  }

  /// Follows a run backwards until the path continues with another run. Returns that run and the time at which the path reaches it, or
  /// `nil` if the cause of the run is unknown.
  private mutating func leave(_ id: ProcedureID, at moment: Duration) -> (ProcedureID, Duration)? {
    var time = moment
    while true {
      guard let run = lives[id]?.run else { return nil }
      guard let mark = lives[id]?.marks.popLast() else { return begin(of: id, at: time, nil) }
      if mark.time > time { continue }
      let hasEnded = run.executions.last?.end.map { mark.time >= $0 } ?? false
      switch mark.kind {
      case .awaited(let other):
        add(time - mark.time, to: hasEnded ? \.finishing : \.executing, of: id)
        time = mark.time
        let end = min(lives[other]?.run.end ?? time, time)
        if let release = release(before: mark, after: end) {
          add(time - release.time, to: \.waiting, of: id)
          return (release.run, release.time)
        }
        guard end >= run.begin else { continue }
        add(time - end, to: \.waiting, of: id)
        return (other, end)
      case .end(let index):
        add(time - mark.time, to: index == run.executions.count - 1 ? \.finishing : \.paused, of: id)
        time = mark.time
      case .start(let index):
        add(time - mark.time, to: \.executing, of: id)
        time = mark.time
        guard index > 0 else { return begin(of: id, at: time, mark) }
        let end = min(run.executions[index - 1].end ?? time, time)
        if let release = release(before: mark, after: end) {
          add(time - release.time, to: \.waiting, of: id)
          return (release.run, release.time)
        }
        addWaits(time - end, slotWait: mark.slotWait, of: id, otherwise: \.paused)
        time = end
      }
    }
  }

  /// Follows a run backwards from its first start, or from an earlier point in time, to the run that caused the start. Returns `nil` if the
  /// cause is unknown.
  private mutating func begin(of id: ProcedureID, at time: Duration, _ start: Mark?) -> (ProcedureID, Duration)? {
    reached = time
    guard let run = lives[id]?.run, time < lives[id]?.earliest ?? (time + .nanoseconds(1)) else { return nil }
    lives[id]?.earliest = time
    let dependency = run.dependencies.compactMap { lives[$0]?.run }.filter { $0.end != nil }
      .max { ($0.end!, $1.id) < ($1.end!, $0.id) }
    let ready = min(max(dependency?.end ?? run.begin, run.begin), time)
    if let start, let release = release(before: start, after: ready) {
      add(time - release.time, to: \.waiting, of: id)
      return (release.run, release.time)
    }
    // If the run started, but no wait for its slot was recorded, the whole wait is treated as a wait for the slot.
    let isPending = start.map { $0.slotWait != nil } ?? run.executions.isEmpty
    addWaits(time - ready, slotWait: start?.slotWait, of: id, otherwise: isPending ? \.pending : \.waiting)
    reached = ready
    if let dependency, let end = dependency.end, end > run.begin { return (dependency.id, min(end, time)) }
    return run.parent.flatMap { lives[$0] == nil ? nil : ($0, ready) }
  }

  /// Returns the run that released the slot for which another run was waiting. Returns `nil` if there was no wait, or if the slot was
  /// already free.
  ///
  /// - Parameters:
  ///   - mark: The mark at which the waiting run received the slot.
  ///   - earliest: The earliest time at which the waiting run could have begun to wait.
  /// - Returns: The run that released the slot, and the time at which it did so.
  private func release(before mark: Mark, after earliest: Duration) -> (run: ProcedureID, time: Duration)? {
    guard let slot = mark.slot, let position = mark.position, position > 0, mark.slotWait != .zero,
      let use = uses[slot]?[position - 1]
    else { return nil }
    let time = min(use.end ?? mark.time, mark.time)
    let lineStart = max(mark.slotWait.map { mark.time - $0 } ?? earliest, earliest)
    return time > lineStart ? (use.run, time) : nil
  }

  // MARK: Steps

  private mutating func add(
    _ duration: Duration, to part: WritableKeyPath<ProcedureMetrics, Duration>, of id: ProcedureID
  ) {
    guard duration > .zero, let life = lives[id] else { return }
    var duration = duration
    if part == \.executing {
      var inside = min(life.inside, duration)
      lives[id]?.inside -= inside
      duration -= inside
      for inner in [\ProcedureMetrics.paused, \.claiming, \.evaluating] { take(inner, upTo: &inside, of: id) }
      if inside > .zero { append(ProcedureMetrics(waiting: inside), life.run) }
    }
    guard duration > .zero else { return }
    var times = ProcedureMetrics()
    times[keyPath: part] = duration
    append(times, life.run)
  }

  /// Adds the wait before a start to the run's step, divided into phases. The phases occur in this order: conditions, pause, resources,
  /// slot.
  private mutating func addWaits(
    _ duration: Duration, slotWait: Duration?, of id: ProcedureID,
    otherwise part: WritableKeyPath<ProcedureMetrics, Duration>
  ) {
    guard duration > .zero, let life = lives[id] else { return }
    var duration = duration
    if let slotWait, slotWait > .zero {
      let waited = min(slotWait, duration)
      append(ProcedureMetrics(waiting: waited), life.run)
      duration -= waited
    }
    for inner in [\ProcedureMetrics.claiming, \.paused, \.evaluating] { take(inner, upTo: &duration, of: id) }
    guard duration > .zero else { return }
    var times = ProcedureMetrics()
    times[keyPath: part] = duration
    append(times, life.run)
  }

  /// Adds the time that a run spent in a phase to the run's step, except for time that has already been added to a step. Adds at most
  /// `duration`, and subtracts the added time from it.
  private mutating func take(
    _ part: WritableKeyPath<ProcedureMetrics, Duration>, upTo duration: inout Duration, of id: ProcedureID
  ) {
    guard let life = lives[id] else { return }
    let taken = min(life.rest[keyPath: part], duration)
    guard taken > .zero else { return }
    lives[id]?.rest[keyPath: part] -= taken
    duration -= taken
    var times = ProcedureMetrics()
    times[keyPath: part] = taken
    if part == \.claiming { times.waiting = taken }
    append(times, life.run)
  }

  private mutating func append(_ times: ProcedureMetrics, _ run: RunRecord) {
    if steps.last?.id == run.id {
      steps[steps.count - 1].times += times
    } else {
      steps.append(.init(id: run.id, name: run.name, times: times))
    }
  }
}
