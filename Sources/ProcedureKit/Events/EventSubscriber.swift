import Synchronization

/// Internal. One who watches: a buffer without bounds between those who report events and the one who reads them.
///
/// Reporting appends and never waits. Reading suspends only where nothing is buffered.
final class EventSubscriber<Event: Sendable>: Sendable {
  private struct Contents {
    var events: ContiguousArray<Event> = []
    var position = 0
    var readers: [Waiter] = []
    var isClosed = false
  }

  private let contents: Mutex<Contents>

  /// - Parameter past: What happened before, to be read first.
  init(replaying past: ContiguousArray<Event> = []) {
    contents = Mutex(Contents(events: past))
  }

  /// Appends an event. The readers that it wakes are to be resumed by the caller, outside of all locks.
  func append(_ event: Event, _ woken: inout [Waiter]) {
    contents.withLock { contents in
      guard !contents.isClosed else { return }
      contents.events.append(event)
      if !contents.readers.isEmpty {
        woken += contents.readers
        contents.readers = []
      }
    }
  }

  /// Nothing follows what has been appended.
  func close() {
    let readers = contents.withLock { contents in
      contents.isClosed = true
      return contents.readers.takeAll()
    }
    for reader in readers { reader.resume() }
  }

  /// The next event, if there is one already.
  func nextIfThere() -> Event? {
    // What has been read is let go of outside of the lock: it may be the last reference to an error of the user's.
    contents.withLock { Self.pop(&$0) }.event
  }

  /// The next event; `nil` after the last one, and for a cancelled caller that would have to wait.
  func next() async -> Event? {
    while true {
      if let event = nextIfThere() { return event }
      if Task.isCancelled { return nil }
      var isOver = false
      await withTaskCancellationHandler {
        await Waiter.suspend { waiter in
          contents.withLock { contents in
            guard contents.position == contents.events.count else { return false }
            isOver = contents.isClosed || Task.isCancelled
            if !isOver { contents.readers.append(waiter) }
            return !isOver
          }
        }
      } onCancel: {
        wakeReaders()
      }
      if isOver { return nil }
    }
  }

  private func wakeReaders() {
    let readers = contents.withLock { $0.readers.takeAll() }
    for reader in readers { reader.resume() }
  }

  /// The next event, and the buffer that it was read from where a new one has taken its place.
  private static func pop(
    _ contents: inout Contents
  ) -> (event: Event?, outworn: ContiguousArray<Event>) {
    guard contents.position < contents.events.count else { return (nil, []) }
    let event = contents.events[contents.position]
    contents.position += 1
    let isMostlyRead = contents.position >= 4_096 && contents.position * 2 >= contents.events.count
    guard contents.position == contents.events.count || isMostlyRead else { return (event, []) }
    let outworn = contents.events
    contents.events = ContiguousArray(outworn[contents.position...])
    contents.position = 0
    return (event, outworn)
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
