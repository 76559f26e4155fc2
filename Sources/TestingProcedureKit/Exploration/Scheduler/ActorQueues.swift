/// The jobs that are waiting for the actors of a schedule.
///
/// At most one job of an actor runs at a time. A job that is parked before it ends keeps its actor busy. Whenever an actor is not busy,
/// each job that the actor could run next is a ready job of the schedule. The way in which the jobs arrived determines which of them could
/// run next:
///
/// - A task that calls the actor and suspends may be delayed arbitrarily before its call arrives, so such calls run in any order.
/// - If another task added the job by starting or resuming the job's task, the job has arrived by the time the other task continues. The
///   job therefore runs before jobs that arrive later, unless they have a higher priority.
struct ActorQueues {
  /// A job that is waiting for an actor.
  private struct Visit {
    var entry: ScheduleState.Ready
    var task: Int
    /// Whether the job arrived because its own task called the actor.
    var isCall: Bool
    var priority: UInt8
    /// Whether the job is among the ready jobs of the schedule.
    var isReady = false
  }

  private var visits: [Isolation: [Visit]] = [:]
  /// The actors whose jobs are running or parked, in the order in which these jobs began.
  private(set) var busy: [Isolation] = []

  /// The default actors whose jobs are running or parked.
  var busyDefaultActors: [DefaultActor] {
    busy.compactMap { if case .actor(let actor) = $0 { actor } else { nil } }
  }

  /// Adds a job to the queue of an actor.
  mutating func add(_ entry: ScheduleState.Ready, ofTask task: Int, isCall: Bool, priority: UInt8, to actor: Isolation)
  {
    visits[actor, default: []].append(Visit(entry: entry, task: task, isCall: isCall, priority: priority))
  }

  /// Returns the jobs that the actor could run next and that the schedule does not yet treat as ready.
  mutating func makeReady(on actor: Isolation) -> [(entry: ScheduleState.Ready, task: Int)] {
    guard !busy.contains(actor), var queue = visits[actor] else { return [] }
    var jobs: [(entry: ScheduleState.Ready, task: Int)] = []
    /// The highest priority among the examined jobs that are not calls; `nil` if there are none. A later job can overtake them only if it
    /// has a higher priority, or if its position in the order has no effect (`isYield`).
    var precedence: UInt8?
    for index in queue.indices {
      let visit = queue[index]
      let isPreceded = precedence.map { $0 >= visit.priority } ?? false
      if !visit.isCall { precedence = max(precedence ?? 0, visit.priority) }
      guard !isPreceded || visit.entry.isYield, !visit.isReady else { continue }
      queue[index].isReady = true
      jobs.append((visit.entry, visit.task))
    }
    visits[actor] = queue
    return jobs
  }

  /// Records that a job of the actor is starting. The other jobs of the actor are not ready until the job ends.
  mutating func didStart(_ number: Int, on actor: Isolation) {
    busy.append(actor)
    visits[actor]?.removeAll { $0.entry.number == number }
    if visits[actor]?.isEmpty == true { visits[actor] = nil }
    for index in (visits[actor] ?? []).indices { visits[actor]?[index].isReady = false }
  }

  /// Records that a job of the actor has ended.
  mutating func didEnd(on actor: Isolation) {
    busy.removeAll { $0 == actor }
  }
}
