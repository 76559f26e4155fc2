import Synchronization
import TestSupport
import Testing

@testable import TestingProcedureKit

/// Tests which task a job belongs to.
@Suite(.timeLimit(.minutes(10))) struct TaskNumberTests {
  @Test("A job without a task belongs to the task that enqueues it; a job from outside gets its own number")
  func identities() {
    var identities = JobIdentities()
    let first = identities.number(ofTask: 70, enqueuedBy: nil)
    let others = [
      identities.number(ofTask: 71, enqueuedBy: first), identities.number(ofTask: 70, enqueuedBy: 1),
      identities.number(ofTask: nil, enqueuedBy: 1), identities.number(ofTask: nil, enqueuedBy: nil),
    ]
    #expect(others == [1, first, 1, 2])
    #expect(identities.knows(71) && !identities.knows(72))
  }

  /// Calls an actor whose tasks belong to the exploration from a thread of another pool.
  @Test("A job that another thread enqueues during a step does not belong to the running task")
  func outside() async throws {
    var explorer = ScheduleExplorer(schedules: 1, strategy: .roundRobin)
    explorer.allowsUncontrolledJobs = false
    let failure = try await requireError(ExplorationFailure.self) {
      try await explorer.explore { env in
        let pool = ThreadPool()
        defer { pool.shutDown() }
        let hasArrived = Platform.Signal()
        // Both tasks end on their own and are never cancelled.
        Task(executorPreference: pool) {
          Task(executorPreference: env.executor) { env.note("from outside") }
          hasArrived.signal()
        }
        Self.block(until: hasArrived)
        env.note("after the wait")
      }
    }
    let trace = failure.trace ?? ScheduleTrace()
    #expect(trace.stretches.allSatisfy { !$0.events.contains { $0.hasPrefix("starts") } }, "\(failure)")
    #expect(failure.problems.contains { if case .uncontrolled(let job) = $0 { job.task == nil } else { false } })
    #expect(Set(failure.order) == [0, 1], "\(failure)")
  }

  private static func block(until signal: Platform.Signal) { signal.wait() }

  @Test("During a step, a job without a task from another thread gets its own number")
  func state() throws {
    let probe = JobKind.Probe()
    KitSpawner.startProbe(on: probe)
    let job = try #require(probe.next())
    let (here, there) = (Platform.Thread.current, Locked<Platform.Thread?>(nil))
    let done = Platform.Signal()
    Platform.startThread {
      there { $0 = Platform.Thread.current }
      done.signal()
    }
    done.wait()
    var state = ScheduleState(
      chooser: FirstChooser(), preemptionLimit: 0, timersOvertakeWork: false, isTracing: true)
    let pool = ThreadPool()
    defer { pool.shutDown() }
    state.didTakeRunToken(pool.driver, on: here)
    let isOwn = state.didEnqueue(ReadyJob(job: job), ofTask: 7, on: here)
    #expect(isOwn)
    guard case .job = state.next(for: pool.driver, on: here) else {
      Issue.record("no job")
      return
    }
    #expect(state.running == 0)
    let outside = try #require(there.value)
    let isControlled = state.didEnqueue(ReadyJob(job: job), ofTask: nil, on: outside)
    #expect(!isControlled)
    guard case .job = state.didEnd(nil, on: pool.driver, here) else {
      Issue.record("no job")
      return
    }
    #expect(state.running == 1, "the job from outside does not belong to the running task")
    #expect(state.uncontrolled.count == 1)
    #expect(state.trace?.wakes.isEmpty == true)
    probe.run(job)
    while let rest = probe.next() { probe.run(rest) }
  }
}
