import ProcedureKit

/// A value type that converts the events of one or more queues to the lines of a trace. It stores only unfinished runs.
struct TraceDrawing {
  private struct Queue {
    /// The time in the recording that corresponds to zero on the queue's clock.
    let offset: Int64
    var lanes = TraceLanes()
    var runs: Set<ProcedureID> = []
  }

  private struct DrawnRun {
    let queue: Int
    let name: String
    let dependencies: [ProcedureID]
    /// The number of unfinished runs that depend on this run.
    var dependentCount = 0
    var waitName: String?
    var lane: TraceLanes.Lane?
    /// The end of the latest execution.
    var end: TraceLines.Place?
    var hasEnded = false
  }

  var lines = TraceLines()
  private var queues: [Int: Queue] = [:]
  private var runs: [ProcedureID: DrawnRun] = [:]
  private var arrowCount = 0
  private var latestTime: Int64 = 0

  /// The number of runs that are stored.
  var runCount: Int { runs.count }

  private static let nameLimit = 200
  private static let errorLimit = 1_000

  // MARK: Queues

  /// Adds a queue.
  ///
  /// - Parameters:
  ///   - number: The number that identifies the queue, starting at 1.
  ///   - name: The name of the queue.
  ///   - offset: The time in the recording, in nanoseconds, that corresponds to zero on the queue's clock.
  mutating func add(queue number: Int, name: String, offset: Int64) {
    queues[number] = Queue(offset: offset)
    let place = TraceLines.Place(queue: number, lane: 0, time: max(offset, 0))
    lines.name("process_name", name.shortened(to: Self.nameLimit), at: place)
  }

  /// Ends all open slices of a queue and removes the queue.
  mutating func remove(queue number: Int) {
    finishRuns(of: number, at: latestTime)
    queues[number] = nil
  }

  private mutating func finishRuns(of queue: Int, at time: Int64) {
    for id in queues[queue]?.runs ?? [] { finish(id, at: time) }
  }

  private func time(of instant: ProcedureInstant, on queue: Int) -> Int64 {
    (queues[queue]?.offset ?? 0) + instant.sinceStart.inNanoseconds
  }

  // MARK: Events

  /// Returns a description of the error or reason that an event contains. The function calls the user's code (`description`), so it must
  /// not be called while a lock is held.
  static func problem(in event: ProcedureEvent) -> String? {
    guard [.retrying, .didCancel, .didFinish].contains(event.kind) else { return nil }
    return (event.error ?? event.reason).map { "\($0)".shortened(to: errorLimit) }
  }

  /// Draws an event.
  ///
  /// - Parameters:
  ///   - event: The event.
  ///   - queue: The number that identifies the queue.
  ///   - problem: The result of ``problem(in:)`` for the event.
  mutating func draw(_ event: ProcedureEvent, of queue: Int, problem: String?) {
    let time = time(of: event.instant, on: queue)
    latestTime = max(latestTime, time)
    switch event.step {
    case .didAttach: attach(event, queue, time)
    case .willExecute: begin(event, queue, time)
    case .didExecute: end(event.id, at: time)
    case .retrying(let attempt, _, _):
      note("attempt \(attempt) failed", event, problem, queue, time)
      wait("pause", of: event.id, at: time)
    case .didCancel: note("cancelled", event, problem, queue, time)
    case .reused(let name): note("reused: \(name)", event, problem, queue, time)
    case .didFinish(let outcome):
      if outcome.value == nil { note(Self.word(for: event), event, problem, queue, time) }
      finish(event.id, at: time)
    case .gap(let lostCount):
      finishRuns(of: queue, at: time)
      lines.instant("\(lostCount.counting("event")) lost", at: .init(queue: queue, lane: 0, time: time))
    default: break
    }
  }

  private static func word(for event: ProcedureEvent) -> String {
    switch event.outcome {
    case .failed: "failed"
    case .ignored: "ignored"
    default: "ended by cancellation"
    }
  }

