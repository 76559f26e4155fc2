import ProcedureKit
import ProcedureKitDurable
import ProcedureKitFoundation
import Synchronization

/// A counter that bodies increment.
final class Counter: Sendable {
  private let value = Atomic(0)

  var now: Int { value.load(ordering: .sequentiallyConsistent) }

  func add(by count: Int = 1) { value.add(count, ordering: .sequentiallyConsistent) }
}

struct Problem: Error, CustomStringConvertible {
  let text: String

  var description: String { text }
}

/// The names of the bodies that have executed.
final class Names: Sendable {
  private let names = Mutex<[String]>([])

  func add(_ name: String) { names.withLock { $0.append(name) } }

  var count: Int { names.withLock(\.count) }

  /// Returns the names since the last call, sorted.
  func take() -> [String] {
    names.withLock { names in
      defer { names = [] }
      return names.sorted()
    }
  }
}

/// A custom journal with only the required members, which accepts a few entries and then fails.
actor FullJournal: ProcedureJournal {
  nonisolated let name = "full"
  nonisolated let coder: any ProcedureCoder = JSONProcedureCoder()
  nonisolated let timeSince1970 = Duration.zero
  private let inner: InMemoryJournal
  private var room: Int

  init(_ inner: InMemoryJournal, room: Int) { (self.inner, self.room) = (inner, room) }

  func append(_ bytes: [UInt8], for key: JournalKey) async throws {
    guard room > 0 else { throw Problem(text: "full") }
    room -= 1
    await inner.append(bytes, for: key)
  }

  func read(_ key: JournalKey) async throws -> [UInt8]? { await inner.read(key) }
}

/// A journal in which another run replaces the entry of a key after the entry has been read for the first time.
actor SwappingJournal: ProcedureJournal {
  nonisolated let name = "swapping"
  nonisolated let coder: any ProcedureCoder = JSONProcedureCoder()
  nonisolated let timeSince1970 = Duration.zero
  private let inner: InMemoryJournal
  private let key: JournalKey
  private var replacement: (@Sendable () -> [UInt8])?

  init(_ inner: InMemoryJournal, _ key: JournalKey, _ replacement: @escaping @Sendable () -> [UInt8]) {
    (self.inner, self.key, self.replacement) = (inner, key, replacement)
  }

  func append(_ bytes: [UInt8], for key: JournalKey) async throws { await inner.append(bytes, for: key) }

  func read(_ key: JournalKey) async throws -> [UInt8]? {
    let bytes = await inner.read(key)
    if key == self.key, let replacement = replacement.take() { await inner.append(replacement(), for: key) }
    return bytes
  }
}

extension InMemoryJournal {
  /// Returns the journal that a process would leave behind if it were killed now.
  func afterKill(now: (@Sendable () -> Duration)? = nil) async -> InMemoryJournal {
    let copy = InMemoryJournal(now: now)
    for (key, bytes) in entries { await copy.append(bytes, for: key) }
    return copy
  }
}
