/// Internal. Decides when a task that executes many bodies in a row lets other tasks have the thread.
///
/// A body that never suspends does not give up the thread, and a worker goes straight on with the next body. So a worker yields after ten
/// milliseconds, about the time for which operating systems leave a processor to a thread. The worker looks at the clock after one, two,
/// four … bodies, the more seldom the shorter they are. A yield is dear, since it wakes another thread. Bodies are counted only on a
/// clock that may stand still.
struct YieldPolicy {
  private static let maximumItemsBetweenReadings = 128
  private static let maximumItemsWithoutClock = 1_024
  private static let longestTimeBetweenYields = Duration.milliseconds(10)

  /// `nil` without a queue; bodies are only counted then.
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

  /// A body is about to end. Says whether to `Task.yield()`, at a moment at which nothing is held that others could wait for.
  mutating func shouldYield() -> Bool {
    itemsLeft -= 1
    return itemsLeft == 0 && readClock()
  }

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
