import ProcedureKit
import Synchronization

/// The code in which each task of a traced schedule continues when it is next chosen, as a chain of addresses; see `ResumePoint`.
struct TraceSites {
  /// For each task that has not run yet, the calls that created it.
  private var creations: [Int: [UInt]] = [:]
  /// For each parked worker, the calls during which it was parked.
  private var parked: [ObjectIdentifier: [UInt]] = [:]

  /// Records the calls that create a task.
  mutating func willCreate(_ task: Int, _ calls: [UInt]) { creations[task] = calls }

  /// Records the calls during which a worker could be parked.
  mutating func didReach(_ calls: [UInt], _ worker: WorkerThread?) {
    if let worker { parked[ObjectIdentifier(worker)] = calls }
  }

  /// Returns the code in which a step continues, and the calls that created its task, if this is the task's first step.
  mutating func takeSites(of work: ScheduleState.Ready.Work, _ task: Int) -> (chain: [UInt], creation: [UInt]) {
    switch work {
    case .parked(let worker): return (parked[ObjectIdentifier(worker)] ?? [], [])
    case .job(let job):
      let isTask = ResumePoint.isKnown && JobKind.isTask(job.job, ofTask: JobIdentities.taskID(of: job.job))
      return isTask ? (ResumePoint.addresses(of: job.job), creations.removeValue(forKey: task) ?? []) : ([], [])
    }
  }
}

/// The feeds through which the events of a schedule's procedures are added to the schedule's trace.
///
/// A feed that no task is reading does not affect the order of the tasks.
enum ProcedureFeeds {
  /// Whether the queues of traced schedules are being observed. The first access to this property starts the observation.
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
  /// Adds the procedure events that have occurred since the previous call to the trace.
  func noteProcedures() {
    guard isTracing else { return }
    for feed in feeds.withLock({ $0 }) {
      while let event = feed.take() {
        state.withLock { $0.didReceive(event) }
      }
    }
  }
}
