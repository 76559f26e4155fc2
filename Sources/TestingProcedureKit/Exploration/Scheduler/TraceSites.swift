import ProcedureKit
import Synchronization

/// The code in which each task of a traced schedule continues when it is next chosen, as a chain of addresses; see `ResumePoint`.
struct TraceSites {
  /// The call stack of the code that created each task, for tasks that have not run yet.
  private var creations: [Int: [UInt]] = [:]
  /// The call stack of each parked worker at the point where it was parked.
  private var parked: [ObjectIdentifier: [UInt]] = [:]

  /// Records the call stack of the code that creates a task.
  mutating func willCreate(_ task: Int, _ calls: [UInt]) { creations[task] = calls }

  /// Records the call stack of a worker at a point where it could be parked.
  mutating func didReach(_ calls: [UInt], _ worker: WorkerThread?) {
    if let worker { parked[ObjectIdentifier(worker)] = calls }
  }

  /// Returns the code in which a step continues and, if this is the task's first step, the call stack of the code that created the task.
  mutating func takeSites(of work: ScheduleState.Ready.Work, _ task: Int) -> (chain: [UInt], creation: [UInt]) {
    switch work {
    case .parked(let worker): return (parked[ObjectIdentifier(worker)] ?? [], [])
    case .job(let job):
      let isTask = ResumePoint.isKnown && JobKind.isTask(job.job, ofTask: JobIdentities.taskID(of: job.job))
      return isTask ? (ResumePoint.addresses(of: job.job), creations.removeValue(forKey: task) ?? []) : ([], [])
    }
  }
}

/// The feeds that add the events of a schedule's procedures to its trace.
///
/// No task reads these feeds, so they do not affect the order of the tasks.
enum ProcedureFeeds {
  /// Whether the queues of traced schedules are being observed. The first access to this property starts the observation.
  static let areInstalled: Bool = {
    // In the library's own exploration of its locks, a feed would add operations to the schedule.
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
  /// Adds to the trace the procedure events that have occurred since the previous call.
  func noteProcedures() {
    guard isTracing else { return }
    for feed in feeds.withLock({ $0 }) {
      while let event = feed.take() {
        state.withLock { $0.didReceive(event) }
      }
    }
  }
}
