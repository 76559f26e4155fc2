import Foundation
import ProcedureKit
import ProcedureKitFoundation

/// Functions that write files atomically: either completely or not at all.
enum AtomicFile {
  /// The prefix of temporary file names. The leading dot hides these files, and excludes them from the inputs.
  static let temporaryPrefix: SystemText = ".kitten-"
  private static let pieceSize = 1 << 18

  /// Writes to a temporary file in the same directory, and then renames it, replacing any existing file.
  ///
  /// The temporary file is always removed, unless the process is killed. Nothing is flushed to the disk, so the result after a power
  /// failure depends on the file system.
  ///
  /// - Throws: ``KittenError`` if the file cannot be written; `CancellationError` between two chunks if the task is cancelled.
  static func write(_ bytes: [UInt8], to path: SystemText) throws {
    do {
      let partial = try SystemFiles.makePartial(beside: path, prefix: temporaryPrefix, mode: 0o666)
      do {
        try fill(partial.descriptor, with: bytes)
        try Task.checkCancellation()
        try SystemFiles.rename(partial.path, to: path)
      } catch {
        try? SystemFiles.remove(partial.path)
        throw error
      }
    } catch let error as POSIXError {
      throw KittenError.unwritableFile(path, SystemError(error))
    }
  }

  /// Writes to a descriptor, and closes it.
  ///
  /// - Throws: `POSIXError` if writing or closing fails; `CancellationError` between two chunks if the task is cancelled.
  static func fill(_ descriptor: Int32, with bytes: [UInt8]) throws {
    do {
      for start in stride(from: 0, to: bytes.count, by: pieceSize) {
        try Task.checkCancellation()
        try SystemFiles.write(bytes[start..<min(start + pieceSize, bytes.count)], to: descriptor)
      }
    } catch {
      close(descriptor)
      throw error
    }
    // Some file systems report a full disk only when the file is closed.
    guard close(descriptor) == 0 else { throw POSIXError.latest }
  }
}
