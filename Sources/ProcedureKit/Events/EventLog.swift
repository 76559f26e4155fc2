import Synchronization

/// Internal. The events of one run, from the first to the last. Each subscriber is a cursor into the log.
final class EventLog: Sendable {
  private struct Contents {
    var events: ContiguousArray<ProcedureEvent>
    var readers: [(cursor: ObjectIdentifier, waiter: Waiter)] = []
    var isClosed = false
  }

  private let contents: Mutex<Contents>

  /// A log that begins with `past`.
  init(past: ContiguousArray<ProcedureEvent>) {
    contents = Mutex(Contents(events: past))
  }

  /// Appends an event.
  ///
  /// - Parameters:
  ///   - event: The event.
  ///   - effects: The readers to be resumed are added to these.
  func append(_ event: ProcedureEvent, _ effects: inout [EventEffect]) {
    contents.withLock { contents in
      contents.events.append(event)
      if !contents.readers.isEmpty { effects += contents.readers.takeAll().map { .resume($0.waiter) } }
    }
  }

  /// Ends the log: no event follows.
  func close() {
    let readers = contents.withLock { contents in
      contents.isClosed = true
      return contents.readers.takeAll()
    }
    for reader in readers { reader.waiter.resume() }
  }

  /// Subscribes to all events of the run, from its first.
  func subscribe() -> Cursor {
    Cursor(self)
  }

  /// A place in the log, from which one subscriber reads on.
  final class Cursor: EventReader {
    private let log: EventLog
    /// How many events have been read. This lock is taken before that of the log.
    private let position = Mutex(0)

    fileprivate init(_ log: EventLog) {
      self.log = log
    }

    func take() -> ProcedureEvent? {
      position.withLock { position in
        guard let event = log.event(at: position) else { return nil }
        position += 1
        return event
      }
    }

    func register(_ waiter: Waiter) -> EventWait {
      position.withLock { log.register(waiter, for: self, at: $0) }
    }

    func wake() {
      log.wakeReaders(of: self)
    }
  }

  private func event(at position: Int) -> ProcedureEvent? {
    contents.withLock { position < $0.events.count ? $0.events[position] : nil }
  }

  private func register(_ waiter: Waiter, for cursor: Cursor, at position: Int) -> EventWait {
    contents.withLock { contents in
      guard position == contents.events.count else { return .notAtAll }
      // Asked under the lock: a cancel that comes later finds the waiter among the readers.
      if contents.isClosed || Task.isCancelled { return .inVain }
      contents.readers.append((ObjectIdentifier(cursor), waiter))
      return .forEvents
    }
  }

  private func wakeReaders(of cursor: Cursor) {
    let woken = contents.withLock { contents in
      let woken = contents.readers.filter { $0.cursor == ObjectIdentifier(cursor) }
      contents.readers.removeAll { $0.cursor == ObjectIdentifier(cursor) }
      return woken
    }
    for reader in woken { reader.waiter.resume() }
  }
}
