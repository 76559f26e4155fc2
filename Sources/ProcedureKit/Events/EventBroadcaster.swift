import Synchronization

/// Internal. Passes events on to everybody who watches. Costs one atomic load where nobody does.
final class EventBroadcaster<Event: Sendable>: Sendable {
  /// What is done around a wait for an event.
  typealias WaitSurrounding =
    @concurrent @Sendable (_ wait: @concurrent @Sendable () async -> Event?) async -> Event?

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
    let subscribers = contents.withLock { $0.subscribers }
    for subscriber in subscribers { subscriber.append(event, &woken) }
  }

  /// A new stream. It ends when the broadcaster is closed; dropping the stream ends the subscription.
  ///
  /// - Parameters:
  ///   - past: What happened before, to be read first.
  ///   - surround: Calls what it is given, which may wait for the next event.
  /// - Returns: The events, from the first of `past` on.
  func stream(
    replaying past: ContiguousArray<Event> = [], waiting surround: @escaping WaitSurrounding
  ) -> AsyncStream<Event> {
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
    let subscription = EventSubscription(subscriber: subscriber, broadcaster: self)
    return AsyncStream {
      if let event = subscription.subscriber.nextIfThere() { return event }
      return await surround { await subscription.subscriber.next() }
    }
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

  /// Nothing follows: every stream ends after what it has buffered.
  func close() {
    let subscribers = contents.withLock { contents in
      contents.isClosed = true
      hasSubscribers.store(false, ordering: .relaxed)
      return contents.subscribers.takeAll()
    }
    for subscriber in subscribers { subscriber.close() }
  }
}

/// Internal. Lives as long as the stream that it belongs to, and takes the subscriber away with it.
private final class EventSubscription<Event: Sendable>: Sendable {
  let subscriber: EventSubscriber<Event>
  private weak let broadcaster: EventBroadcaster<Event>?

  init(subscriber: EventSubscriber<Event>, broadcaster: EventBroadcaster<Event>) {
    self.subscriber = subscriber
    self.broadcaster = broadcaster
  }

  deinit {
    broadcaster?.remove(subscriber)
    // Somebody who is telling it something just now may be the last to let go of it, under a lock.
    subscriber.leave()
  }
}
