import Foundation

/// The tasks of a file.
struct TaskFile: Sendable {
  /// The absolute path of the file.
  let path: String
  /// The folder of the file, at which relative paths begin.
  let folder: String
  /// The tasks, in the order of the file.
  let tasks: [TaskDefinition]

  /// Reads a file.
  ///
  /// - Throws: ``TaskFileError``, with all that is wrong.
  init(_ name: String) throws(TaskFileError) {
    let bytes: [UInt8]
    do {
      bytes = [UInt8](try Data(contentsOf: URL(filePath: name)))
    } catch {
      throw TaskFileError(file: name, unreadable: error)
    }
    path = Paths.absolute(name, in: FileManager.default.currentDirectoryPath)
    folder = Paths.parents(of: path).first ?? "/"
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
}

/// Why a task file cannot be used: each reason on a line, with its place.
struct TaskFileError: Error, CustomStringConvertible {
  let description: String

  init(file: String, unreadable error: any Error) {
    let reason = ((error as? CocoaError)?.underlying as? POSIXError).map { String(cString: strerror($0.code.rawValue)) }
    description = "\(file): cannot be read: \(reason ?? "\(error)")"
  }

  /// Places are lines and columns, both from 1; a column is a character.
  init(file: String, _ problems: [Problem], in bytes: [UInt8]) {
    let lines = problems.sorted { $0.offset < $1.offset }.map { problem in
      let before = bytes.prefix(problem.offset)
      let line = before.count { $0 == UInt8(ascii: "\n") } + 1
      let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
      let column = String(decoding: before[lineStart...], as: UTF8.self).count + 1
      return "\(file):\(line):\(column): \(problem.message)"
    }
    description = lines.joined(separator: "\n")
  }
}
