import Foundation
import ProcedureKit
import Testing

@testable import taskrunner

@Suite struct TaskRecordsTests {
  private let sandbox: Sandbox
  private let file: TaskFile
  private let hash = String(repeating: "a", count: 64)

  init() throws {
    sandbox = try Sandbox()
    file = try TaskFile("\(sandbox.path)/tasks.json")
  }

  /// Opens records that can be written, and that contain the records written earlier.
  private func opened() throws -> TaskRecords {
    let records = TaskRecords(of: file)
    try FileManager.default.createDirectory(atPath: records.folder.description, withIntermediateDirectories: true)
    try records.open()
    return records
  }

  @Test("A record remains until the task is about to start again, even for later readers of the file")
  func records() throws {
    let records = try opened()
    try records.write(hash, of: "a")
    try records.write(hash, of: "b\n c")
    try records.remove("a")
    for reader in [records, TaskRecords(of: file), try opened()] {
      #expect(reader.record(of: "a") == nil && reader.record(of: "b\n c") == hash)
    }
    try records.remove("never there")
  }

  @Test("The latest duration of a task is kept for later runs, even after its record has been removed")
  func durations() throws {
    let records = try opened()
    try records.write(.milliseconds(1_500), of: "a")
    try records.write(.seconds(3), of: "b")
    try records.write(hash, of: "b")
    try records.remove("b")
    // A difference of less than a tenth is not stored.
    try records.write(.milliseconds(1_600), of: "a")
    for reader in [records, TaskRecords(of: file), try opened()] {
      #expect(reader.duration(of: "a") == .milliseconds(1_500) && reader.duration(of: "b") == .seconds(3))
      #expect(reader.duration(of: "c") == nil && reader.record(of: "a") == nil && reader.record(of: "b") == nil)
    }
    let path = "\(records.folder)/records"
    let bytes = try Data(contentsOf: URL(filePath: path))
    try bytes.dropLast(5).write(to: URL(filePath: path))
    #expect(TaskRecords(of: file).duration(of: "b") == nil)
  }

  @Test("A file that is cut off at any byte contains exactly the records before that byte")
  func cutOff() throws {
    let records = try opened()
    try records.write(hash, of: "a")
    try records.write(hash, of: "b")
    let path = "\(records.folder)/records"
    let bytes = try Data(contentsOf: URL(filePath: path))
    for count in 0..<bytes.count {
      try bytes.prefix(count).write(to: URL(filePath: path))
      let read = TaskRecords(of: file)
      #expect(read.record(of: "a") == (count >= bytes.count / 2 - 1 ? hash : nil))
      #expect(read.record(of: "b") == (count >= bytes.count - 1 ? hash : nil))
      // The line after a line that was cut off is complete.
      let next = try opened()
      try next.write(hash, of: "c")
      #expect(TaskRecords(of: file).record(of: "c") == hash)
    }
  }

  @Test("A folder that cannot be written is an error that names the file")
  func unwritable() {
    let records = TaskRecords(of: file)
    #expect { try records.open() } throws: { "\($0)".contains(records.folder.description) }
  }
}
