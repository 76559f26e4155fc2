import Dispatch
import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

@Suite(.timeLimit(.minutes(10))) struct TimersTests {
  /// Timers on their own clock, with a record of their calls.
  private struct Bench {
    let clock = VirtualClock()
    let timers: Timers
    let calls = Box<[String]>([])

    init() { timers = Timers(time: QueueClock(clock), executor: nil) }

    @discardableResult
    func set(_ name: String, after duration: Duration) -> TimerHeap.ID {
      timers.schedule(after: duration) { [calls] in calls.update { $0.append(name) } }
    }

    /// Waits until exactly one task is sleeping, until the given offset, then moves the clock to the offset and waits for the call.
    func pass(to offset: Duration, calls count: Int) async throws {
      #expect(try await clock.nextSleep().offset == offset)
      #expect(clock.sleeperCount == 1)
      let called = Signal()
      _ = timers.schedule(after: offset - clock.now.offset) { called.set() }
      clock.advance(to: .init(offset: offset))
      await called.wait()
      #expect(calls.value.count == count)
    }
  }

  /// An executor that counts its jobs, and passes them on.
  private final class JobCounter: TaskExecutor {
    private let jobs = Atomic(0)
    /// Is set at the end of a job, when the job's task has ended or is suspended.
    let jobEnded = Signal()

    var count: Int { jobs.load(ordering: .relaxed) }

    func enqueue(_ job: consuming ExecutorJob) {
      jobs.add(1, ordering: .relaxed)
      let job = UnownedJob(job)
      DispatchQueue.global().async { [self] in
        job.runSynchronously(on: asUnownedTaskExecutor())
        jobEnded.set()
      }
    }
  }

  @Test("Timers are called at their deadlines, in order, and one task sleeps for all of them")
  func order() async throws {
    let bench = Bench()
    for (name, second) in [("c", 3), ("a", 1), ("d", 3), ("b", 2)] { bench.set(name, after: .seconds(second)) }
    try await bench.pass(to: .seconds(1), calls: 1)
    try await bench.pass(to: .seconds(2), calls: 2)
    try await bench.pass(to: .seconds(3), calls: 4)
    #expect(bench.calls.value == ["a", "b", "c", "d"])
    #expect(bench.timers.count == 0)
  }

  @Test("A timer that is already due is called, and durations saturate")
  func extremes() async {
    let bench = Bench()
    for duration in [Duration.zero, .seconds(-1), Duration(attoseconds: .min)] {
      let called = Signal()
      _ = bench.timers.schedule(after: duration) { called.set() }
      await called.wait()
    }
    let never = bench.set("never", after: Duration(attoseconds: .max))
    #expect(bench.timers.cancel(never))
  }

  @Test("The longest durations last forever, whenever the timer is set")
  func forEver() async throws {
    for offset in [Duration.zero, .nanoseconds(1), .milliseconds(100), .seconds(1), .seconds(1_000_000)] {
      let bench = Bench()
      bench.clock.advance(by: offset)
      for duration in [Duration(attoseconds: .max), .longest, .longest - .nanoseconds(1)] {
        let never = bench.set("never", after: duration)
        #expect(try await bench.clock.nextSleep().offset >= .longest - .nanoseconds(1))
        #expect(bench.timers.cancel(never))
      }
      #expect(ProcedureInstant(sinceStart: offset).advanced(by: .longest).sinceStart == .longest)
      #expect(
        ProcedureInstant(sinceStart: .zero - offset).advanced(by: .zero - .longest * 2) < .init(sinceStart: .zero))
    }
  }

  @Test("A fraction of a nanosecond is rounded up: no timer is early")
  func rounding() async throws {
    let bench = Bench()
    bench.set("a", after: Duration(attoseconds: 1))
    #expect(try await bench.clock.nextSleep().offset == .nanoseconds(1))
  }

  @Test("A timer can be set by the function that another timer calls")
  func nested() async throws {
    let bench = Bench()
    let called = Signal()
    _ = bench.timers.schedule(after: .seconds(1)) { [timers = bench.timers] in
      _ = timers.schedule(after: .seconds(1)) { called.set() }
    }
    for second in 1...2 {
      #expect(try await bench.clock.nextSleep().offset == .seconds(second))
      bench.clock.advance(by: .seconds(1))
    }
    await called.wait()
  }

  @Test("Closed timers release what they held, and no task sleeps for them")
  func dropped() async throws {
    final class Held: Sendable {}
    let clock = VirtualClock()
    let timers = Timers(time: QueueClock(clock), executor: nil)
    var held: Held? = Held()
    weak let observer = held
    if let kept = held { _ = timers.schedule(after: .seconds(1)) { _ = kept } }
    held = nil
    try await clock.nextSleep()
    #expect(observer != nil)
    timers.close()
    #expect(observer == nil && clock.sleeperCount == 0)
  }

  @Test("On the system's clock, setting and cancelling a timer repeatedly does not start a task each time")
  func lingering() async {
    let executor = JobCounter()
    let timers = Timers(time: QueueClock(ContinuousClock()), executor: executor)
    let first = timers.schedule(after: .seconds(3_600)) {}
    // The task ends if it finds no timer before it sleeps for the first time.
    await executor.jobEnded.wait()
    #expect(timers.cancel(first))
    for _ in 0..<10_000 {
      let id = timers.schedule(after: .seconds(3_600)) {}
      #expect(timers.cancel(id))
    }
    #expect(executor.count == 1)
  }

  @Test("On the system's clock, an earlier timer does not wait for the current sleep")
  func nearer() async {
    let timers = Timers(time: QueueClock(ContinuousClock()), executor: nil)
    let far = timers.schedule(after: .seconds(3_600)) {}
    let called = Signal()
    _ = timers.schedule(after: .nanoseconds(1)) { called.set() }
    await called.wait()
    #expect(timers.cancel(far))
  }

  @Test("If a clock's sleep throws, pending timers are called immediately, and nothing hangs")
  func brokenClock() async throws {
    struct BrokenClock: Clock {
      var now: ContinuousClock.Instant { ContinuousClock.now }
      var minimumResolution: Duration { .zero }
      func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws { throw TestError() }
    }
    let timers = Timers(time: QueueClock(BrokenClock()), executor: nil)
    let called = Signal()
    _ = timers.schedule(after: .seconds(3_600)) { called.set() }
    await called.wait()
    try await timers.pause(for: .seconds(3_600))
  }
}
