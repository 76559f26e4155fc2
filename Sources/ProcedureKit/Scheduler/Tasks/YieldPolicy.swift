import Synchronization

/// A policy that decides when a task that executes many bodies in a row yields its thread.
///
/// Without this policy, a worker whose bodies never suspend would keep its thread. A worker therefore yields after ten milliseconds, which
/// is about as long as an operating system's time slice. It reads the clock after 1, 2, 4, … bodies, so it rarely reads the clock between
/// short bodies. Yielding is expensive, because it wakes a thread.
///
/// With a custom clock, which may stand still, the worker also yields after a certain number of bodies. In an exploration, it reads no
/// clock, because the order of the tasks would otherwise depend on the speed of the machine.
struct YieldPolicy {
  private static let maximumItemsBetweenReadings = 128
  private static let longestTimeBetweenYields = Duration.milliseconds(10)

  /// The clock; `nil` in an exploration.
  private let time: QueueClock?
  private var lastYield: ProcedureInstant?
  private var itemsBetweenReadings = 1
  private var itemsLeft = 1

  init(_ time: QueueClock) {
    self.time = ReproducibleTasks.includeCurrent ? nil : time
    lastYield = self.time?.now
  }

  /// Counts a body and returns whether the task has to yield. The task calls this function when it holds nothing that other tasks are
  /// waiting for.
  mutating func shouldYield() -> Bool {
    itemsLeft -= 1
    return itemsLeft == 0 && readClock()
  }

  /// Reads the clock and decides after how many bodies to read it again. Returns whether the task has to yield.
  private mutating func readClock() -> Bool {
    let now = time?.now
    var tookLong = false
    if let now, let lastYield { tookLong = lastYield.duration(to: now) >= Self.longestTimeBetweenYields }
    let yields = tookLong || time?.isSystem != true && itemsBetweenReadings == Self.maximumItemsBetweenReadings
    if yields { lastYield = now }
    itemsBetweenReadings = tookLong ? 1 : min(itemsBetweenReadings * 2, Self.maximumItemsBetweenReadings)
    itemsLeft = itemsBetweenReadings
    return yields
  }
}

/// The tasks whose order must be reproducible, and therefore must not depend on real time. `TestingProcedureKit` determines which tasks
/// these are.
///
/// The lock and the atomic value come from `Synchronization` even in an exploration. Otherwise, each use of them would be a step of the
/// exploration.
package enum ReproducibleTasks {
  /// An object that contains the closure. Without the object, each access through a generic lock would wrap the closure once more.
  private final class Test: Sendable {
    let isReproducible: @Sendable () -> Bool

    init(_ isReproducible: @escaping @Sendable () -> Bool) { self.isReproducible = isReproducible }
  }

  private static let isSet = Synchronization.Atomic<Bool>(false)
  private static let test = Synchronization.Mutex<Test?>(nil)

  /// Sets the function that returns whether the calling task is a reproducible task.
  package static func recognize(with isReproducible: @escaping @Sendable () -> Bool) {
    let new = Test(isReproducible)
    test.withLock { $0 = new }
    isSet.store(true, ordering: .releasing)
  }

  static var includeCurrent: Bool {
    guard isSet.load(ordering: .acquiring), let test = test.withLock({ $0 }) else { return false }
    return test.isReproducible()
  }
}
