import Synchronization

/// A subscription to an ``EventBroadcaster``.
///
/// A reader takes all buffered events in one batch, and then reads them without blocking senders. Several tasks can read concurrently. Each
/// event is delivered to only one of them. The subscription ends when the last reference to it is released.
final class EventSubscription<Event: BroadcastEvent>: Sendable {
  /// A function that wraps the wait for an event, so that a body can release its slot during the wait.
  typealias WaitSurrounding =
    @concurrent @Sendable (_ wait: @escaping @concurrent @Sendable () async -> Event?) async -> Event?

  /// The capacity up to which an empty buffer is kept for reuse.
  private static var mostKept: Int { 16_384 }

  private let broadcaster: EventBroadcaster<Event>
  private let limit: EventLimit<Event>?
  /// The events that have been fetched but not yet read. They are stored newest first, so that reading removes the last element of the
  /// array and releases nothing under the lock. This lock is always acquired before the broadcaster's lock.
  private let fetched = Mutex<ContiguousArray<Event>>([])

  /// The number under which the broadcaster stores this subscription's buffer.
  private let number: Int

  init(_ number: Int, of broadcaster: EventBroadcaster<Event>, limit: EventLimit<Event>?) {
    self.number = number
    self.broadcaster = broadcaster
    self.limit = limit
  }

  // No task can be waiting for events, because a waiting task would retain the subscription.
  deinit { _ = broadcaster.remove(number) }

  /// Creates a stream of this subscription's events. The stream's closure owns the subscription, which ends when the stream is released, or
  /// when a task that is iterating over the stream is cancelled.
  ///
  /// - Parameter surround: A function that takes a closure, calls it to wait for the next event, and returns that event.
  /// - Returns: The stream.
  func stream(waiting surround: @escaping WaitSurrounding) -> AsyncStream<Event> {
    AsyncStream {
      if let event = self.take() { return event }
      return await surround { await self.next() }
    }
  }

  /// Returns the next event, waiting for it if necessary; `nil` after the last one. Cancelling the caller ends the wait.
  @concurrent func next() async -> Event? {
    while true {
      if let event = take() { return event }
      var wait = EventWait.unnecessary
      await withTaskCancellationHandler {
        await Waiter.suspend { waiter in
          wait = register(waiter)
          return wait == .forEvents
        }
      } onCancel: {
        broadcaster.wakeReaders(of: number)
      }
      if wait == .ended { return nil }
    }
  }

  /// Takes the next event, if one is available.
  func take() -> Event? {
    fetched.withLock { events in
      if events.isEmpty { fetch(&events) }
      return events.popLast()
    }
  }

  /// Stores a waiter, which is resumed when the next event arrives or the events end, unless the task does not have to wait.
  private func register(_ waiter: Waiter) -> EventWait {
    // Another reader may have fetched events since `take()` returned `nil`.
    fetched.withLock { $0.isEmpty ? broadcaster.register(waiter, of: number) : .unnecessary }
  }

  /// Ends the subscription once the events that were sent before this call have been read.
  func end() {
    let (_, readers) = fetched.withLock { events in
      var later: ContiguousArray<Event> = []
      fetch(&later)
      events = later + events
      return broadcaster.remove(number)
    }
    for reader in readers { reader.resume() }
  }

  private func fetch(_ events: inout ContiguousArray<Event>) {
    // The broadcaster reuses the drained buffer, unless the buffer has grown beyond `mostKept`.
    if events.capacity > Self.mostKept { events = [] }
    let (oldest, lost) = broadcaster.fetch(&events, of: number)
    let gap = lost > 0 ? limit?.gap?(lost, events[oldest]) : nil
    events[..<oldest].reverse()
    events[oldest...].reverse()
    if let gap { events.append(gap) }
  }
}
