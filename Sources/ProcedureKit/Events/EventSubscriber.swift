import Synchronization

/// Internal. One who watches: a buffer without bounds between those who report events and the one who reads them.
///
/// Reporting appends and never waits. Reading suspends only where nothing is buffered. Readers take all that has come at
/// once, and then read that without getting in the way of those who report.
final class EventSubscriber<Event: BufferedEvent>: Sendable {
  private struct Contents {
    var events: ContiguousArray<Event> = []
    var readers: [Waiter] = []
    var isClosed = false
  }

  /// What readers have taken.
  private struct Taken {
    /// The next event last.
    var events: ContiguousArray<Event> = []
    /// How many parts of that have been read.
    var partsRead = 0

    /// The next event, one step with the look whether there is any; and what has been read by that, to be let go of outside of
    /// the lock, since it may be the last to refer to an error of the user's.
    mutating func next() -> (part: Event.Part, read: Event?)? {
      let last = events.count - 1
      guard last >= 0 else { return nil }
      let part = events[last].part(partsRead)
      partsRead += 1
      guard partsRead == events[last].partCount else { return (part, nil) }
      partsRead = 0
      return (part, events.removeLast())
    }
  }

  private let contents: Mutex<Contents>
  /// Where it stands among the subscribers of its broadcaster, under whose lock this changes.
  let place = Atomic(0)
  /// Its lock is taken before that of `contents`.
  private let taken = Mutex(Taken())

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

  /// The next of what readers have taken.
  func nextFetched() -> Event.Part? {
    taken.withLock { $0.next() }?.part
  }

  /// Nobody reads any more: lets go of what was not read, and of all that follows.
  func leave() {
    close()
    let unread = (taken.withLock { $0.events.takeAll() }, contents.withLock { $0.events.takeAll() })
    _ = unread
  }

  /// The next event, if there is one already.
  func nextIfThere() -> Event.Part? {
    taken.withLock { taken -> (part: Event.Part, read: Event?)? in
      if let next = taken.next() { return next }
      swapInReverse(&taken.events)
      return taken.next()
    }?.part
  }

  /// The memory of what was read goes to those who report.
  private func swapInReverse(_ taken: inout ContiguousArray<Event>) {
    contents.withLock { swap(&$0.events, &taken) }
    taken.reverse()
  }

  /// The next event; `nil` after the last one, and for a cancelled caller that would have to wait.
  func next() async -> Event.Part? {
    while true {
      if let event = nextIfThere() { return event }
      if Task.isCancelled { return nil }
      var isOver = false
      await withTaskCancellationHandler {
        await Waiter.suspend { waiter in
          // Another reader may have taken meanwhile what it does not read.
          taken.withLock { taken in
            contents.withLock { contents in
              guard taken.events.isEmpty, contents.events.isEmpty else { return false }
              isOver = contents.isClosed || Task.isCancelled
              if !isOver { contents.readers.append(waiter) }
              return !isOver
            }
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
}

extension RangeReplaceableCollection {
  /// Empties the collection and returns what was in it.
  mutating func takeAll() -> Self {
    let all = self
    self = Self()
    return all
  }
}
