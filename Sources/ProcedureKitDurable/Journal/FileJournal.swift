internal import Dispatch
internal import Foundation
public import ProcedureKit
public import ProcedureKitFoundation

/// A journal in a file, which survives the end of the process at any moment.
///
/// ```swift
/// let journal = try FileJournal("thumbnails.journal")
/// let images = try await queue.run(thumbnails.durable(in: journal), input: "kitten.ppm")
/// ```
///
/// Entries are appended, each with its length and checksums. A process that is killed in the middle of an entry leaves a part of
/// it at the end: the next opening drops the part, and ``recovery`` and the log tell. Changed bytes anywhere else are an error, and
/// never a wrong value. An append that fails, as on a full disk, leaves all earlier entries readable, and later appends can succeed.
///
/// The file is locked: opening a file that is used by another journal is an error. The system gives the lock back when the process
/// ends, also if the process was killed. The lock is advisory, and on network file systems only as good as theirs.
///
/// The file has to keep its path while it is open: after it was renamed, removed or replaced, the next append throws
/// `JournalError` of the kind `moved`. A new file is readable and writable for its owner only.
///
/// The positions of all entries are held in memory, and the values are not. Reads and writes are on a thread of the journal.
public actor FileJournal: ProcedureJournal {
  /// When the journal tells the system to write to the storage.
  public enum Flush: Hashable, Sendable {
    /// Before an append returns: no entry is lost, also if the power fails. Appends that wait at the same time share a flush. If the
    /// power fails during an append, some file systems leave a damaged end: ``DamagePolicy/cutOff`` drops no entry whose append had
    /// returned then.
    case everyEntry
    /// After this many entries, and when the journal is closed. If the power fails, fewer entries than that may be lost, the latest
    /// ones; their procedures are executed again. If only the process is killed, no entry is lost.
    case every(Int)
    /// Never: the system writes when it sees fit, usually within a minute. If the power fails, the latest entries may be lost, or the
    /// file may be damaged. If only the process is killed, no entry is lost.
    case never
  }

  /// What happens when bytes of the file were changed.
  public enum DamagePolicy: Hashable, Sendable {
    /// Opening the file throws `JournalError`.
    case fail
    /// The damaged entry and all entries after it are dropped: their procedures are executed again.
    case cutOff
  }

  /// The bytes that were dropped from the end of the file when it was opened.
  public struct Recovery: Hashable, Sendable, CustomStringConvertible {
    /// How many bytes were dropped.
    public let droppedByteCount: Int
    /// Whether the bytes were the last entry, which had not been written to its end: its procedure had not finished for anybody.
    public let isTornEntry: Bool
    /// What happened, in a sentence.
    public let description: String
  }

  /// The path of the file.
  public nonisolated let name: String
  /// Converts values.
  public nonisolated let coder: any ProcedureCoder
  /// What was dropped when the file was opened; `nil` if nothing was.
  public nonisolated let recovery: Recovery?
  private nonisolated let executor = JournalExecutor()
  private let flush: Flush
  private var file: JournalFile?
  private var appendedCount = 0
  private var flushedCount = 0

  /// Opens a journal, or creates one. The whole file is read, by the calling thread.
  ///
  /// - Parameters:
  ///   - path: The path of the file, or of a link to it. A compaction writes a file beside it whose name also ends with `.compacting`,
  ///     and removes what has that name. A path that contains NUL is an error.
  ///   - flush: When the journal tells the system to write to the storage.
  ///   - onDamage: What happens when bytes of the file were changed.
  ///   - coder: Converts values.
  ///   - log: The log that tells of dropped bytes.
  /// - Throws: `JournalError`: the file is in use, no journal, of an unknown version, damaged, or cannot be opened.
  public init(
    _ path: String, flush: Flush = .everyEntry, onDamage: DamagePolicy = .fail,
    coder: any ProcedureCoder = JSONProcedureCoder(), log: ProcedureLog = .shared
  ) throws {
    try self.init(path: SystemText(path), flush: flush, onDamage: onDamage, coder: coder, log: log)
  }

  /// Internal, for the examples. Opens a journal whose path may not be UTF-8.
  package init(
    path: SystemText, flush: Flush = .everyEntry, onDamage: DamagePolicy = .fail,
    coder: any ProcedureCoder = JSONProcedureCoder(), log: ProcedureLog = .shared
  ) throws {
    let file = try JournalFile(path, onDamage: onDamage)
    (name, self.coder, self.flush, self.file, recovery) = (path.description, coder, flush, file, file.recovery)
    if let recovery { log.warning("\(recovery)") }
  }

  /// The executor of the journal.
  public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// The time since 1970, by the system's clock.
  public nonisolated var timeSince1970: Duration { .since1970 }

  /// Appends an entry. Cancelling the caller has no effect.
  ///
  /// - Parameters:
  ///   - bytes: The value.
  ///   - key: The key.
  /// - Throws: `JournalError`: the entry cannot be written, the file was renamed, removed or replaced, or the journal was closed.
  public func append(_ bytes: [UInt8], for key: JournalKey) async throws {
    try open().append(bytes, for: key)
    appendedCount += 1
    let own = appendedCount
    switch flush {
    case .everyEntry:
      // Appends that wait for their turn write before the one flush that all of them need.
      await executor.pass()
      if flushedCount < own { try flushAll() }
    case .every(let count): if appendedCount - flushedCount >= count { try flushAll() }
    case .never: break
    }
  }

  private func flushAll() throws {
    let count = appendedCount
    try open().flush()
    flushedCount = count
  }

  /// Returns the value of the latest entry of a key. Cancelling the caller has no effect.
  ///
  /// - Parameter key: The key.
  /// - Returns: The value, or `nil` if there is none.
  /// - Throws: `JournalError`: the entry is damaged or cannot be read, or the journal was closed.
  public func read(_ key: JournalKey) async throws -> [UInt8]? { try open().value(for: key) }

  /// Returns the key of the latest entry of a path. Cancelling the caller has no effect.
  ///
  /// - Parameter path: The path.
  /// - Returns: The key, or `nil` if there is none.
  /// - Throws: `JournalError`: the journal was closed.
  public func latestKey(at path: String) async throws -> JournalKey? { try open().latest[ByteText(path)] }

  /// How many keys have an entry; 0 after ``close()``.
  public var entryCount: Int { file?.places.count ?? 0 }

  /// The size of the file, with entries that later ones have replaced; 0 after ``close()``.
  public var byteCount: Int { file?.end ?? 0 }

  /// Rewrites the file without entries that later ones have replaced, and without entries that are not kept.
  ///
  /// The new file is written aside, flushed, and renamed: whenever the process is killed, the old or the new file is there. A kill can
  /// leave the file aside, which the next compaction replaces. Cancelling the caller has no effect.
  ///
  /// ```swift
  /// try await journal.compact { key in key.path.hasPrefix("thumbnails/") }
  /// ```
  ///
  /// - Parameter isKept: Returns whether to keep a key. A dropped key's procedure is executed again.
  /// - Throws: `JournalError`: the new file cannot be written, or an entry is damaged, and the old one is used on; the file was renamed,
  ///   removed or replaced; or the journal was closed.
  public func compact(keeping isKept: @Sendable (JournalKey) -> Bool = { _ in true }) async throws {
    try open().compact(isKept)
  }

  /// Flushes and closes the file, and gives the lock back. Cancelling the caller has no effect. Later uses of the journal throw.
  ///
  /// - Throws: `JournalError`: the storage has failed, so that the latest entries may be lost.
  public func close() async throws {
    defer { file = nil }
    if appendedCount > flushedCount, flush != .never {
      try file?.flush()
      // Appends that wait for a flush are safe.
      flushedCount = appendedCount
    }
  }

  private func open() throws -> JournalFile {
    guard let file else { throw JournalError(.closed, journal: name, "was closed: open it again, or close it later") }
    return file
  }
}

extension Duration {
  /// The time since 1970, by the system's clock.
  static var since1970: Duration { .seconds(Date().timeIntervalSince1970) }
}

/// Internal. Executes a journal on a thread of its own: a flush to the disk takes milliseconds, and must not block a thread of the tasks.
final class JournalExecutor: SerialExecutor {
  private let queue = DispatchQueue(label: "ProcedureKit journal")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  /// Returns when everything that has been enqueued before has executed. Cancelling the caller has no effect.
  func pass() async {
    await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
  }
}
