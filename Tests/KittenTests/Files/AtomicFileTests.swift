import Foundation
import ProcedureKit
import ProcedureKitFoundation
import Testing

@testable import kitten

@Suite(.timeLimit(.minutes(10))) struct AtomicFileTests {
  @Test("A file appears only when it is complete, and no other file appears")
  func writes() throws {
    let directory = try TemporaryDirectory()
    let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0) }
    try AtomicFile.write(bytes, to: directory.path("whole.png"))
    #expect(try directory.names() == ["whole.png"])
    #expect(try directory.bytes(of: "whole.png") == bytes)
  }

  @Test("An existing file is replaced")
  func replaces() throws {
    let directory = try TemporaryDirectory()
    try directory.write([1, 2, 3], to: "old.png")
    try AtomicFile.write([4], to: directory.path("old.png"))
    #expect(try directory.bytes(of: "old.png") == [4])
  }

  @Test("A destination that cannot be replaced leaves no temporary file behind")
  func failsAtTheEnd() throws {
    let directory = try TemporaryDirectory()
    try directory.write([], to: "taken.png/inside")
    let path = directory.path("taken.png")
    #expect(throws: KittenError.unwritableFile(path, SystemError(code: EISDIR))) {
      try AtomicFile.write([1], to: path)
    }
    #expect(try directory.names() == ["taken.png"])
  }

  @Test("A directory that does not exist is an error that names the file")
  func failsAtTheStart() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("none/a.png")
    #expect(throws: KittenError.unwritableFile(path, SystemError(code: ENOENT))) {
      try AtomicFile.write([1], to: path)
    }
  }

  @Test("A full disk leaves nothing behind")
  func fullDisk() throws {
    // Writing to /dev/full fails like writing to a full disk, so the file is never renamed.
    let full = try SystemFiles.open("/dev/full", O_WRONLY)
    #expect(throws: POSIXError(.ENOSPC)) { try AtomicFile.fill(full, with: [1]) }
  }

  @Test("A cancelled task leaves behind neither the file nor any part of it")
  func cancelled() async throws {
    let directory = try TemporaryDirectory()
    try directory.write([1, 2, 3], to: "old.png")
    let path = directory.path("old.png")
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try AtomicFile.write([4, 5], to: path)
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try directory.names() == ["old.png"])
    #expect(try directory.bytes(of: "old.png") == [1, 2, 3])
  }
}
