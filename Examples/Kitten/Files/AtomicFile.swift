import Foundation
import Synchronization

/// Writes files that are there as a whole or not at all.
enum AtomicFile {
  /// Temporary files begin and end like this; the leading dot hides them, and no input has such a name.
  static let temporaryPrefix = ".kitten-"
  static let temporarySuffix = ".partial"

  private static let number = Atomic<Int>(0)
  private static let pieceSize = 1 << 18

  /// Writes beside the destination and then renames, replacing a file that is there already.
  ///
  /// The temporary file is removed whatever happens, short of the process being killed. Not flushed to the disk: after a
  /// power failure the file system decides.
  ///
  /// - Throws: ``KittenError``; `CancellationError` between two pieces when the task has been cancelled.
  static func write(_ bytes: [UInt8], to path: String) throws {
    let (_, serial) = number.add(1, ordering: .relaxed)
    let directory = URL(filePath: path).deletingLastPathComponent()
    let name = "\(temporaryPrefix)\(getpid())-\(serial)\(temporarySuffix)"
    let temporary = directory.appending(path: name).path(percentEncoded: false)
    do {
      try fill(temporary, with: bytes)
      try Task.checkCancellation()
      guard rename(temporary, path) == 0 else { throw SystemError.latest }
    } catch {
      unlink(temporary)
      if let error = error as? SystemError { throw KittenError.unwritableFile(path, error) }
      throw error
    }
  }

  /// Creates a file, not atomically.
  ///
  /// - Throws: ``SystemError``; `CancellationError` between two pieces.
  static func fill(_ path: String, with bytes: [UInt8]) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw SystemError.latest }
    do {
      try bytes.withUnsafeBytes { buffer in
        var written = 0
        while written < buffer.count {
          try Task.checkCancellation()
          let piece = min(pieceSize, buffer.count - written)
          let accepted = Foundation.write(descriptor, buffer.baseAddress?.advanced(by: written), piece)
          if accepted < 0, errno == EINTR { continue }
          guard accepted >= 0 else { throw SystemError.latest }
          written += accepted
        }
      }
    } catch {
      close(descriptor)
      throw error
    }
    // Some file systems report a full disk only here.
    guard close(descriptor) == 0 else { throw SystemError.latest }
  }
}
