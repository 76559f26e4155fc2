package import Foundation
package import ProcedureKit

/// Internal, also used by the examples. Makes system calls with file names as bytes. Foundation's functions take strings, in which names
/// that are not UTF-8 are repaired, and therefore refer to other files.
///
/// Errors are the system's errors, as `POSIXError`; a path that contains a NUL is invalid (`EINVAL`).
package enum SystemFiles {
  /// Returns the system's information about a file.
  ///
  /// - Parameters:
  ///   - path: The path.
  ///   - followsLinks: Whether a link at the end of the path is followed to its target.
  /// - Returns: The information; `nil` if there is no such file.
  /// - Throws: `POSIXError`.
  package static func information(_ path: SystemText, followsLinks: Bool = true) throws(POSIXError) -> stat? {
    var information = stat()
    let status = try call(path) { followsLinks ? stat($0, &information) : lstat($0, &information) }
    if status == 0 { return information }
    if errno == ENOENT || errno == ENOTDIR { return nil }
    throw .latest
  }

  /// Returns whether there is a folder at the path.
  package static func isFolder(_ path: SystemText) -> Bool {
    guard let information = try? information(path) else { return false }
    return information.st_mode & S_IFMT == S_IFDIR
  }

  /// Opens a file so that started programs do not inherit it.
  package static func open(_ path: SystemText, _ flags: Int32, mode: mode_t = 0) throws(POSIXError) -> Int32 {
    while true {
      let descriptor = try call(path) { Foundation.open($0, flags | O_CLOEXEC, mode) }
      if descriptor >= 0 { return descriptor }
      if errno != EINTR { throw .latest }
    }
  }

  /// Reads a descriptor to its end, in chunks.
  ///
  /// - Parameters:
  ///   - descriptor: The descriptor, which stays open.
  ///   - receive: Called for each chunk.
  /// - Throws: `POSIXError`, or the error thrown by the function.
  package static func read<E: Error>(_ descriptor: Int32, _ receive: (ArraySlice<UInt8>) throws(E) -> Void) throws {
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = Foundation.read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw POSIXError.latest }
      if count == 0 { return }
      try receive(buffer[..<count])
    }
  }

  /// Returns the contents of a file, a pipe or a device.
  package static func contents(_ path: SystemText) throws -> [UInt8] {
    let descriptor = try open(path, O_RDONLY)
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    try read(descriptor) { bytes += $0 }
    return bytes
  }

  /// Writes all bytes.
  package static func write(_ bytes: some Collection<UInt8>, to descriptor: Int32) throws(POSIXError) {
    let bytes = Array(bytes)
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes { buffer in
        Foundation.write(descriptor, buffer.baseAddress?.advanced(by: written), buffer.count - written)
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw count == 0 ? POSIXError(.EIO) : .latest }
      written += count
    }
  }

  /// Returns the names in a folder, except `.` and `..`, in byte order.
  package static func names(in folder: SystemText) throws(POSIXError) -> [SystemText] {
    let descriptor = try open(folder, O_RDONLY | O_DIRECTORY)
    guard let stream = fdopendir(descriptor) else {
      let error = POSIXError.latest
      close(descriptor)
      throw error
    }
    defer { closedir(stream) }
    var names: [SystemText] = []
    while true {
      errno = 0
      guard let entry = readdir(stream) else {
        guard errno == 0 else { throw .latest }
        return names.sorted()
      }
      let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
        name.withMemoryRebound(to: CChar.self, capacity: 1) { SystemText(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
  }

  /// Returns the destination of a link.
  package static func destination(ofLink path: SystemText) throws(POSIXError) -> SystemText {
    let limit = Int(PATH_MAX)
    var buffer = [CChar](repeating: 0, count: limit)
    let count = try call(path) { readlink($0, &buffer, limit) }
    guard count >= 0 else { throw .latest }
    return SystemText(bytes: buffer[..<count].map { UInt8(bitPattern: $0) })
  }

  /// Returns the path without links, `.` and `..`; `nil` if there is no such file.
  package static func resolved(_ path: SystemText) -> SystemText? {
    guard !path.containsZero, let resolved = path.withCString({ realpath($0, nil) }) else { return nil }
    defer { free(resolved) }
    return SystemText(cString: resolved)
  }

  /// Returns the folder to which paths are relative.
  package static func currentFolder() throws(POSIXError) -> SystemText {
    guard let folder = getcwd(nil, 0) else { throw .latest }
    defer { free(folder) }
    return SystemText(cString: folder)
  }

  /// Creates a folder, including any missing parent folders.
  package static func makeFolders(_ path: SystemText) throws(POSIXError) {
    let slash = UInt8(ascii: "/")
    let ends = path.bytes.indices.dropFirst().filter { path.bytes[$0] == slash } + [path.bytes.count]
    for end in ends where path.bytes[end - 1] != slash {
      let folder = SystemText(bytes: path.bytes[..<end])
      guard try call(folder, { mkdir($0, 0o777) }) != 0 else { continue }
      // The error may be due to a read-only file system, although the folder exists.
      let error = POSIXError.latest
      guard isFolder(folder) else { throw error.code == .EEXIST ? POSIXError(.ENOTDIR) : error }
    }
  }

  /// Moves a file to another path, replacing any existing file there.
  package static func rename(_ path: SystemText, to newPath: SystemText) throws(POSIXError) {
    let status = try call(path) { (old) throws(POSIXError) in
      try call(newPath) { new in Foundation.rename(old, new) }
    }
    guard status == 0 else { throw .latest }
  }

  /// Creates a temporary file in the same folder as another path. When it is complete, it can be moved to that path, so that readers never
  /// see a part of it.
  ///
  /// The name cannot be guessed, and no existing file is opened, so a link cannot redirect the bytes.
  ///
  /// - Parameters:
  ///   - path: The path in whose folder the file is created.
  ///   - prefix: The beginning of the file's name, which ends in `.partial`.
  ///   - mode: The permissions, from which the system removes those in the process's mask.
  /// - Returns: The path of the file, and a descriptor to write to.
  /// - Throws: `POSIXError`.
  package static func makePartial(
    beside path: SystemText, prefix: SystemText, mode: mode_t
  ) throws(POSIXError) -> (path: SystemText, descriptor: Int32) {
    let number = (0..<2).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined()
    let end = path.bytes.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
    let partial: SystemText = "\(SystemText(bytes: path.bytes[..<end]))\(prefix)\(number).partial"
    return (partial, try open(partial, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW, mode: mode))
  }

  /// Removes a file or a link. Has no effect if there is none.
  package static func remove(_ path: SystemText) throws(POSIXError) {
    guard try call(path, { unlink($0) }) != 0, errno != ENOENT else { return }
    throw .latest
  }

  /// Calls a function with a path.
  package static func call<R>(
    _ path: SystemText, _ body: (UnsafePointer<CChar>) throws(POSIXError) -> R
  ) throws(POSIXError) -> R {
    guard !path.containsZero else { throw POSIXError(.EINVAL) }
    return try path.withCString(body)
  }
}

extension POSIXError {
  /// The error of the last failed system call on this thread.
  package static var latest: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }

  /// The system's text for the error, for example `No such file or directory`.
  package var reason: String { String(cString: strerror(code.rawValue)) }
}
