import Foundation
import ProcedureKit
import ProcedureKitFoundation
import Synchronization

/// The records of successful tasks. They are stored in a folder next to the task file. A record is a single hash of everything that the
/// task depends on and of all its outputs.
///
/// The records are lines in one file. Before a command starts, a line is added that removes the task's record. Once all outputs exist, a
/// line with the new record is added. A command that was interrupted therefore has no record. An incomplete line is recognized by its
/// length, and is ignored.
///
/// A line with 16 instead of 64 digits in its second part contains the number of milliseconds that the task took. The line remains when the
/// record is removed.
final class TaskRecords: Sendable {
  private struct Contents {
    var records: [String: String] = [:]
    /// The approximate duration of each task's latest successful execution, in milliseconds.
    var durations: [String: Int] = [:]
    var descriptor: Int32 = -1
  }

  let folder: SystemText
  private let contents: Mutex<Contents>
  private static let partialPrefix: SystemText = "records-"
  private static let none = String(repeating: "-", count: 64)

  /// Returns the name of the folder that contains the records for a task file.
  static func folderName(for file: SystemText) -> SystemText { ".\(file).records" }

  /// Returns whether a folder belongs to a runner rather than to the user, judging by its contents. A runner's folder contains a lock and
  /// records, and nothing else.
  static func isFolder(_ path: SystemText) -> Bool {
    guard SystemFiles.isFolder(path), let names = try? SystemFiles.names(in: path) else { return false }
    return names.contains("lock") && names.allSatisfy { $0 == "lock" || $0.bytes.starts(with: "records".utf8) }
  }

  private var path: SystemText { "\(folder)/records" }

  /// Reads the records for a task file. For `tasks.json`, they are in the folder `.tasks.json.records` next to it.
  init(of file: TaskFile) {
    let name = Paths.relative(file.path, to: file.folder == "/" ? "" : file.folder)
    folder = Paths.absolute(Self.folderName(for: name), in: file.folder)
    contents = Mutex(Self.read("\(folder)/records"))
  }

  private static func read(_ path: SystemText) -> Contents {
    var contents = Contents()
    guard let bytes = try? SystemFiles.contents(path) else { return contents }
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
      let parts = line.split(separator: " ")
      guard parts.count == 2, parts[0].utf8.count == 64 else { continue }
      switch parts[1].utf8.count {
      case 64: contents.records[String(parts[0])] = parts[1] == none ? nil : String(parts[1])
      case 16: contents.durations[String(parts[0])] = Int(parts[1])
      default: break
      }
    }
    return contents
  }

  deinit {
    let descriptor = contents.withLock { $0.descriptor }
    if descriptor >= 0 { close(descriptor) }
  }

  /// Prepares the records for writing, and replaces the file with one that contains only the current records. The caller must hold the
  /// ``RunnerLock``.
  ///
  /// - Throws: ``TaskProblem`` if the file cannot be written.
  func open() throws {
    try contents.withLock { contents in
      contents = Self.read(path)
      do {
        try removePartials()
        let partial = try SystemFiles.makePartial(beside: path, prefix: Self.partialPrefix, mode: 0o666)
        contents.descriptor = partial.descriptor
        // The records are sorted so that equal records result in equal files.
        let lines =
          contents.durations.mapValues(Self.digits).sorted { $0.key < $1.key }
          + contents.records.sorted { $0.key < $1.key }
        try SystemFiles.write(lines.map(Self.line).joined().utf8, to: partial.descriptor)
        try SystemFiles.rename(partial.path, to: path)
      } catch let error as POSIXError {
        throw TaskProblem.unwritable(path, error.code.rawValue)
      }
    }
  }

  /// Removes files left behind by runners that were killed while opening the records. The lock ensures that no other runner is using them.
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

  /// Removes the record of a task that is about to start.
  ///
  /// - Throws: ``TaskProblem`` if the record cannot be removed.
  func remove(_ task: SystemText) throws {
    try contents.withLock { contents in
      guard !contents.records.isEmpty else { return }
      let key = Self.key(task)
      guard contents.records.removeValue(forKey: key) != nil else { return }
      try write(Self.line(key, Self.none), contents)
    }
  }

  /// Stores the record of a task that succeeded.
  ///
  /// - Throws: ``TaskProblem`` if the record cannot be stored.
  func write(_ record: String, of task: SystemText) throws {
    let key = Self.key(task)
    try contents.withLock { contents in
      try write(Self.line(key, record), contents)
      contents.records[key] = record
    }
  }

  /// Returns the approximate duration of a task's latest successful execution; `nil` if the task has not succeeded.
  func duration(of task: SystemText) -> Duration? {
    let key = Self.key(task)
    return contents.withLock { $0.durations[key].map { .milliseconds($0) } }
  }

  /// Stores the duration of a task that has succeeded, unless it differs from the stored one by at most 10% or 10 milliseconds.
  ///
  /// - Throws: ``TaskProblem`` if the duration cannot be stored.
  func write(_ duration: Duration, of task: SystemText) throws {
    let (key, milliseconds) = (Self.key(task), Int(duration / .milliseconds(1)))
    try contents.withLock { contents in
      // Most durations hardly change, so writing them each time would only make the file longer.
      if let before = contents.durations[key], abs(before - milliseconds) <= max(before / 10, 10) { return }
      contents.durations[key] = milliseconds
      try write(Self.line(key, Self.digits(milliseconds)), contents)
    }
  }

  /// Returns a number, padded with zeros to 16 digits.
  private static func digits(_ number: Int) -> String {
    let digits = "\(max(number, 0))"
    return String(repeating: "0", count: max(16 - digits.count, 0)) + digits
  }

  private func write(_ text: String, _ contents: Contents) throws {
    do {
      try SystemFiles.write(text.utf8, to: contents.descriptor)
    } catch {
      throw TaskProblem.unwritable(path, error.code.rawValue)
    }
  }

  /// Returns the line for a record. It starts with a line break in case the previous line is incomplete.
  private static func line(_ key: String, _ record: String) -> String { "\n\(key) \(record)\n" }

  /// Returns the key for a task. A name can contain any characters, whereas a key consists of hexadecimal digits.
  private static func key(_ task: SystemText) -> String {
    var fingerprint = Fingerprint()
    fingerprint.add(task)
    return fingerprint.finish()
  }
}
