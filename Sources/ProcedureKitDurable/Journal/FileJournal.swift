internal import Dispatch
internal import Foundation
public import ProcedureKit
public import ProcedureKitFoundation

/// A journal that is stored in a file. The file remains usable no matter when the process ends.
///
/// ```swift
/// let journal = try FileJournal("thumbnails.journal")
/// let images = try await queue.run(thumbnails.durable(in: journal), input: "kitten.ppm")
/// ```
///
/// Entries are appended to the file, each with its length and checksums. A process that is killed while it is writing an entry leaves an
/// incomplete entry at the end of the file. The next time the file is opened, this entry is dropped, reported in ``recovery``, and logged.
/// If bytes were changed anywhere else, the checksums reveal the change, and an error is thrown instead of returning a wrong value. To drop
/// the damaged entries when the file is opened, use ``DamagePolicy/cutOff``. If an append fails, for example because the disk is full, all
/// earlier entries stay readable, and later appends can succeed.
///
/// The journal locks its file, so opening a file that another journal is using throws an error. The system releases the lock when the
/// process ends, even if the process is killed. The lock is advisory, and on a network file system, it is only as reliable as that file
/// system's locks.
///
/// The file must not be renamed, removed, or replaced while the journal is open. If this happens, the next append throws a `JournalError`
/// of kind `moved`. If the journal creates the file, only the file's owner can read and write it.
///
/// The journal keeps the positions of all entries in memory, but not their values. It reads and writes on a separate thread.
public actor FileJournal: ProcedureJournal {
  /// A policy that determines when the journal flushes its file. Flushing writes the appended entries to the storage device.
  @nonexhaustive
  public enum Flush: Hashable, Sendable {
    /// The file is flushed before an append returns, so no entry is lost, even if the power fails. Concurrent appends share a flush. If
    /// the power fails during an append, some file systems leave damaged bytes at the end of the file. Even then, opening the file with
    /// ``DamagePolicy/cutOff`` drops no entry whose append had already returned.
    case everyEntry
    /// The file is flushed after this many entries, and when the journal is closed. If the power fails, some of the latest entries may be
    /// lost, but always fewer than this number. The corresponding procedures are then executed again. If only the process is killed, no
    /// entry is lost.
    case every(Int)
    /// The journal never flushes the file. The system decides when to write it to the storage device, usually within a minute. If the power
    /// fails, the latest entries may be lost, or the file may be damaged. If only the process is killed, no entry is lost.
    case never
  }

  /// A policy that determines what happens when a damaged file is opened.
  @nonexhaustive
  public enum DamagePolicy: Hashable, Sendable {
    /// Opening the file throws a `JournalError`.
    case fail
    /// The damaged entry and all entries after it are dropped, so the corresponding procedures are executed again.
    case cutOff
  }

  /// The bytes that were dropped from the end of the file when it was opened.
  public struct Recovery: Hashable, Sendable, CustomStringConvertible {
    /// The number of dropped bytes.
    public let droppedByteCount: Int
    /// Whether the bytes were an incomplete last entry. The call that appended such an entry never returned.
    public let isTornEntry: Bool
    /// A sentence that describes the recovery.
    public let description: String
  }

  /// The path of the file.
  public nonisolated let name: String
  /// The coder that encodes and decodes values.
  public nonisolated let coder: any ProcedureCoder
  /// A description of the bytes that were dropped when the file was opened; `nil` if no bytes were dropped.
  public nonisolated let recovery: Recovery?
  private nonisolated let executor = JournalExecutor()
  private let flush: Flush
  private var file: JournalFile?
  private var appendedCount = 0
  private var flushedCount = 0

  /// Opens a journal, or creates it if the file does not exist. The initializer reads the whole file on the calling thread.
  ///
  /// - Parameters:
  ///   - path: The path of the file, or of a symbolic link to it. Compaction creates a temporary file in the same folder, with
  ///     `.compacting` appended to the name. It replaces any existing file with that name. A path that contains a NUL character causes an
  ///     error.
  ///   - flush: The policy for flushing appended entries to the storage device.
  ///   - onDamage: The policy that determines what happens if the file is damaged.
  ///   - coder: The coder that encodes and decodes values.
  ///   - log: The log that receives a message if bytes are dropped.
  /// - Throws: `JournalError` if the file is in use, is not a journal, has an unknown version, is damaged, or cannot be opened.
  public init(
    _ path: String, flush: Flush = .everyEntry, onDamage: DamagePolicy = .fail,
    coder: any ProcedureCoder = JSONProcedureCoder(), log: ProcedureLog = .shared
  ) throws {
    try self.init(path: SystemText(path), flush: flush, onDamage: onDamage, coder: coder, log: log)
  }

  /// Opens a journal whose path does not have to be valid UTF-8. Only the examples use this initializer.
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
      // First, let the appends that are waiting for the journal write their entries, so that they share one flush.
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

  /// Returns the key of the latest entry with the given path. Cancelling the caller has no effect.
  ///
  /// - Parameter path: The path.
  /// - Returns: The key, or `nil` if there is none.
  /// - Throws: `JournalError` if the journal was closed.
  public func latestKey(at path: String) async throws -> JournalKey? { try open().latest[ByteText(path)] }

  /// The number of keys that have entries. After ``close()``, the number is 0.
  public var entryCount: Int { file?.places.count ?? 0 }

  /// The size of the file in bytes, including replaced entries. After ``close()``, the size is 0.
  public var byteCount: Int { file?.end ?? 0 }

  /// Makes the file smaller by removing entries that have been replaced or should not be kept.
  ///
  /// The function writes a new file in the same folder, flushes it, and renames it. At any time, the path therefore refers to either the
  /// old or the new file. If the process is killed, a temporary file may remain. The next compaction replaces it. Cancelling the caller has
  /// no effect.
  ///
  /// ```swift
  /// try await journal.compact { key in key.path.hasPrefix("thumbnails/") }
  /// ```
  ///
  /// - Parameter isKept: A closure that returns whether to keep the entry for a key. If the entry is dropped, the corresponding procedure
  ///   is executed again.
  /// - Throws: `JournalError` if the new file cannot be written or an entry is damaged. In that case, the old file stays in use. If the new
  ///   file has replaced the old one, but the folder could not be flushed, the error means that the journal accepts no more entries until
  ///   it is reopened. `JournalError` is also thrown if the file was renamed, removed, or replaced, or if the journal was closed.
  public func compact(keeping isKept: @Sendable (JournalKey) -> Bool = { _ in true }) async throws {
    try open().compact(isKept)
  }

  /// Flushes and closes the file, and releases its lock. Using the journal afterwards throws an error. Cancelling the caller has no effect.
  ///
  /// - Throws: `JournalError` if flushing the file failed, in which case the latest entries may be lost.
  public func close() async throws {
    defer { file = nil }
    if appendedCount > flushedCount, flush != .never {
      try file?.flush()
      // Appends that were waiting for a flush do not need another one.
      flushedCount = appendedCount
    }
  }

  private func open() throws -> JournalFile {
    guard let file else {
      throw JournalError(
        .closed, journal: name, "is closed", advice: "Reopen the journal, or close it only after its last use")
    }
    return file
  }
}

extension Duration {
  /// The time since 1970 according to the system's clock.
  static var since1970: Duration { .seconds(Date().timeIntervalSince1970) }
}

/// An executor that runs a journal on a separate thread. Flushing a file takes milliseconds and must not block a thread that runs tasks.
final class JournalExecutor: SerialExecutor {
  private let queue = DispatchQueue(label: "ProcedureKit journal")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  /// Waits until all jobs that were enqueued earlier have been executed. Cancelling the caller has no effect.
  func pass() async {
    await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
  }
}
