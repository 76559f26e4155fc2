internal import Foundation
internal import ProcedureKit

/// An open file, with the system calls that a journal needs. When the last reference is released, the file is closed and its lock is
/// released.
final class FileDescriptor {
  /// An error that a system call reported.
  struct Failure: Error, CustomStringConvertible {
    let code: Int32

    static var latest: Failure { Failure(code: errno) }

    var description: String { String(cString: strerror(code)) }
  }

  private let number: Int32

  /// Opens a file. If the file is created, only its owner can read and write it.
  ///
  /// A path that contains a NUL character is invalid, because the system would use only the part before that character.
  init(opening path: SystemText, _ flags: Int32) throws(Failure) {
    guard !path.containsZero else { throw Failure(code: EINVAL) }
    number = path.withCString { open($0, flags | O_CLOEXEC, 0o600) }
    if number < 0 { throw .latest }
  }

  /// Creates a file, replacing any existing file at the path. If there is a symbolic link at the path, the link is replaced, and its target
  /// is not changed.
  convenience init(replacing path: SystemText) throws(Failure) {
    guard !path.containsZero else { throw Failure(code: EINVAL) }
    _ = path.withCString { unlink($0) }
    try self.init(opening: path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW)
  }

  deinit {
    // The lock is released explicitly, because a child process that is being spawned has a copy of the descriptor until it calls `exec`,
    // and would otherwise keep the lock after `close`.
    flock(number, LOCK_UN)
    close(number)
  }

  /// Tries to lock the file and returns whether it succeeded. The system releases the lock when the process ends, even if the process
  /// is killed.
  func lock() throws(Failure) -> Bool {
    if flock(number, LOCK_EX | LOCK_NB) == 0 { return true }
    if errno == EWOULDBLOCK { return false }
    throw .latest
  }

  /// Returns whether the path still refers to this file, rather than to a file that has replaced it.
  func isFile(at path: SystemText) -> Bool {
    var (own, other) = (stat(), stat())
    return fstat(number, &own) == 0 && path.withCString { stat($0, &other) } == 0 && own.st_ino == other.st_ino
      && own.st_dev == other.st_dev
  }

  var isRegular: Bool {
    var status = stat()
    return fstat(number, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  /// Gives this file the permissions of another file.
  func takePermissions(of other: FileDescriptor) throws(Failure) {
    var status = stat()
    guard fstat(other.number, &status) == 0, fchmod(number, status.st_mode & 0o7777) == 0 else { throw .latest }
  }

  func size() throws(Failure) -> Int {
    var status = stat()
    guard fstat(number, &status) == 0 else { throw .latest }
    return Int(status.st_size)
  }

  /// Reads bytes at a position. Returns fewer bytes than requested if the file ends first.
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

  /// Writes all the bytes at a position.
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

  /// Waits until everything that has been written is on the storage device.
  func flush() throws(Failure) {
    #if canImport(Darwin)
      // On Apple platforms, `fsync` alone can leave the bytes in the drive's cache.
      if fcntl(number, F_FULLFSYNC) == 0 { return }
    #endif
    guard fsync(number) == 0 else { throw .latest }
  }
}
