import Synchronization

/// Internal. Passes events on to everybody who watches. Costs one atomic load where nobody does.
///
/// For each who watches it has a buffer without bounds: reporting appends to all of these, and never waits for who reads. They
/// are under one lock, which readers take once for many events: they take all that has come.
final class EventBroadcaster<Event: BufferedEvent>: Sendable {
  /// Which of the buffers is that of one subscription. Changes under the lock.
  final class Place: Sendable {
    fileprivate let index = Atomic(0)
  }

  private struct Buffer {
    let place: Place
    var events: ContiguousArray<Event>
    var readers: [Waiter] = []
  }

  private struct Contents {
    var buffers: ContiguousArray<Buffer> = []
    var isClosed = false
  }

  private let contents = Mutex(Contents())
  private let hasSubscribers = Atomic(false)

  /// Whether anybody watches at this moment.
  var isObserved: Bool {
    hasSubscribers.load(ordering: .relaxed)
  }

  /// Passes an event on. The readers that it wakes are to be resumed by the caller, outside of all locks.
  ///
  /// - Parameters:
  ///   - event: Makes the event, in each of the buffers and under the lock: of what is there, calling nothing of the user's.
  ///   - woken: The readers are added to these.
  @inline(__always)
  func send(_ event: @autoclosure () -> Event, _ woken: inout [Waiter]) {
    contents.withLock { contents in
      guard !contents.isClosed else { return }
      for index in contents.buffers.indices {
        contents.buffers[index].events.append(event())
        if !contents.buffers[index].readers.isEmpty { woken += contents.buffers[index].readers.takeAll() }
      }
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
    let place = Place()
    contents.withLock { contents in
      place.index.store(contents.buffers.count, ordering: .relaxed)
      contents.buffers.append(Buffer(place: place, events: past))
      if !contents.isClosed { hasSubscribers.store(true, ordering: .relaxed) }
    }
    return EventSubscription(broadcaster: self, place: place, waiting: surround)
  }

  /// Nothing follows: every subscription ends after what it has buffered.
  func close() {
    let readers = contents.withLock { contents -> [Waiter] in
      // Nobody has come to wait since then, however many have come to read.
      guard !contents.isClosed else { return [] }
      contents.isClosed = true
      hasSubscribers.store(false, ordering: .relaxed)
      var readers: [Waiter] = []
      for index in contents.buffers.indices { readers += contents.buffers[index].readers.takeAll() }
      return readers
    }
    for reader in readers { reader.resume() }
  }

  // MARK: For subscriptions

  /// Ends a subscription that nobody reads, since whoever waits for its next event keeps it. O(1), however many there are: the
  /// last buffer takes the place of its own.
  ///
  /// - Returns: What it has not fetched, to be let go of outside of all locks.
  func remove(_ place: Place) -> ContiguousArray<Event> {
    contents.withLock { contents in
      let index = place.index.load(ordering: .relaxed)
      contents.buffers.swapAt(index, contents.buffers.count - 1)
      contents.buffers[index].place.index.store(index, ordering: .relaxed)
      let removed = contents.buffers.removeLast()
      if contents.buffers.isEmpty { hasSubscribers.store(false, ordering: .relaxed) }
      return removed.events
    }
  }

  /// Takes what has come, in order, in exchange for an empty array.
  func fetch(_ events: inout ContiguousArray<Event>, at place: Place) {
    contents.withLock { swap(&$0.buffers[place.index.load(ordering: .relaxed)].events, &events) }
  }

  /// Stores a reader, to be resumed when there is an event, unless it need not wait.
  func register(_ reader: Waiter, at place: Place) -> Wait {
    contents.withLock { contents in
      let index = place.index.load(ordering: .relaxed)
      guard contents.buffers[index].events.isEmpty else { return .notAtAll }
      // Asked under the lock: who cancels it after that finds it among the readers.
      if contents.isClosed || Task.isCancelled { return .inVain }
      contents.buffers[index].readers.append(reader)
      return .forEvents
    }
  }

  /// How a reader waits.
  enum Wait {
    /// There is something to be read.
    case notAtAll
    /// It is resumed when there is something, or when nothing follows.
    case forEvents
    /// Nothing follows, or it has been cancelled.
    case inVain
  }

  /// Lets all readers of one subscription look again.
  func wakeReaders(at place: Place) {
    let readers = contents.withLock { $0.buffers[place.index.load(ordering: .relaxed)].readers.takeAll() }
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
