internal import Dispatch
internal import Foundation
public import ProcedureKit
public import ProcedureKitFoundation

/// A journal in a file, which survives if the process ends at any moment.
///
/// ```swift
/// let journal = try FileJournal("thumbnails.journal")
/// let images = try await queue.run(thumbnails.durable(in: journal), input: "kitten.ppm")
/// ```
///
/// Entries are appended, each with its length and checksums. A process that is killed while it is writing an entry leaves an incomplete
/// entry at the end. When the file is opened the next time, this entry is dropped, reported in ``recovery``, and logged. Changed bytes
/// anywhere else cause an error, and never a wrong value. If an append fails, for example because the disk is full, all earlier entries
/// stay readable, and later appends can succeed.
///
/// The file is locked: opening a file that another journal is using is an error. The system releases the lock when the process ends, even
/// if the process is killed. The lock is advisory; on a network file system, it is only as reliable as that file system's locks.
///
/// The path of the file must not change while the journal is open: if the file has been renamed, removed or replaced, the next append
/// throws a `JournalError` of the kind `moved`. A new file is readable and writable only by its owner.
///
/// The positions of all entries are kept in memory, but not the values. Reads and writes are performed on a thread of the journal's own.
public actor FileJournal: ProcedureJournal {
  /// When the journal makes the system write to the storage device.
  public enum Flush: Hashable, Sendable {
    /// Before an append returns: no entry is lost, even if the power fails. Appends that are waiting at the same time share a flush. If the
    /// power fails during an append, some file systems leave a damaged end; ``DamagePolicy/cutOff`` then drops no entry whose append had
    /// already returned.
    case everyEntry
    /// After this many entries, and when the journal is closed. If the power fails, up to this many of the latest entries may be lost;
    /// their procedures are executed again. If only the process is killed, no entry is lost.
    case every(Int)
    /// Never: the system chooses when to write, usually within a minute. If the power fails, the latest entries may be lost, or the file
    /// may be damaged. If only the process is killed, no entry is lost.
    case never
  }

  /// What happens if bytes in the file have been changed.
  public enum DamagePolicy: Hashable, Sendable {
    /// Opening the file throws `JournalError`.
    case fail
    /// The damaged entry and all entries after it are dropped: their procedures are executed again.
    case cutOff
  }

  /// The bytes that were dropped from the end of the file when it was opened.
  public struct Recovery: Hashable, Sendable, CustomStringConvertible {
    /// The number of dropped bytes.
    public let droppedByteCount: Int
    /// Whether the bytes were an incomplete last entry, whose procedure had not finished.
    public let isTornEntry: Bool
    /// A sentence that describes the recovery.
    public let description: String
  }

  /// The path of the file.
  public nonisolated let name: String
  /// The coder that converts values.
  public nonisolated let coder: any ProcedureCoder
  /// The bytes that were dropped when the file was opened; `nil` if none were.
  public nonisolated let recovery: Recovery?
  private nonisolated let executor = JournalExecutor()
  private let flush: Flush
  private var file: JournalFile?
  private var appendedCount = 0
  private var flushedCount = 0

  /// Opens a journal, or creates one. The whole file is read on the calling thread.
  ///
  /// - Parameters:
  ///   - path: The path of the file, or of a link to it. Compaction writes a file in the same folder, whose name has `.compacting`
  ///     appended, and replaces any existing file of that name. A path that contains a NUL is an error.
  ///   - flush: When the journal makes the system write to the storage device.
  ///   - onDamage: What happens if bytes in the file have been changed.
  ///   - coder: The coder that converts values.
  ///   - log: The log that receives a message if bytes are dropped.
  /// - Throws: `JournalError` if the file is in use, is not a journal, has an unknown version, is damaged, or cannot be opened.
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
    if let recovery { log.log(level: .warning, "\(recovery)") }
  }

  /// The executor on which the journal runs.
  public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// The time since 1970 according to the system's clock.
  public nonisolated var timeSince1970: Duration { .since1970 }

  /// Appends an entry. Cancelling the caller has no effect.
  ///
  /// - Parameters:
  ///   - bytes: The value.
  ///   - key: The key.
  /// - Throws: `JournalError` if the entry cannot be written, the file was renamed, removed or replaced, or the journal was closed.
  public func append(_ bytes: [UInt8], for key: JournalKey) async throws {
    try open().append(bytes, for: key)
    appendedCount += 1
    let own = appendedCount
    switch flush {
    case .everyEntry:
      // Waiting appends write their entries before the one flush that they share.
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

  /// Returns the value of the latest entry for a key. Cancelling the caller has no effect.
  ///
  /// - Parameter key: The key.
  /// - Returns: The value, or `nil` if there is none.
  /// - Throws: `JournalError` if the entry is damaged or cannot be read, or the journal was closed.
  public func read(_ key: JournalKey) async throws -> [UInt8]? { try open().value(for: key) }

  /// Returns the key of the latest entry with a path. Cancelling the caller has no effect.
  ///
  /// - Parameter path: The path.
  /// - Returns: The key, or `nil` if there is none.
  /// - Throws: `JournalError` if the journal was closed.
  public func latestKey(at path: String) async throws -> JournalKey? { try open().latest[ByteText(path)] }

  /// The number of keys that have an entry; 0 after ``close()``.
  public var entryCount: Int { file?.places.count ?? 0 }

  /// The size of the file, including replaced entries; 0 after ``close()``.
  public var byteCount: Int { file?.end ?? 0 }

  /// Rewrites the file without replaced entries, and without entries that should not be kept.
  ///
  /// The new file is written in the same folder, flushed, and renamed: at every moment, either the old or the new file exists. If the
  /// process is killed, a temporary file may be left over, which the next compaction replaces. Cancelling the caller has no effect.
  ///
  /// ```swift
  /// try await journal.compact { key in key.path.hasPrefix("thumbnails/") }
  /// ```
  ///
  /// - Parameter isKept: Returns whether the entry for a key is kept. If it is dropped, its procedure is executed again.
  /// - Throws: `JournalError` if the new file cannot be written, or an entry is damaged, in which case the old file stays in use; if the
  ///   file was renamed, removed or replaced; or if the journal was closed.
  public func compact(keeping isKept: @Sendable (JournalKey) -> Bool = { _ in true }) async throws {
    try open().compact(isKept)
  }

  /// Flushes and closes the file, and releases the lock. Cancelling the caller has no effect. Using the journal afterwards throws an error.
  ///
  /// - Throws: `JournalError` if the storage device failed, in which case the latest entries may be lost.
  public func close() async throws {
    defer { file = nil }
    if appendedCount > flushedCount, flush != .never {
      try file?.flush()
      // Appends that were waiting for a flush have now been flushed.
      flushedCount = appendedCount
    }
  }

  private func open() throws -> JournalFile {
    guard let file else { throw JournalError(.closed, journal: name, "was closed. Open it again, or close it later") }
    return file
  }
}

extension Duration {
  /// The time since 1970 according to the system's clock.
  static var since1970: Duration { .seconds(Date().timeIntervalSince1970) }
}

/// Internal. Runs a journal on a separate thread: a flush to the disk takes milliseconds, and must not block a thread that runs tasks.
final class JournalExecutor: SerialExecutor {
  private let queue = DispatchQueue(label: "ProcedureKit journal")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  /// Waits until all earlier jobs have been executed. Cancelling the caller has no effect.
  func pass() async {
    await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
  }
}
