import Foundation
import ProcedureKit
import Testing

@testable import kitten

@Suite struct OutputDirectoryTests {
  @Test("An output directory is created with all its parents, and directories that stay empty are removed again")
  func createdAndRemoved() throws {
    let directory = try TemporaryDirectory()
    let output = OutputDirectory(directory.path("a/b/c"))
    try output.create()
    #expect(try directory.names(in: "a/b") == ["c"])
    output.removeIfUnused()
    #expect(try directory.names() == [])
  }

  @Test("A directory that is not empty stays, and so does one that already existed")
  func stays() throws {
    let directory = try TemporaryDirectory()
    let output = OutputDirectory(directory.path("a/b"))
    try output.create()
    try directory.write([1], to: "a/b/kitten-64.png")
    output.removeIfUnused()
    #expect(try directory.names(in: "a/b") == ["kitten-64.png"])

    let existing = OutputDirectory(directory.path("empty/"))
    try FileManager.default.createDirectory(atPath: existing.path.description, withIntermediateDirectories: false)
    let again = OutputDirectory(directory.path("empty/"))
    try again.create()
    again.removeIfUnused()
    #expect(try directory.names() == ["a", "empty"])
  }

  @Test("A file at or above the path of the output directory is an error that names the directory")
  func occupied() throws {
    let directory = try TemporaryDirectory()
    let file = try directory.write([1], to: "file")
    for path in [file, "\(file)/within"] as [SystemText] {
      #expect(throws: KittenError.unwritableDirectory(path, SystemError(code: ENOTDIR))) {
        try OutputDirectory(path).create()
      }
    }
    #expect(try directory.bytes(of: "file") == [1])
  }

  @Test("Files are created inside the directory, whether or not the path ends with a slash")
  func paths() {
    #expect(OutputDirectory("out").path(of: "a.png") == "out/a.png")
    #expect(OutputDirectory("out/").path(of: "a.png") == "out/a.png")
    #expect(OutputDirectory("/").path(of: "a.png") == "/a.png")
  }
}
