package import Foundation
package import ProcedureKit

/// System calls that take file names as bytes. The library and its examples use them because Foundation's functions take strings. If a name
/// is not valid UTF-8, converting it to a string would change the name. The changed name would refer to a different file.
///
/// The functions throw the system's errors as `POSIXError`. A path that contains a NUL character causes the error `EINVAL`.
package enum SystemFiles {
  /// Returns the system's information about a file.
  ///
  /// - Parameters:
  ///   - path: The path.
  ///   - followsLinks: Whether a symbolic link at the end of the path is followed to its target.
  /// - Returns: The information; `nil` if there is no such file.
  /// - Throws: `POSIXError` if the information cannot be read.
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

  /// Opens a file. Child processes do not inherit the descriptor.
  package static func open(_ path: SystemText, _ flags: Int32, mode: mode_t = 0) throws(POSIXError) -> Int32 {
    while true {
      let descriptor = try call(path) { Foundation.open($0, flags | O_CLOEXEC, mode) }
      if descriptor >= 0 { return descriptor }
      if errno != EINTR { throw .latest }
    }
  }

  /// Reads from a descriptor in chunks until the end of the file.
  ///
  /// - Parameters:
  ///   - descriptor: The descriptor. The function does not close it.
  ///   - receive: A closure that receives each chunk.
  /// - Throws: `POSIXError` if reading fails; any error thrown by `receive`.
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

  /// Writes all the bytes to a descriptor.
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

  /// Returns the names of the entries in a folder, except `.` and `..`, sorted by their bytes.
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

  /// Returns the destination of a symbolic link.
  package static func destination(ofLink path: SystemText) throws(POSIXError) -> SystemText {
    let limit = Int(PATH_MAX)
    var buffer = [CChar](repeating: 0, count: limit)
    let count = try call(path) { readlink($0, &buffer, limit) }
    guard count >= 0 else { throw .latest }
    return SystemText(bytes: buffer[..<count].map { UInt8(bitPattern: $0) })
  }

  /// Returns the absolute path that results from resolving symbolic links, `.`, and `..`; `nil` if there is no such file.
  package static func resolved(_ path: SystemText) -> SystemText? {
    guard !path.containsZero, let resolved = path.withCString({ realpath($0, nil) }) else { return nil }
    defer { free(resolved) }
    return SystemText(cString: resolved)
  }

  /// Returns the working directory, against which relative paths are resolved.
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
      // On a read-only file system, `mkdir` can fail with an error other than `EEXIST`, even though the folder exists.
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

  /// Creates a temporary file in the same folder as the given path. Once the file is complete, it can be moved to that path, so that
  /// readers never see an incomplete file.
  ///
  /// The file's name cannot be guessed, and the function never opens an existing file. An attacker therefore cannot use a link to redirect
  /// what is written.
  ///
  /// - Parameters:
  ///   - path: The path to which the complete file will be moved. The temporary file is created in the same folder.
  ///   - prefix: The beginning of the temporary file's name. The name ends with `.partial`.
  ///   - mode: The permissions of the file. The system removes any permissions that are set in the process's file mode creation mask
  ///     (`umask`).
  /// - Returns: The path of the temporary file, and a descriptor for writing to it.
  /// - Throws: `POSIXError` if the file cannot be created.
  package static func makePartial(
    beside path: SystemText, prefix: SystemText, mode: mode_t
  ) throws(POSIXError) -> (path: SystemText, descriptor: Int32) {
    let number = (0..<2).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined()
    let end = path.bytes.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
    let partial: SystemText = "\(SystemText(bytes: path.bytes[..<end]))\(prefix)\(number).partial"
    return (partial, try open(partial, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW, mode: mode))
  }

  /// Removes a file or a symbolic link. If there is nothing at the path, the function has no effect.
  package static func remove(_ path: SystemText) throws(POSIXError) {
    guard try call(path, { unlink($0) }) != 0, errno != ENOENT else { return }
    throw .latest
  }

  /// Makes a system call, passing a path as a C string.
  package static func call<R>(
    _ path: SystemText, _ body: (UnsafePointer<CChar>) throws(POSIXError) -> R
  ) throws(POSIXError) -> R {
    guard !path.containsZero else { throw POSIXError(.EINVAL) }
    return try path.withCString(body)
  }
}

extension POSIXError {
  /// The error from the most recent failed system call on this thread.
  package static var latest: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }

  /// The system's description of the error, for example `No such file or directory`.
  package var reason: String { String(cString: strerror(code.rawValue)) }
}
