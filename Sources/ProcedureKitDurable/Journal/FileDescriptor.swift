internal import Foundation
internal import ProcedureKit

/// Internal. An open file, with the system calls that a journal needs. Releasing the last reference closes the file and releases its lock.
final class FileDescriptor {
  /// A failed system call.
  struct Failure: Error, CustomStringConvertible {
    let code: Int32

    static var latest: Failure { Failure(code: errno) }

    var description: String { String(cString: strerror(code)) }
  }

  private let number: Int32

  /// Opens a file. A new file is readable and writable only by its owner.
  ///
  /// A path that contains a NUL is invalid, because the system would use only the part before it.
  init(opening path: SystemText, _ flags: Int32) throws(Failure) {
    guard !path.containsZero else { throw Failure(code: EINVAL) }
    number = path.withCString { open($0, flags | O_CLOEXEC, 0o600) }
    if number < 0 { throw .latest }
  }

  /// Creates a file, replacing any existing file at the path. If there is a link at the path, the link itself is removed, and not followed.
  convenience init(replacing path: SystemText) throws(Failure) {
    guard !path.containsZero else { throw Failure(code: EINVAL) }
    _ = path.withCString { unlink($0) }
    try self.init(opening: path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW)
  }

  deinit {
    // A child process that is being spawned has a copy of the descriptor until its `exec`, and would hold the lock after `close`.
    flock(number, LOCK_UN)
    close(number)
  }

  /// Locks the file. Returns whether this succeeded. The system releases the lock when the process ends, even if it is killed.
  func lock() throws(Failure) -> Bool {
    if flock(number, LOCK_EX | LOCK_NB) == 0 { return true }
    if errno == EWOULDBLOCK { return false }
    throw .latest
  }

  /// Returns whether the path still refers to this file, and not to a file that has replaced it.
  func isFile(at path: SystemText) -> Bool {
    var (own, other) = (stat(), stat())
    return fstat(number, &own) == 0 && path.withCString { stat($0, &other) } == 0 && own.st_ino == other.st_ino
      && own.st_dev == other.st_dev
  }

  var isRegular: Bool {
    var status = stat()
    return fstat(number, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  /// Copies the permissions of another file.
  func takePermissions(of other: FileDescriptor) throws(Failure) {
    var status = stat()
    guard fstat(other.number, &status) == 0, fchmod(number, status.st_mode & 0o7777) == 0 else { throw .latest }
  }

  func size() throws(Failure) -> Int {
    var status = stat()
    guard fstat(number, &status) == 0 else { throw .latest }
    return Int(status.st_size)
  }

  /// Reads bytes at a position. Returns fewer bytes at the end of the file.
  func read(_ count: Int, at position: Int) throws(Failure) -> [UInt8] {
    var failure: Failure?
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let got = pread(number, buffer.baseAddress?.advanced(by: filled), count - filled, off_t(position + filled))
        if got < 0, errno == EINTR { continue }
        if got < 0 { failure = .latest }
        if got <= 0 { break }
        filled += got
      }
    }
    if let failure { throw failure }
    return bytes
  }

  /// Writes all bytes at a position.
  func write(_ bytes: [UInt8], at position: Int) throws(Failure) {
    var failure: Failure?
    bytes.withUnsafeBytes { buffer in
      var written = 0
      while written < buffer.count {
        let count = pwrite(
          number, buffer.baseAddress?.advanced(by: written), buffer.count - written, off_t(position + written))
        if count < 0, errno == EINTR { continue }
        if count <= 0 {
          failure = count < 0 ? .latest : Failure(code: ENOSPC)
          return
        }
        written += count
      }
    }
    if let failure { throw failure }
  }

  func truncate(to size: Int) throws(Failure) {
    guard ftruncate(number, off_t(size)) == 0 else { throw .latest }
  }

  /// Waits until the bytes are stored durably.
  func flush() throws(Failure) {
    #if canImport(Darwin)
      // A plain `fsync` would leave the bytes in the drive's cache.
      if fcntl(number, F_FULLFSYNC) == 0 { return }
    #endif
    guard fsync(number) == 0 else { throw .latest }
  }
}
