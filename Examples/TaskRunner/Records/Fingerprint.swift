import Foundation
import ProcedureKit

/// A hash of texts and of the contents of files. Different sequences of parts have different hashes.
struct Fingerprint {
  private var hash = SHA256()

  /// Adds a text. Its length comes first, so that no two sequences of texts are alike.
  mutating func add(_ text: String) {
    hash.add(Array("\(text.utf8.count):\(text)".utf8))
  }

  /// Returns the hash in hexadecimal digits.
  mutating func finish() -> String { Self.digits(of: &hash) }

  private static func digits(of hash: inout SHA256) -> String {
    hash.finished().map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  // MARK: Files

  /// Returns the hash of a file or folder, or `nil` if there is none. A folder's is that of all names and contents within. Permission to
  /// execute counts, times and owners do not. Links within a folder count by where they lead.
  ///
  /// - Throws: ``TaskProblem`` for what cannot be read; `CancellationError` when the task has been cancelled.
  static func ofPath(_ path: String) throws -> String? {
    var information = stat()
    guard stat(path, &information) == 0 else {
      if errno == ENOENT || errno == ENOTDIR { return nil }
      throw TaskProblem.unreadable(path, errno)
    }
    var fingerprint = Fingerprint()
    try fingerprint.add(path, information)
    return fingerprint.finish()
  }

  private mutating func add(_ path: String, _ information: stat) throws {
    try Task.checkCancellation()
    switch information.st_mode & S_IFMT {
    case S_IFREG:
      add(information.st_mode & S_IXUSR == 0 ? "file" : "program")
      try add(contentsOf: path)
    case S_IFDIR:
      add("folder")
      try add(namesIn: path)
    default: throw TaskProblem.unreadable(path, EINVAL)
    }
  }

  private mutating func add(namesIn path: String) throws {
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    } catch {
      throw TaskProblem.unreadable(path, EACCES)
    }
    add("\(names.count)")
    for name in names {
      add(name)
      let inner = "\(path)/\(name)"
      var information = stat()
      guard lstat(inner, &information) == 0 else { throw TaskProblem.unreadable(inner, errno) }
      guard information.st_mode & S_IFMT == S_IFLNK else {
        try add(inner, information)
        continue
      }
      add("link")
      add((try? FileManager.default.destinationOfSymbolicLink(atPath: inner)) ?? "")
    }
  }

  private mutating func add(contentsOf path: String) throws {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw TaskProblem.unreadable(path, errno) }
    defer { close(descriptor) }
    var contents = SHA256()
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw TaskProblem.unreadable(path, errno) }
      if count == 0 { break }
      contents.add(Array(buffer[..<count]))
      try Task.checkCancellation()
    }
    add(Self.digits(of: &contents))
  }
}
