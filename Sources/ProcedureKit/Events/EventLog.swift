import Synchronization

/// The events of one run, from the first to the last. Each subscriber reads through its own cursor.
final class EventLog: Sendable {
  private struct Contents {
    var events: ContiguousArray<ProcedureEvent>
    var cursorCount = 0
    /// The number of events that each cursor has read; a cursor without an entry has read none.
    var positions: [ObjectIdentifier: Int] = [:]
    var readers: [(cursor: ObjectIdentifier, waiter: Waiter)] = []
    var isClosed = false
  }

  private let contents: Mutex<Contents>

  /// Creates a log that begins with `past`.
  init(past: ContiguousArray<ProcedureEvent>) {
    contents = Mutex(Contents(events: past))
  }

  /// Appends an event and adds an effect for each reader that must be resumed.
  func append(_ event: ProcedureEvent, _ effects: inout [EventEffect]) {
    contents.withLock { contents in
      contents.events.append(event)
      if !contents.readers.isEmpty { effects += contents.readers.takeAll().map { .resume($0.waiter) } }
    }
  }

  /// Whether the log currently has subscribers.
  var isRead: Bool { contents.withLock { $0.cursorCount > 0 } }

  /// Closes the log, so no further events are appended.
  func close() {
    let readers = contents.withLock { contents in
      contents.isClosed = true
      return contents.readers.takeAll()
    }
    for reader in readers { reader.waiter.resume() }
  }

  /// Subscribes to all events of the run, from the first one.
  func subscribe() -> Cursor {
    Cursor(self)
  }

  /// A position in the log, from which one subscriber reads.
  final class Cursor: EventReader {
    private let log: EventLog
    private var id: ObjectIdentifier { ObjectIdentifier(self) }

    fileprivate init(_ log: EventLog) {
      self.log = log
      log.contents.withLock { $0.cursorCount += 1 }
    }

    deinit {
      log.contents.withLock { contents in
        contents.positions[id] = nil
        contents.cursorCount -= 1
      }
    }

    func take() -> ProcedureEvent? {
      log.contents.withLock { contents in
        let position = contents.positions[id, default: 0]
        guard position < contents.events.count else { return nil }
        contents.positions[id] = position + 1
        return contents.events[position]
      }
    }

    func register(_ waiter: Waiter) -> EventWait {
      log.contents.withLock { contents in
        guard contents.positions[id, default: 0] == contents.events.count else { return .notAtAll }
        // Cancellation is checked under the lock, so a later cancellation finds the waiter among the readers.
        if contents.isClosed || Task.isCancelled { return .inVain }
        contents.readers.append((id, waiter))
        return .forEvents
      }
    }

    func wake() {
      let woken = log.contents.withLock { $0.readers.takeAll { $0.cursor == id } }
      for reader in woken { reader.waiter.resume() }
    }
  }
}
