import Synchronization

/// Internal. The shared executions of a table, by key and type of value: several runs share the result.
final class SharedWorkTable: Sendable {
  struct Key: Hashable, Sendable {
    let key: InternedKey
    let output: ObjectIdentifier
  }

  private struct Entry {
    let work: any AnyObject & Sendable
    var participants: Int
  }

  private let entries = Mutex<[Key: Entry]>([:])

  /// Joins the execution with `key`, or starts a new one. A call of `leave` has to follow.
  func join<Output>(_ key: Key) -> ResultBox<Output> {
    entries.withLock { entries in
      if let work = entries[key]?.work as? ResultBox<Output> {
        entries[key]?.participants += 1
        return work
      }
      let work = ResultBox<Output>()
      entries[key] = Entry(work: work, participants: 1)
      return work
    }
  }

  /// Ends the sharing of a finished execution. Later runs start a new one.
  func close<Output>(_ work: ResultBox<Output>, _ key: Key) {
    entries.withLock { entries in
      if entries[key]?.work === work { entries[key] = nil }
    }
  }

  func leave<Output>(_ work: ResultBox<Output>, _ key: Key) {
    entries.withLock { entries in
      guard entries[key]?.work === work else { return }
      entries[key]?.participants -= 1
      if entries[key]?.participants == 0 { entries[key] = nil }
    }
  }

  /// The number of shared executions.
  var count: Int { entries.withLock(\.count) }
}
