import Synchronization

/// Internal. Passes events on to everybody who watches. Costs one atomic load where nobody does.
final class EventBroadcaster<Event: BufferedEvent>: Sendable {
  private struct Contents {
    var subscribers: [EventSubscriber<Event>] = []
    var isClosed = false
  }

  private let contents = Mutex(Contents())
  private let hasSubscribers = Atomic(false)

  /// Whether anybody watches at this moment.
  var isObserved: Bool {
    hasSubscribers.load(ordering: .relaxed)
  }

  /// Passes an event on. The readers that it wakes are to be resumed by the caller, outside of all locks.
  func send(_ event: Event, _ woken: inout [Waiter]) {
    contents.withLock { contents in
      for subscriber in contents.subscribers { subscriber.append(event, &woken) }
    }
  }

  /// A new subscription. Its events end when the broadcaster is closed; dropping it ends the subscription.
  ///
  /// - Parameters:
  ///   - past: What happened before, to be read first.
  ///   - surround: Calls what it is given, which may wait for the next event.
  /// - Returns: The subscription, which reads from the first of `past` on.
  func subscribe(
    replaying past: ContiguousArray<Event> = [], waiting surround: @escaping EventSubscription<Event>.WaitSurrounding
  ) -> EventSubscription<Event> {
    let subscriber = EventSubscriber(replaying: past)
    let isClosed = contents.withLock { contents in
      if !contents.isClosed {
        subscriber.place.store(contents.subscribers.count, ordering: .relaxed)
        contents.subscribers.append(subscriber)
        hasSubscribers.store(true, ordering: .relaxed)
      }
      return contents.isClosed
    }
    if isClosed { subscriber.close() }
    return EventSubscription(subscriber: subscriber, broadcaster: self, waiting: surround)
  }

  /// O(1), however many there are: the last one takes its place.
  func remove(_ subscriber: EventSubscriber<Event>) {
    contents.withLock { contents in
      let place = subscriber.place.load(ordering: .relaxed)
      guard place < contents.subscribers.count, contents.subscribers[place] === subscriber else { return }
      contents.subscribers[place] = contents.subscribers[contents.subscribers.count - 1]
      contents.subscribers[place].place.store(place, ordering: .relaxed)
      contents.subscribers.removeLast()
      if contents.subscribers.isEmpty { hasSubscribers.store(false, ordering: .relaxed) }
    }
  }

  /// Nothing follows: every subscription ends after what it has buffered.
  func close() {
    let subscribers = contents.withLock { contents in
      contents.isClosed = true
      hasSubscribers.store(false, ordering: .relaxed)
      return contents.subscribers.takeAll()
    }
    for subscriber in subscribers { subscriber.close() }
  }
}
