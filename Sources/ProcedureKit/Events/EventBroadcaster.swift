import Synchronization

/// A broadcaster that delivers events to all subscribers. While there are no subscribers, sending costs only one atomic load.
///
/// Each subscriber has a buffer. Sending appends the event to each buffer and never waits for a reader. One lock protects all buffers.
/// Because a reader takes all of its buffered events in one batch, it acquires the lock only once for many events.
final class EventBroadcaster<Event: BroadcastEvent>: Sendable {
  private struct Buffer {
    /// The maximum number of buffered events.
    let limit: Int
    /// The events. The array is used as a ring once events are dropped.
    var events: ContiguousArray<Event>
    /// The index of the oldest event.
    var oldest = 0
    /// The number of events that have been dropped since the last fetch.
    var lost = 0
    var readers: [Waiter] = []

    /// Appends an event and drops the oldest one if the buffer is full.
    mutating func append(_ event: Event, _ effects: inout [EventEffect]) {
      guard events.count >= limit else { return events.append(event) }
      if let details = events[oldest].details { effects.append(.release(details)) }
      events[oldest] = event
      lost += 1
      oldest = oldest + 1 == events.count ? 0 : oldest + 1
    }

    mutating func fetch(_ others: inout ContiguousArray<Event>) -> (oldest: Int, lost: Int) {
      swap(&events, &others)
      defer { (oldest, lost) = (0, 0) }
      return (oldest, lost)
    }
  }

  private struct Contents {
    /// The buffers of all subscriptions, ordered by subscription number, so that identical executions deliver events in the same order.
    var buffers: [(number: Int, buffer: Buffer)] = []
    var subscriptionCount = 0
    var isClosed = false

    /// Returns the index of a subscription's buffer, in O(log n) for n subscriptions.
    func index(of number: Int) -> Int? {
      var candidates = buffers[...]
      while candidates.count > 1 {
        let middle = candidates.startIndex + candidates.count / 2
        candidates = candidates[middle].number <= number ? candidates[middle...] : candidates[..<middle]
      }
      return candidates.first?.number == number ? candidates.startIndex : nil
    }
  }

  private let contents = Mutex(Contents())
  private let hasSubscribers = Atomic(false)

  /// Whether there are currently any subscribers.
  var isObserved: Bool {
    hasSubscribers.load(ordering: .relaxed)
  }

  /// Delivers an event. The caller must then perform the `effects` without holding any locks.
  func send(_ event: Event, _ effects: inout [EventEffect]) {
    contents.withLock { contents in
      guard !contents.isClosed else { return }
      for index in contents.buffers.indices {
        contents.buffers[index].buffer.append(event, &effects)
        guard !contents.buffers[index].buffer.readers.isEmpty else { continue }
        effects += contents.buffers[index].buffer.readers.takeAll().map { .resume($0) }
      }
    }
  }

  /// Creates a subscription, which ends when the broadcaster is closed or the subscription is released.
  ///
  /// The subscription starts with the first event in `past`, and buffers up to `limit` events, or all events if `limit` is `nil`.
  func subscribe(
    replaying past: ContiguousArray<Event> = [], limit: EventLimit<Event>? = nil
  ) -> EventSubscription<Event> {
    let number = contents.withLock { contents in
      contents.subscriptionCount += 1
      contents.buffers.append((contents.subscriptionCount, Buffer(limit: limit?.newest ?? .max, events: past)))
      if !contents.isClosed { hasSubscribers.store(true, ordering: .relaxed) }
      return contents.subscriptionCount
    }
    return EventSubscription(number, of: self, limit: limit)
  }

  /// Ends each subscription once its buffered events have been read.
  func close() {
    let readers = contents.withLock { contents -> [Waiter] in
      // A closed broadcaster has no waiting readers.
      guard !contents.isClosed else { return [] }
      contents.isClosed = true
      hasSubscribers.store(false, ordering: .relaxed)
      return contents.buffers.indices.flatMap { contents.buffers[$0].buffer.readers.takeAll() }
    }
    for reader in readers { reader.resume() }
  }

  // MARK: For subscriptions

  /// Ends a subscription, in O(n) for n subscriptions.
  ///
  /// - Returns: The unread events, which the caller must release without holding any locks, and the readers, which it must resume.
  func remove(_ number: Int) -> (events: ContiguousArray<Event>, readers: [Waiter]) {
    contents.withLock { contents in
      let removed = contents.index(of: number).map { contents.buffers.remove(at: $0).buffer }
      if contents.buffers.isEmpty { hasSubscribers.store(false, ordering: .relaxed) }
      return (removed?.events ?? [], removed?.readers ?? [])
    }
  }

  /// Swaps the buffered events with `events`, which must be empty.
  ///
  /// - Returns: The index of the oldest event in the ring, and the number of events that were dropped before it.
  func fetch(_ events: inout ContiguousArray<Event>, of number: Int) -> (oldest: Int, lost: Int) {
    contents.withLock { contents in
      contents.index(of: number).map { contents.buffers[$0].buffer.fetch(&events) } ?? (0, 0)
    }
  }

  /// Stores a reader until the next event, if the reader has to wait.
  func register(_ reader: Waiter, of number: Int) -> EventWait {
    contents.withLock { contents in
      guard let index = contents.index(of: number) else { return .ended }
      guard contents.buffers[index].buffer.events.isEmpty else { return .unnecessary }
      // Cancellation is checked under the lock, so a later cancellation finds the waiter among the readers.
      if contents.isClosed || Task.isCancelled { return .ended }
      contents.buffers[index].buffer.readers.append(reader)
      return .forEvents
    }
  }

  /// Resumes all readers of one subscription, so that they check for events again.
  func wakeReaders(of number: Int) {
    let readers = contents.withLock { contents in
      contents.index(of: number).map { contents.buffers[$0].buffer.readers.takeAll() } ?? []
    }
    for reader in readers { reader.resume() }
  }
}

extension RangeReplaceableCollection {
  /// Empties the collection and returns its previous elements.
  mutating func takeAll() -> Self {
    let all = self
    self = Self()
    return all
  }
}

/// The result of registering a waiter.
enum EventWait {
  /// An event is available, so the task does not have to wait.
  case unnecessary
  /// The waiter is stored.
  case forEvents
  /// No event will follow, or the task was cancelled.
  case ended
}

/// An effect that the sender of an event must perform without holding any locks.
enum EventEffect: Sendable {
  /// Resumes a waiting reader.
  case resume(Waiter)
  /// Releases an object that can refer to the user's values: the details of a dropped event, or the record of a run that ended.
  case release(any Sendable)

  /// Performs the effect. The caller must not hold any locks.
  func perform() {
    switch self {
    case .resume(let waiter): waiter.resume()
    case .release: break
    }
  }
}

/// An event that a broadcaster delivers.
protocol BroadcastEvent: Sendable {
  /// The details of the event, which can refer to the user's values; `nil` if there are none.
  var details: ProcedureEvent.Details? { get }
}

extension BroadcastEvent {
  var details: ProcedureEvent.Details? { nil }
}

/// The maximum number of events that are buffered for a subscriber, and the function that creates a gap event, if the subscriber is
/// notified of dropped events.
struct EventLimit<Event: BroadcastEvent>: Sendable {
  /// The maximum number of buffered events; at least one.
  let newest: Int
  /// A function that returns a gap event, which replaces the `count` events that were dropped before `next`.
  var gap: (@Sendable (_ count: Int, _ next: Event) -> Event)?
}
