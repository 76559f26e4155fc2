import ProcedureKit
import Synchronization

/// The code in which the tasks of a traced schedule continue when they are chosen next, as chains of addresses; see `ResumePoint`.
struct TraceSites {
  /// The calls that have created the tasks that have not run yet.
  private var creations: [Int: [UInt]] = [:]
  /// The calls in the middle of which workers are parked.
  private var parked: [ObjectIdentifier: [UInt]] = [:]

  /// Records the calls that create a task.
  mutating func willCreate(_ task: Int, _ calls: [UInt]) { creations[task] = calls }

  /// Records the calls in the middle of which a worker could be parked.
  mutating func didReach(_ calls: [UInt], _ worker: WorkerThread?) {
    if let worker { parked[ObjectIdentifier(worker)] = calls }
  }

  /// Returns the code in which a step continues, and the calls that have created its task, if this is its first step.
  mutating func takeSites(of work: ScheduleState.Ready.Work, _ task: Int) -> (chain: [UInt], creation: [UInt]) {
    switch work {
    case .parked(let worker): return (parked[ObjectIdentifier(worker)] ?? [], [])
    case .job(let job):
      let isTask = ResumePoint.isKnown && JobKind.isTask(job.job, ofTask: JobIdentities.taskID(of: job.job))
      return isTask ? (ResumePoint.addresses(of: job.job), creations.removeValue(forKey: task) ?? []) : ([], [])
    }
  }
}

/// The events of the procedures of a schedule, which are added to its trace.
///
/// A feed that no task is reading does not affect the order of the tasks.
enum ProcedureFeeds {
  /// Starts to observe the queues that are created in schedules whose traces are recorded. Accessing the property again has no effect.
  static let areInstalled: Bool = {
    // In the framework's own exploration of its locks, a feed would add operations to the schedule.
    #if ExploredLocks
      return false
    #else
      ProcedureQueue.observeQueues { feed in
        guard let executor = ScheduleExecutor.current, executor.isTracing else { return }
        executor.feeds.withLock { $0.append(feed) }
      }
      return true
    #endif
  }()
}

extension ScheduleExecutor {
  /// Adds the events of procedures since the previous call to the trace.
  func noteProcedures() {
    guard isTracing else { return }
    for feed in feeds.withLock({ $0 }) {
      while let event = feed.take() {
        state.withLock { $0.didReceive(event) }
      }
    }
  }
}
