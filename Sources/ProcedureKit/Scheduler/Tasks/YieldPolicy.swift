/// A policy that decides when a task that executes many bodies in a row yields its thread.
///
/// A worker whose bodies never suspend would never give up its thread. Therefore, it yields after ten milliseconds, which is about as long
/// as an operating system's time slice. It reads the clock after 1, 2, 4, … bodies, so it rarely reads the clock between short bodies.
/// Yielding is expensive, because it wakes a thread.
///
/// With a custom clock, which may stand still, the worker also yields after a maximum number of bodies.
struct YieldPolicy {
  private static let maximumItemsBetweenReadings = 128
  private static let maximumItemsWithoutClock = 1_024
  private static let longestTimeBetweenYields = Duration.milliseconds(10)

  /// The clock; `nil` if there is no queue, in which case only the number of bodies is limited.
  private let time: QueueClock?
  private let maximumItems: Int
  private let countsItems: Bool
  private var lastYield: ProcedureInstant?
  private var itemsBetweenReadings = 1
  private var itemsLeft = 1

  init(_ time: QueueClock?) {
    self.time = time
    lastYield = time?.now
    maximumItems = time == nil ? Self.maximumItemsWithoutClock : Self.maximumItemsBetweenReadings
    countsItems = !(time?.isSystem ?? false)
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
    let tookLong =
      now.flatMap { now in lastYield.map { $0.duration(to: now) } } ?? .zero >= Self.longestTimeBetweenYields
    let yields = tookLong || (countsItems && itemsBetweenReadings == maximumItems)
    if yields { lastYield = now }
    itemsBetweenReadings = tookLong ? 1 : min(itemsBetweenReadings * 2, maximumItems)
    itemsLeft = itemsBetweenReadings
    return yields
  }
}
