import Foundation
import ProcedureKit
import ProcedureKitFoundation

/// A hash of strings and of the contents of files. Different sequences of strings have different hashes.
struct Fingerprint {
  private var hash = SHA256()

  /// Adds a string, preceded by its length, so that different sequences of strings have different hashes.
  mutating func add(_ text: SystemText) {
    hash.add(Array("\(text.bytes.count):".utf8) + text.bytes)
  }

  /// Adds a string.
  mutating func add(_ text: String) { add(SystemText(text)) }

  /// Returns the hash as hexadecimal digits.
  mutating func finish() -> String { Self.digits(of: &hash) }

  private static func digits(of hash: inout SHA256) -> String {
    hash.finished().map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  // MARK: Files

  /// A folder that is being traversed.
  private struct Folder {
    let path: SystemText
    /// The remaining names, in reverse order.
    var names: [SystemText]
    var parts: [SystemText] = []
  }

  /// Returns the hash of a file or folder; `nil` if the path does not exist.
  ///
  /// The hash of a folder includes the names and contents of everything in it. The hash includes the permission to execute a file, but not
  /// times or owners. For a link in a folder, it includes the destination.
  ///
  /// The folders in which runners keep their records are not included. Otherwise, a task whose input is the folder of its task file would
  /// never be up to date. Pipes, sockets and devices in a folder are not opened; the hash includes only their names and kinds. A file that
  /// is deleted while its folder is being traversed is treated as missing.
  ///
  /// - Throws: ``TaskProblem`` if a file cannot be read; `CancellationError` if the task is cancelled.
  static func ofPath(_ path: SystemText) throws -> String? {
    // This function is not recursive, since folders can be deeply nested.
    var folders: [Folder] = []
    var result = try begin(path, followsLinks: true, &folders)
    while let last = folders.indices.last {
      try Task.checkCancellation()
      guard let name = folders[last].names.popLast() else {
        var fingerprint = Fingerprint()
        fingerprint.add("folder")
        for part in folders[last].parts { fingerprint.add(part) }
        let digits = fingerprint.finish()
        folders.removeLast()
        if folders.isEmpty { result = digits } else { folders[last - 1].parts.append(SystemText(digits)) }
        continue
      }
      folders[last].parts.append(name)
      if let digits = try begin("\(folders[last].path)/\(name)", followsLinks: false, &folders) {
        folders[last].parts.append(SystemText(digits))
      } else if folders.count == last + 1 {
        folders[last].parts.removeLast()
      }
    }
    return result
  }

  /// Returns the hash of the file or link at a path; `nil` if the path does not exist. For a folder, adds the folder to `folders`, and
  /// returns `nil`.
  private static func begin(_ path: SystemText, followsLinks: Bool, _ folders: inout [Folder]) throws -> String? {
    try Task.checkCancellation()
    do {
      guard let information = try SystemFiles.information(path, followsLinks: followsLinks) else { return nil }
      var fingerprint = Fingerprint()
      switch information.st_mode & S_IFMT {
      case S_IFREG:
        fingerprint.add(information.st_mode & S_IXUSR == 0 ? "file" : "program")
        fingerprint.add(try contents(path))
      case S_IFLNK:
        fingerprint.add("link")
        fingerprint.add(try SystemFiles.destination(ofLink: path))
      case S_IFDIR:
        let names = try SystemFiles.names(in: path)
        let records = Set(names.map { TaskRecords.folderName(for: $0) })
        let counted = names.filter { !(records.contains($0) && TaskRecords.isFolder("\(path)/\($0)")) }
        folders.append(Folder(path: path, names: counted.reversed()))
        return nil
      default:
        // A path that is specified in a task must lead to a file or a folder.
        if followsLinks { throw POSIXError(.EINVAL) }
        fingerprint.add("kind \(information.st_mode & S_IFMT)")
      }
      return fingerprint.finish()
    } catch let error as POSIXError {
      if error.code == .ENOENT || error.code == .ENOTDIR { return nil }
      throw TaskProblem.unreadable(path, error.code.rawValue)
    }
  }

  /// Returns the hash of the contents of a file.
  private static func contents(_ path: SystemText) throws -> String {
    // Opening must not block if the file has just been replaced with a pipe.
    let descriptor = try SystemFiles.open(path, O_RDONLY | O_NONBLOCK)
    defer { close(descriptor) }
    var contents = SHA256()
    try SystemFiles.read(descriptor) { bytes in
      contents.add(Array(bytes))
      try Task.checkCancellation()
    }
    return digits(of: &contents)
  }
}
