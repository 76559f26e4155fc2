/// A reader of the events of one subscription. The subscription ends when the last reference to the reader is released.
///
/// Several tasks can read concurrently. Each event is delivered to only one of them.
protocol EventReader: AnyObject, Sendable {
  associatedtype Event: Sendable

  /// Takes the next event, if one is available.
  func take() -> Event?

  /// Stores a waiter, which is resumed when the next event arrives, when the events end, or when ``wake()`` is called.
  func register(_ waiter: Waiter) -> EventWait

  /// Resumes the tasks that are waiting for this subscription's next event, so that they check again.
  func wake()
}

/// The result of registering a waiter.
enum EventWait {
  /// An event is available, so the task does not have to wait.
  case notAtAll
  /// The waiter is stored.
  case forEvents
  /// No event will follow, or the task was cancelled.
  case inVain
}

extension EventReader {
  /// A function that wraps the wait for an event, so that a body can release its slot during the wait.
  typealias WaitSurrounding =
    @concurrent @Sendable (_ wait: @escaping @concurrent @Sendable () async -> Event?) async -> Event?

  /// Creates a stream of this subscription's events. The stream's closure owns the reader, so the subscription ends when the stream is
  /// released, or when a task that is iterating over the stream is cancelled.
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
      var wait = EventWait.notAtAll
      await withTaskCancellationHandler {
        await Waiter.suspend { waiter in
          wait = register(waiter)
          return wait == .forEvents
        }
      } onCancel: {
        wake()
      }
      if wait == .inVain { return nil }
    }
  }
}
