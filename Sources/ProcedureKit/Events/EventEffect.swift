/// Internal. The effect of an event. The sender performs it outside of all locks.
enum EventEffect: Sendable {
  /// Resumes a reader that waits for an event.
  case resume(Waiter)
  /// Releases the details of an event that a slow subscriber has lost, which may refer to values of the user.
  case release(ProcedureEvent.Details)

  /// Performs the effect. Never called under a lock.
  func perform() {
    switch self {
    case .resume(let waiter): waiter.resume()
    case .release: break
    }
  }
}

/// Internal. An event that a broadcaster passes on.
protocol BroadcastEvent: Sendable {
  /// The object that may refer to values of the user, if there is one.
  var details: ProcedureEvent.Details? { get }
}

extension BroadcastEvent {
  var details: ProcedureEvent.Details? { nil }
}

/// Internal. How many events are buffered for a subscriber, and what tells the subscriber of those that were lost.
struct EventLimit<Event: BroadcastEvent>: Sendable {
  /// The number of events that are buffered; at least one.
  let newest: Int
  /// Returns the event that stands for `count` lost events, which were followed by `next`.
  let gap: @Sendable (_ count: Int, _ next: Event) -> Event
}
