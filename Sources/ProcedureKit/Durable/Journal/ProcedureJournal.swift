/// A store of finished values that outlives the process, for `remembered(in:as:version:rememberingFailures:)` and
/// `durable(in:as:version:rememberingFailures:)`.
///
/// A journal holds bytes under keys, and does not interpret them. `FileJournal` of ProcedureKitFoundation is a file, and
/// `InMemoryJournal` is for tests. A journal of your own, in a database for example, has to keep these promises:
///
/// - When ``append(_:for:)`` returns, a later ``read(_:)`` returns the bytes, also in a process that starts after this process
///   was killed.
/// - An entry that is there implies all entries whose `append` had returned before that entry's `append` was called.
/// - A damaged entry is an error, and never other bytes.
///
/// All functions can be called concurrently.
public protocol ProcedureJournal: Sendable {
  /// The name in errors, logs and the events of reused values.
  var name: String { get }

  /// Converts values for this journal. A journal that was written by one coder cannot be read by another one.
  var coder: any ProcedureCoder { get }

  /// The time since 1970 by a clock that goes on while no process runs, for times that count across processes.
  var timeSince1970: Duration { get }

  /// Appends an entry, which replaces an earlier entry of an equal key.
  ///
  /// Cancelling the caller does not undo an append: the function returns when the entry is as safe as the journal promises.
  ///
  /// - Parameters:
  ///   - bytes: The bytes; they may be empty.
  ///   - key: The key.
  /// - Throws: The reason why the entry is not safe. Earlier entries stay readable.
  func append(_ bytes: [UInt8], for key: JournalKey) async throws

  /// Returns the bytes of the latest entry of a key. Cancelling the caller has no effect.
  ///
  /// - Parameter key: The key.
  /// - Returns: The bytes, or `nil` if there is no entry.
  /// - Throws: An error if the entry cannot be read, or is damaged.
  func read(_ key: JournalKey) async throws -> [UInt8]?

  /// Returns the key of the latest entry whose key has a path, whatever its fingerprint. It explains why a procedure is executed
  /// again. Cancelling the caller has no effect.
  ///
  /// - Parameter path: The path.
  /// - Returns: The key, or `nil` if there is none, or if the journal does not know. The default is `nil`.
  /// - Throws: An error if the journal cannot be read.
  func latestKey(at path: String) async throws -> JournalKey?
}

extension ProcedureJournal {
  /// Returns `nil`: the journal does not know; see ``latestKey(at:)``.
  public func latestKey(at path: String) async throws -> JournalKey? { nil }
}
