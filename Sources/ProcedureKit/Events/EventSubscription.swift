import Synchronization

/// Internal. The reader's side of a subscription, which ends with the last reference to this.
///
/// Reading suspends only where nothing is buffered. Readers take all that has come at once, and then read that without getting
/// in the way of those who report.
final class EventSubscription<Event: BufferedEvent>: Sendable {
  /// What is done around a wait for an event.
  typealias WaitSurrounding =
    @concurrent @Sendable (_ wait: @concurrent @Sendable () async -> Event.Part?) async -> Event.Part?

  /// What readers have taken.
  private struct Taken {
    var events: ContiguousArray<Event> = []
    /// How many of them have been read,
    var eventsRead = 0
    /// and how many parts of the next.
    var partsRead = 0

    /// Whether all of it has been read.
    var isRead: Bool { eventsRead == events.count }

    /// The next event, one step with the look whether there is any.
    ///
    /// - Parameter values: Is given what has been read by that of the user's, to be let go of outside of the lock.
    /// - Returns: The event.
    @inline(__always)
    mutating func next(_ values: inout AnyObject?) -> Event.Part? {
      guard !isRead else { return nil }
      defer {
        partsRead += 1
        if partsRead == events[eventsRead].partCount {
          if events[eventsRead].hasValues { values = events[eventsRead].takeValues() }
          eventsRead += 1
          partsRead = 0
        }
      }
      return events[eventsRead].part(partsRead)
    }
  }

  /// For how many events memory is kept where there are none.
  private static var mostKept: Int { 16_384 }

  private let broadcaster: EventBroadcaster<Event>
  private let place: EventBroadcaster<Event>.Place
  private let surround: WaitSurrounding
  /// Its lock is taken before that of the broadcaster.
  private let taken = Mutex(Taken())

  init(
    broadcaster: EventBroadcaster<Event>, place: EventBroadcaster<Event>.Place,
    waiting surround: @escaping WaitSurrounding
  ) {
    self.broadcaster = broadcaster
    self.place = place
    self.surround = surround
  }

  deinit {
    _ = broadcaster.remove(place)
  }

  /// The next of the events that have been fetched already.
  @inline(__always)
  func nextFetched() -> Event.Part? {
    var values: AnyObject?
    return taken.withLock { $0.next(&values) }
  }

  /// The next event; `nil` after the last one, and for a cancelled caller.
  @concurrent func next() async -> Event.Part? {
    if Task.isCancelled { return nil }
    if let event = nextIfThere() { return event }
    return await surround { await self.nextInTime() }
  }

  /// The next event, if there is one already.
  private func nextIfThere() -> Event.Part? {
    var values: AnyObject?
    return taken.withLock { taken in
      if taken.isRead {
        // The memory of what was read goes to those who report, unless it is that of a burst.
        taken.events.removeAll(keepingCapacity: taken.events.count <= Self.mostKept)
        taken.eventsRead = 0
        broadcaster.fetch(&taken.events, at: place)
      }
      return taken.next(&values)
    }
  }

  /// Waits for the next event; `nil` after the last one, and for a cancelled caller that would have to wait.
  private func nextInTime() async -> Event.Part? {
    while true {
      var wait = EventBroadcaster<Event>.Wait.notAtAll
      await withTaskCancellationHandler {
        await Waiter.suspend { waiter in
          // Another reader may have taken meanwhile what it does not read.
          wait = taken.withLock { $0.isRead ? broadcaster.register(waiter, at: place) : .notAtAll }
          return wait == .forEvents
        }
      } onCancel: {
        broadcaster.wakeReaders(at: place)
      }
      if wait == .inVain { return nil }
      if let event = nextIfThere() { return event }
    }
  }
}
