import Foundation
import ProcedureKit
import ProcedureKitFoundation
import Synchronization

/// What a folder beside the task file says of each task that has succeeded: a hash of all that the task depends on, and of all that
/// it has made.
///
/// The records are lines of one file. A line is added before a command starts, which says that the task has no record, and after all
/// outputs are there. So a command that was interrupted, in whatever way, has no record. A line that was not written to its
/// end has another length, and does not count.
final class TaskRecords: Sendable {
  private struct Contents {
    var records: [String: String] = [:]
    var descriptor: Int32 = -1
  }

  let folder: SystemText
  private let contents: Mutex<Contents>
  private static let partialPrefix: SystemText = "records-"
  private static let none = String(repeating: "-", count: 64)

  /// The name of the folder of records beside a task file.
  static func folderName(for file: SystemText) -> SystemText { ".\(file).records" }

  /// Whether a folder with such a name is one of a runner, and not of a user: it has a lock, and nothing else but records.
  static func isFolder(_ path: SystemText) -> Bool {
    guard SystemFiles.isFolder(path), let names = try? SystemFiles.names(in: path) else { return false }
    return names.contains("lock") && names.allSatisfy { $0 == "lock" || $0.bytes.starts(with: "records".utf8) }
  }

  private var path: SystemText { "\(folder)/records" }

  /// Reads the records of a task file, in the folder `.tasks.json.records` beside `tasks.json`.
  init(of file: TaskFile) {
    let name = Paths.relative(file.path, to: file.folder == "/" ? "" : file.folder)
    folder = Paths.absolute(Self.folderName(for: name), in: file.folder)
    contents = Mutex(Contents(records: Self.read("\(folder)/records")))
  }

  private static func read(_ path: SystemText) -> [String: String] {
    guard let bytes = try? SystemFiles.contents(path) else { return [:] }
    var records: [String: String] = [:]
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
      let parts = line.split(separator: " ")
      guard parts.count == 2, parts.allSatisfy({ $0.utf8.count == 64 }) else { continue }
      records[String(parts[0])] = parts[1] == none ? nil : String(parts[1])
    }
    return records
  }

  deinit {
    let descriptor = contents.withLock { $0.descriptor }
    if descriptor >= 0 { close(descriptor) }
  }

  /// Begins to write: the file is replaced by one with the records that count. To be called with the ``RunnerLock``.
  ///
  /// - Throws: ``TaskProblem``, if that is impossible.
  func open() throws {
    try contents.withLock { contents in
      contents.records = Self.read(path)
      do {
        try removePartials()
        let partial = try SystemFiles.makePartial(beside: path, prefix: Self.partialPrefix, mode: 0o666)
        contents.descriptor = partial.descriptor
        // In one order, so that the file is the same as long as the records are.
        let lines = contents.records.sorted { $0.key < $1.key }.map(Self.line)
        try SystemFiles.write(lines.joined().utf8, to: partial.descriptor)
        try SystemFiles.rename(partial.path, to: path)
      } catch let error as POSIXError {
        throw TaskProblem.unwritable(path, error.code.rawValue)
      }
    }
  }

  /// Removes what runners have left that were killed while they opened the records. The lock excludes those that still run.
  private func removePartials() throws(POSIXError) {
    for name in try SystemFiles.names(in: folder)
    where name.bytes.starts(with: Self.partialPrefix.bytes) && name.description.hasSuffix(".partial") {
      try SystemFiles.remove("\(folder)/\(name)")
    }
  }

  /// Returns the record of a task; `nil` if the task has not succeeded since its last start.
  func record(of task: SystemText) -> String? {
    let key = Self.key(task)
    return contents.withLock { $0.records[key] }
  }

  /// Removes the record of a task, which is about to start.
  ///
  /// - Throws: ``TaskProblem``, if the record stays.
  func remove(_ task: SystemText) throws {
    try contents.withLock { contents in
      guard !contents.records.isEmpty else { return }
      let key = Self.key(task)
      guard contents.records.removeValue(forKey: key) != nil else { return }
      try write(Self.line(key, Self.none), contents)
    }
  }

  /// Keeps the record of a task that has succeeded.
  ///
  /// - Throws: ``TaskProblem``, if it is not kept.
  func write(_ record: String, of task: SystemText) throws {
    let key = Self.key(task)
    try contents.withLock { contents in
      try write(Self.line(key, record), contents)
      contents.records[key] = record
    }
  }

  private func write(_ text: String, _ contents: Contents) throws {
    do {
      try SystemFiles.write(text.utf8, to: contents.descriptor)
    } catch {
      throw TaskProblem.unwritable(path, error.code.rawValue)
    }
  }

  /// Begins with a line end, in case that the line before was not written whole.
  private static func line(_ key: String, _ record: String) -> String { "\n\(key) \(record)\n" }

  /// A name can have any characters, and a key has digits only.
  private static func key(_ task: SystemText) -> String {
    var fingerprint = Fingerprint()
    fingerprint.add(task)
    return fingerprint.finish()
  }
}
