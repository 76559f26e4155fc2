import Foundation
import ProcedureKit
import ProcedureKitFoundation

/// Writes files that are there as a whole or not at all.
enum AtomicFile {
  /// Temporary files begin like this; the leading dot hides them, and no input has such a name.
  static let temporaryPrefix: SystemText = ".kitten-"
  private static let pieceSize = 1 << 18

  /// Writes beside the destination and then renames, replacing a file that is there already.
  ///
  /// The temporary file is removed whatever happens, short of the process being killed. Not flushed to the disk: after a
  /// power failure the file system decides.
  ///
  /// - Throws: ``KittenError``; `CancellationError` between two pieces when the task has been cancelled.
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
  /// - Throws: `POSIXError`; `CancellationError` between two pieces.
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
    // Some file systems report a full disk only here.
    guard close(descriptor) == 0 else { throw POSIXError.latest }
  }
}
