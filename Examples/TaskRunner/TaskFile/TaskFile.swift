import Foundation
import ProcedureKit
import ProcedureKitFoundation

/// A task file and its tasks.
struct TaskFile: Sendable {
  /// The absolute path of the file.
  let path: SystemText
  /// The folder that contains the file. Relative paths are resolved against it.
  let folder: SystemText
  /// The tasks, in the order in which the file lists them.
  let tasks: [TaskDefinition]

  /// Reads a task file.
  ///
  /// - Throws: ``TaskFileError`` if the file cannot be read or contains errors.
  init(_ name: SystemText) throws(TaskFileError) {
    let problem: String?
    var bytes: [UInt8] = []
    do {
      path = Paths.absolute(name, in: try SystemFiles.currentFolder())
      problem = try Self.problem(name, at: path)
      if problem == nil { bytes = try SystemFiles.contents(name) }
    } catch {
      throw TaskFileError(file: name, unreadable: error)
    }
    if let problem { throw TaskFileError(file: name, problem) }
    folder = path.parentFolder ?? "/"
    let root: JSONValue
    do {
      root = try JSONReader.value(in: bytes)
    } catch {
      throw TaskFileError(file: name, [error], in: bytes)
    }
    var decoder = TaskDecoder(folder: folder)
    let decoded = decoder.tasks(in: root)
    guard decoder.problems.isEmpty else { throw TaskFileError(file: name, decoder.problems, in: bytes) }
    let order = TaskOrder(decoded, folder: folder)
    guard order.problems.isEmpty else { throw TaskFileError(file: name, order.problems, in: bytes) }
    tasks = order.tasks
  }

  /// Returns the reason a file cannot be used as a task file; `nil` if it can be used. `path` is the file's absolute path.
  ///
  /// A pipe has no folder in which to store the records, and the folder of `/dev/stdin` is not suitable.
  private static func problem(_ name: SystemText, at path: SystemText) throws(POSIXError) -> String? {
    let isDescriptor = path == "/dev/stdin" || ["/dev/fd/", "/proc/"].contains { path.bytes.starts(with: $0.utf8) }
    if !isDescriptor {
      guard let information = try SystemFiles.information(name) else { return nil }
      if [S_IFREG, S_IFDIR].contains(information.st_mode & S_IFMT) { return nil }
    }
    return
      "cannot be used as a task file because records cannot be stored in its folder. Specify a regular file."
  }
}

/// The reasons a task file cannot be used. The description contains each reason on a separate line, with its position.
struct TaskFileError: Error, CustomStringConvertible {
  let description: String

  init(file: SystemText, _ problem: String) { description = "\(file) \(problem)" }

  init(file: SystemText, unreadable error: any Error) {
    description = "\(file) could not be read: \((error as? POSIXError)?.reason ?? "\(error)")"
  }

  /// Creates an error that gives positions as lines and columns. Both start at 1, and columns are counted in characters.
  init(file: SystemText, _ problems: [Problem], in bytes: [UInt8]) {
    var (line, column, start) = (
      1, 1, bytes.starts(with: JSONReader.byteOrderMark) ? JSONReader.byteOrderMark.count : 0
    )
    let lines = problems.sorted { $0.offset < $1.offset }.map { problem in
      // The search continues from the previous problem, so that the file is read only once.
      let passed = bytes[start..<max(start, problem.offset)]
      start = max(start, problem.offset)
      if let end = passed.lastIndex(of: UInt8(ascii: "\n")) {
        line += passed.count { $0 == UInt8(ascii: "\n") }
        column = 1 + String(decoding: passed[(end + 1)...], as: UTF8.self).count
      } else {
        column += String(decoding: passed, as: UTF8.self).count
      }
      return "\(file):\(line):\(column): \(problem.message)"
    }
    description = lines.joined(separator: "\n")
  }
}
