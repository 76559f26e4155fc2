import Foundation
import ProcedureKit
import ProcedureKitFoundation
import ProcedureKitProcess
import Synchronization
import TestSupport
import Testing

@testable import taskrunner

/// Tests folders as inputs, and files in the folder of the records.
@Suite(.timeLimit(.minutes(10))) struct FolderTests {
  @Test(
    "A task whose input is the folder of its task file, or a parent of it, is up to date, even with other task files")
  func around() async throws {
    let task = { (input: String) in #"[{"name": "a", "command": "true", "inputs": ["\#(input)"]}]"# }
    let sandbox = try Sandbox(task("."))
    try sandbox.write(task(".."), to: "sub/inner.json")
    try sandbox.write("1", to: "file")
    for _ in 0..<2 {
      _ = try await sandbox.run()
      _ = try await sandbox.run("sub/inner.json")
    }
    #expect(try await sandbox.run().text.contains("0 done, 1 up to date"))
    #expect(try await sandbox.run("sub/inner.json").text.contains("0 done, 1 up to date"))
    try sandbox.write("2", to: "file")
    #expect(try await sandbox.run().text.contains("1 done"))
    // A file with the name of a records folder is not a record, and neither is a folder without a task file.
    try sandbox.write("", to: ".file.records")
    #expect(try await sandbox.run().text.contains("1 done"))
    try sandbox.write("", to: ".none.records/records")
    #expect(try await sandbox.run().text.contains("1 done"))
    #expect(try await sandbox.run().text.contains("1 up to date"))
  }

  @Test("Files and folders that vanish while a folder is being scanned are treated as missing")
  func vanishing() async throws {
    let sandbox = try Sandbox()
    try sandbox.write("1", to: "f/stays")
    try sandbox.write("1", to: "g/stays")
    let expected = try Fingerprint.ofPath(sandbox.file("g"))
    let (isOver, count) = (Flag(), 200)
    let thread = Thread {
      while !isOver.isSet {
        for number in 0..<20 { try? sandbox.write("", to: "f/\(number)/file") }
        for number in 0..<20 { try? sandbox.remove("f/\(number)") }
      }
      isOver.finish()
    }
    thread.start()
    for _ in 0..<count { _ = try Fingerprint.ofPath(sandbox.file("f")) }
    isOver.set()
    await isOver.untilFinished()
    #expect(try Fingerprint.ofPath(sandbox.file("f")) == expected)
  }

  @Test("Folders can be nested as deeply as the system allows")
  func deep() async throws {
    let sandbox = try Sandbox()
    let room = Int(PATH_MAX) - sandbox.path.utf8.count - 10
    // Longer names make for fewer levels, which an ordinary run creates faster.
    let name: SystemText = TestDepth.isAtLeastGate ? "d" : "deep-folder"
    let step = SystemText("/\(name)").bytes
    let path = SystemText(bytes: Array(repeatElement(step, count: room / step.count).joined()))
    try SystemFiles.makeFolders("\(sandbox.path)\(path)")
    // The fingerprint is computed on a thread of the concurrency runtime, whose stack is small.
    let fingerprint = try await Task.detached {
      try Fingerprint.ofPath(sandbox.file(name))
    }.value  // never cancelled
    #expect(fingerprint != nil)
  }

  @Test(
    "A link or a second name at the path of the lock or the records does not redirect any byte to another file",
    arguments: ["lock", "records", "records.partial"])
  func links(_ name: SystemText) async throws {
    for isHard in [false, true] {
      let sandbox = try Sandbox(#"[{"name": "a", "command": "true", "inputs": ["tasks.json"]}]"#)
      try sandbox.write("precious", to: "victim")
      try SystemFiles.makeFolders(sandbox.file(".tasks.json.records"))
      let place = sandbox.file(".tasks.json.records/\(name)").description
      if isHard {
        #expect(link("\(sandbox.path)/victim", place) == 0)
      } else {
        try FileManager.default.createSymbolicLink(atPath: place, withDestinationPath: "\(sandbox.path)/victim")
      }
      let run = try await sandbox.run()
      #expect(sandbox.text("victim") == "precious")
      #expect(run.status == .exited(name == "lock" ? 1 : 0), "\(run.errorText)")
      #expect(name != "lock" || run.errorText.contains("records/lock could not be written"))
    }
  }

  @Test("A run leaves nothing but its records behind, and removes the files that a killed run left behind")
  func partials() async throws {
    let sandbox = try Sandbox(#"[{"name": "a", "command": "true"}]"#)
    try sandbox.write("", to: ".tasks.json.records/records-abc.partial")
    #expect(try await sandbox.run().status == .exited(0))
    #expect(try SystemFiles.names(in: sandbox.file(".tasks.json.records")) == ["lock", "records"])
  }
}

/// Ends a thread of a test, and waits until it has ended.
private final class Flag: Sendable {
  private let isOver = Mutex(false)
  private let (ends, end) = AsyncStream.makeStream(of: Never.self)

  var isSet: Bool { isOver.withLock { $0 } }

  func set() { isOver.withLock { $0 = true } }

  func finish() { end.finish() }

  func untilFinished() async { for await _ in ends {} }
}
