import Synchronization

/// Internal. All timers of a queue: one heap, and one task that sleeps until the nearest deadline while any is pending.
///
/// Setting and cancelling a timer are O(log n) under a lock. What is due is called outside of it, by the sleeping task, one
/// after another in the order of deadlines; it should be short. A nearer timer has the sleep replaced. So has one that is
/// cancelled, to the end that a test which owns the clock finds nobody asleep for nothing; on the system's clock, where
/// nobody can look, the sleep goes on instead, as work with timeouts would otherwise start and cancel a task each time.
final class Timers: Sendable {
  typealias Action = @Sendable () -> Void

  /// Those of everything that is on no queue.
  static let shared = Timers(time: QueueTime(ContinuousClock()), executor: nil)

  private let time: QueueTime
  private let table: TimerTable

  init(time: QueueTime, executor: (any TaskExecutor)?) {
    self.time = time
    table = TimerTable(time: time, executor: executor)
  }

  deinit {
    table.close()
  }

  /// The present time.
  var now: ProcedureInstant { time.now }

  /// How a task that does one piece of work after another is fair to others.
  var fairness: Fairness { Fairness(time) }

  /// The number of timers that are pending.
  var count: Int { table.count }

  /// Has `action` called once `duration` has passed, at once if it is not positive.
  func schedule(after duration: Duration, _ action: @escaping Action) -> TimerHeap.ID {
    schedule(at: time.now.advanced(by: duration.saturated.roundedUpToNanoseconds), action)
  }

  /// Has `action` called at that instant, at once if it has passed.
  func schedule(at deadline: ProcedureInstant, _ action: @escaping Action) -> TimerHeap.ID {
    table.insert(deadline, action)
  }

  /// Says whether it came in time: then the action is never called; otherwise it has been, or is about to be.
  @discardableResult
  func cancel(_ id: TimerHeap.ID) -> Bool {
    table.remove(id)
  }

  /// Waits until `duration` has passed, in the current task. Cancelling that ends the wait at once.
  ///
  /// - Throws: `CancellationError`.
  func pause(for duration: Duration) async throws {
    try Task.checkCancellation()
    guard duration > .zero else { return }
    let place = Place()
    let id = schedule(after: duration) { place.call() }
    guard await place.wait() else {
      cancel(id)
      throw CancellationError()
    }
  }
}
