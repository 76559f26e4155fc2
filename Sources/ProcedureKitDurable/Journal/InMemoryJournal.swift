internal import Foundation
internal import ProcedureKit
public import ProcedureKitFoundation

/// A journal for tests that keeps its entries in memory. The entries outlive runs, but not the process.
public actor InMemoryJournal: ProcedureJournal {
  /// The name of the journal as it appears in errors and events.
  public nonisolated let name: String
  /// The coder that encodes and decodes values.
  public nonisolated let coder: any ProcedureCoder
  private nonisolated let now: @Sendable () -> Duration

  /// The value of the latest entry for each key.
  public private(set) var entries: [JournalKey: [UInt8]] = [:]
  /// The number of appends so far.
  public private(set) var appendCount = 0
  private var latest: [ByteText: JournalKey] = [:]

  /// Creates an empty journal.
  ///
  /// - Parameters:
  ///   - name: The name of the journal as it appears in errors and events.
  ///   - coder: The coder that encodes and decodes values.
  ///   - now: A closure that returns the time since 1970. If it is `nil`, the system's clock is used.
  public init(
    _ name: String = "memory", coder: any ProcedureCoder = JSONProcedureCoder(), now: (@Sendable () -> Duration)? = nil
  ) {
    (self.name, self.coder, self.now) = (name, coder, now ?? { .since1970 })
  }

  /// The time since 1970.
  public nonisolated var timeSince1970: Duration { now() }

  /// Appends an entry. Cancelling the caller has no effect.
  ///
  /// - Parameters:
  ///   - bytes: The value.
  ///   - key: The key.
  public func append(_ bytes: [UInt8], for key: JournalKey) async {
    entries[key] = bytes
    latest[ByteText(key.path)] = key
    appendCount += 1
  }

  /// Returns the value of the latest entry for a key, or `nil` if there is no entry. Cancelling the caller has no effect.
  public func read(_ key: JournalKey) async -> [UInt8]? { entries[key] }

  /// Returns the key of the latest entry with the given path, or `nil` if there is no entry. Cancelling the caller has no effect.
  public func latestKey(at path: String) async -> JournalKey? { latest[ByteText(path)] }

  /// Removes all entries whose keys satisfy the given predicate. Cancelling the caller has no effect.
  public func remove(where isRemoved: @Sendable (JournalKey) -> Bool) {
    entries = entries.filter { !isRemoved($0.key) }
    latest = latest.filter { !isRemoved($0.value) }
  }
}