  private mutating func attach(_ event: ProcedureEvent, _ queue: Int, _ time: Int64) {
    let dependencies = event.dependencies.filter { runs[$0] != nil }
    for dependency in dependencies { runs[dependency]?.dependentCount += 1 }
    runs[event.id] = DrawnRun(
      queue: queue, name: event.name.shortened(to: Self.nameLimit), dependencies: dependencies)
    queues[queue]?.runs.insert(event.id)
    wait("waits", of: event.id, at: time)
  }

  private mutating func wait(_ what: String, of id: ProcedureID, at time: Int64) {
    guard let run = runs[id], run.waitName == nil else { return }
    let name = "\(run.name) \(what)"
    runs[id]?.waitName = name
    lines.wait(name, of: id.description, begins: true, at: .init(queue: run.queue, lane: 0, time: time))
  }

  private mutating func endWait(of id: ProcedureID, at time: Int64) {
    guard let run = runs[id], let name = run.waitName else { return }
    runs[id]?.waitName = nil
    lines.wait(name, of: id.description, begins: false, at: .init(queue: run.queue, lane: 0, time: time))
  }

  private mutating func begin(_ event: ProcedureEvent, _ queue: Int, _ time: Int64) {
    guard let run = runs[event.id], run.lane == nil else { return }
    endWait(of: event.id, at: time)
    let lane = queues[queue]!.lanes.take(slot: event.slot)
    runs[event.id]?.lane = lane
    let place = place(lane, queue, time)
    var details: [(StaticString, TraceLines.Value)] = [
      ("id", .text(event.id.description)), ("attempt", .number(event.attempt)),
    ]
    if let parent = event.parent { details.append(("parent", .text(parent.description))) }
    lines.begin(event.attempt > 1 ? "\(run.name) (\(event.attempt))" : run.name, at: place, details)
    guard event.attempt <= 1 else { return }
    for end in run.dependencies.compactMap({ runs[$0]?.end }) {
      arrowCount += 1
      lines.arrow(number: arrowCount, from: end, to: place)
    }
  }

  private mutating func end(_ id: ProcedureID, at time: Int64) {
    guard let run = runs[id], let lane = run.lane else { return }
    queues[run.queue]?.lanes.giveBack(lane)
    let place = place(lane, run.queue, time)
    runs[id]?.lane = nil
    runs[id]?.end = place
    lines.end(at: place)
  }

  private mutating func finish(_ id: ProcedureID, at time: Int64) {
    guard let run = runs[id] else { return }
    endWait(of: id, at: time)
    end(id, at: time)
    queues[run.queue]?.runs.remove(id)
    runs[id]?.hasEnded = true
    if run.dependentCount == 0 { runs[id] = nil }
    for dependency in run.dependencies {
      runs[dependency]?.dependentCount -= 1
      if let other = runs[dependency], other.hasEnded, other.dependentCount == 0 { runs[dependency] = nil }
    }
  }

  /// Draws an instant event in the lane in which the run is executing or last executed.
  private mutating func note(
    _ text: String, _ event: ProcedureEvent, _ problem: String?, _ queue: Int, _ time: Int64
  ) {
    let run = runs[event.id]
    let lane = run?.lane.map { place($0, queue, time).lane } ?? run?.end?.lane ?? 0
    var details: [(StaticString, TraceLines.Value)] = [("id", .text(event.id.description))]
    if let problem { details.append(("error", .text(problem))) }
    let name = event.name.shortened(to: Self.nameLimit)
    lines.instant(
      "\(name): \(text)".shortened(to: 2 * Self.nameLimit), at: .init(queue: queue, lane: lane, time: time), details)
  }

  private mutating func place(_ lane: TraceLanes.Lane, _ queue: Int, _ time: Int64) -> TraceLines.Place {
    let (number, isNew) = queues[queue]!.lanes.number(of: lane)
    let place = TraceLines.Place(queue: queue, lane: number, time: time)
    if isNew {
      lines.name("thread_name", lane.name, at: place)
      lines.sort((lane.slot + 1) * 1_000 + lane.depth, at: place)
    }
    return place
  }
}

extension Duration {
  /// The duration in nanoseconds, clamped to the range of `Int64`.
  var inNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    return overflows ? (seconds < 0 ? .min : .max) : product &+ attoseconds / 1_000_000_000
  }
}
