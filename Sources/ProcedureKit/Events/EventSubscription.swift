/// Internal. The reader's side of a subscription, which ends with the last reference to this.
final class EventSubscription<Event: BufferedEvent>: Sendable {
  /// What is done around a wait for an event.
  typealias WaitSurrounding =
    @concurrent @Sendable (_ wait: @concurrent @Sendable () async -> Event.Part?) async -> Event.Part?

  private let subscriber: EventSubscriber<Event>
  private weak let broadcaster: EventBroadcaster<Event>?
  private let surround: WaitSurrounding

  init(
    subscriber: EventSubscriber<Event>, broadcaster: EventBroadcaster<Event>,
    waiting surround: @escaping WaitSurrounding
  ) {
    self.subscriber = subscriber
    self.broadcaster = broadcaster
    self.surround = surround
  }

  deinit {
    broadcaster?.remove(subscriber)
    // Somebody who is telling it something just now may be the last to let go of it, under a lock.
    subscriber.leave()
  }

  /// The next of the events that have been fetched already.
  func nextFetched() -> Event.Part? {
    subscriber.nextFetched()
  }

  /// The next event; `nil` after the last one, and for a cancelled caller.
  @concurrent func next() async -> Event.Part? {
    if Task.isCancelled { return nil }
    if let event = subscriber.nextIfThere() { return event }
    return await surround { [subscriber] in await subscriber.next() }
  }
}
