import Foundation

/// A file without a name, which is deleted when its last descriptor is closed.
///
/// A program's input is a file rather than a pipe, so no task has to write while the program is reading. If the program does not read its
/// input, this process does not receive a SIGPIPE.
enum UnlinkedFile {
  /// Creates a file that contains the bytes, and returns a descriptor for reading the file from its beginning.
  ///
  /// Unlike a descriptor of Foundation's `FileHandle` on Linux, this descriptor is not inherited by programs that this process starts.
  ///
  /// - Throws: `POSIXError` if the file cannot be written or opened.
  static func containing(_ data: Data, in folder: URL) throws -> Int32 {
    let path = folder.appendingPathComponent("ProcedureKit-\(UUID().uuidString)").path
    let writing = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard writing >= 0 else { throw failure }
    defer {
      close(writing)
      unlink(path)
    }
    try write(data, to: writing)
    let reading = open(path, O_RDONLY | O_CLOEXEC)
    guard reading >= 0 else { throw failure }
    return reading
  }

  private static func write(_ data: Data, to descriptor: Int32) throws {
    try data.withUnsafeBytes { bytes in
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = Foundation.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { throw failure }
        rest = rest.dropFirst(count)
      }
    }
  }

  private static var failure: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}
