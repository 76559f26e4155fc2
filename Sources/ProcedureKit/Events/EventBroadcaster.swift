import Synchronization

/// Internal. Passes events on to all subscribers. Costs one atomic load while there are none.
///
/// There is a buffer for each subscriber. Sending appends to each buffer and never waits for a reader. All buffers are under
/// one lock, which a reader takes once for many events: a reader fetches all events that are buffered.
final class EventBroadcaster<Event: BroadcastEvent>: Sendable {
  private struct Buffer {
    /// The number of events that are kept.
    let limit: Int
    /// A ring, once events were lost.
    var events: ContiguousArray<Event>
    /// The index of the oldest event.
    var oldest = 0
    /// The number of events that were lost since the latest fetch.
    var lost = 0
    var readers: [Waiter] = []

    /// Appends an event. The oldest event is lost if the buffer is full.
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
    /// The buffer of each ``EventSubscription``, in the order of subscribing, so that equal runs act in equal orders. A subscription
    /// removes its buffer before its identity can be used again.
    var buffers: [(id: ObjectIdentifier, buffer: Buffer)] = []
    var isClosed = false

    func index(of id: ObjectIdentifier) -> Int? { buffers.firstIndex { $0.id == id } }
  }

  private let contents = Mutex(Contents())
  private let hasSubscribers = Atomic(false)

  /// Whether there are subscribers at this moment.
  var isObserved: Bool {
    hasSubscribers.load(ordering: .relaxed)
  }

  /// Passes an event on. The caller performs the `effects` outside of all locks.
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

  /// Makes a subscription. Its events end when the broadcaster is closed. Dropping the subscription ends it.
  /// The subscription reads from the first event of `past` on, and buffers `limit` events; all if `nil`.
  func subscribe(
    replaying past: ContiguousArray<Event> = [], limit: EventLimit<Event>? = nil
  ) -> EventSubscription<Event> {
    let subscription = EventSubscription(broadcaster: self, limit: limit)
    contents.withLock { contents in
      contents.buffers.append((subscription.id, Buffer(limit: limit?.newest ?? .max, events: past)))
      if !contents.isClosed { hasSubscribers.store(true, ordering: .relaxed) }
    }
    return subscription
  }

  /// Ends all subscriptions: no event follows those that are buffered.
  func close() {
    let readers = contents.withLock { contents -> [Waiter] in
      // No reader waits on a closed broadcaster.
      guard !contents.isClosed else { return [] }
      contents.isClosed = true
      hasSubscribers.store(false, ordering: .relaxed)
      return contents.buffers.indices.flatMap { contents.buffers[$0].buffer.readers.takeAll() }
    }
    for reader in readers { reader.resume() }
  }

  // MARK: For subscriptions

  /// Ends a subscription. No task waits for its events, since a waiting task keeps the subscription. O(n) for n
  /// subscriptions.
  ///
  /// - Returns: The events that were not fetched, to be released outside of all locks.
  func remove(_ id: ObjectIdentifier) -> ContiguousArray<Event> {
    contents.withLock { contents in
      let removed = contents.index(of: id).map { contents.buffers.remove(at: $0).buffer }
      if contents.buffers.isEmpty { hasSubscribers.store(false, ordering: .relaxed) }
      return removed?.events ?? []
    }
  }

  /// Takes all buffered events in exchange for an empty array.
  ///
  /// - Returns: The index of the oldest event, which the newer ones follow around the end of the array; and how many events
  ///   before the oldest were lost.
  func fetch(_ events: inout ContiguousArray<Event>, of id: ObjectIdentifier) -> (oldest: Int, lost: Int) {
    contents.withLock { contents in contents.index(of: id).map { contents.buffers[$0].buffer.fetch(&events) } ?? (0, 0)
    }
  }

  /// Stores a reader, to be resumed when there is an event, unless the reader need not wait.
  func register(_ reader: Waiter, of id: ObjectIdentifier) -> EventWait {
    contents.withLock { contents in
      guard let index = contents.index(of: id) else { return .inVain }
      guard contents.buffers[index].buffer.events.isEmpty else { return .notAtAll }
      // Asked under the lock: a cancel that comes later finds the waiter among the readers.
      if contents.isClosed || Task.isCancelled { return .inVain }
      contents.buffers[index].buffer.readers.append(reader)
      return .forEvents
    }
  }

  /// Resumes all readers of one subscription, which look again.
  func wakeReaders(of id: ObjectIdentifier) {
    let readers = contents.withLock { contents in
      contents.index(of: id).map { contents.buffers[$0].buffer.readers.takeAll() } ?? []
    }
    for reader in readers { reader.resume() }
  }
}

extension RangeReplaceableCollection {
  /// Empties the collection and returns what was in it.
  mutating func takeAll() -> Self {
    let all = self
    self = Self()
    return all
  }
}
