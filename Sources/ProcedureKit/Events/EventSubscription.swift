import Synchronization

/// Internal. A subscription to an ``EventBroadcaster``.
///
/// A reader takes all buffered events at once, and then reads them without getting in the way of those who send.
final class EventSubscription<Event: BroadcastEvent>: EventReader {
  /// For how many events memory is kept while there are none.
  private static var mostKept: Int { 16_384 }

  private let broadcaster: EventBroadcaster<Event>
  private let limit: EventLimit<Event>?
  /// The events that were fetched and not read yet, from the newest to the oldest, so that reading moves the last one out
  /// of the array and nothing is released under the lock. This lock is taken before that of the broadcaster.
  private let fetched = Mutex<ContiguousArray<Event>>([])

  /// Under this number the broadcaster keeps the buffer of the subscription.
  private let number: Int

  init(_ number: Int, of broadcaster: EventBroadcaster<Event>, limit: EventLimit<Event>?) {
    self.number = number
    self.broadcaster = broadcaster
    self.limit = limit
  }

  deinit { _ = broadcaster.remove(number) }

  func take() -> Event? {
    fetched.withLock { events in
      if events.isEmpty { fetch(&events) }
      return events.popLast()
    }
  }

  func register(_ waiter: Waiter) -> EventWait {
    // Another reader may have fetched meanwhile what it does not read.
    fetched.withLock { $0.isEmpty ? broadcaster.register(waiter, of: number) : .notAtAll }
  }

  func wake() {
    broadcaster.wakeReaders(of: number)
  }

  private func fetch(_ events: inout ContiguousArray<Event>) {
    // The memory of the events that were read goes to those who send, unless it is that of a burst.
    if events.capacity > Self.mostKept { events = [] }
    let (oldest, lost) = broadcaster.fetch(&events, of: number)
    guard lost > 0, let limit else { return events.reverse() }
    let gap = limit.gap(lost, events[oldest])
    events[..<oldest].reverse()
    events[oldest...].reverse()
    events.append(gap)
  }
}
