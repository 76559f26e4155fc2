import Synchronization

/// Internal. One execution that several wait for, and what it has come to.
final class SharedWork<Output: Sendable>: Sendable {
  private let stored = Mutex(Result<Output, any Error>?.none)

  /// What it has come to; `nil` while nobody has executed it to the end.
  var result: Result<Output, any Error>? { stored.withLock(\.self) }

  func finish(_ result: Result<Output, any Error>) {
    stored.withLock { if $0 == nil { $0 = result } }
  }
}

/// Internal. Which executions are shared at this moment, by key and type.
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

  /// The execution to take part in; `leave` has to follow.
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

  /// It has come to something: those who come from now on do not share it.
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

  /// How many executions are shared.
  var count: Int { entries.withLock(\.count) }
}
