import Synchronization

/// Internal. One execution with its result, shared by several runs.
final class SharedWork<Output: Sendable>: Sendable {
  private let stored = Mutex(Result<Output, any Error>?.none)

  /// The result; `nil` while no run has finished the execution.
  var result: Result<Output, any Error>? { stored.withLock(\.self) }

  func finish(_ result: Result<Output, any Error>) {
    stored.withLock { if $0 == nil { $0 = result } }
  }
}

/// Internal. The shared executions of a table, by key and type of value.
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
  func join<Output>(_ key: Key) -> SharedWork<Output> {
    entries.withLock { entries in
      if let work = entries[key]?.work as? SharedWork<Output> {
        entries[key]?.participants += 1
        return work
      }
      let work = SharedWork<Output>()
      entries[key] = Entry(work: work, participants: 1)
      return work
    }
  }

  /// Ends the sharing of a finished execution. Later runs start a new one.
  func close<Output>(_ work: SharedWork<Output>, _ key: Key) {
    entries.withLock { entries in
      if entries[key]?.work === work { entries[key] = nil }
    }
  }

  func leave<Output>(_ work: SharedWork<Output>, _ key: Key) {
    entries.withLock { entries in
      guard entries[key]?.work === work else { return }
      entries[key]?.participants -= 1
      if entries[key]?.participants == 0 { entries[key] = nil }
    }
  }

  /// The number of shared executions.
  var count: Int { entries.withLock(\.count) }
}
