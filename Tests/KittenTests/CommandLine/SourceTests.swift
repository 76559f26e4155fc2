import Foundation
import ProcedureKit
import Testing

@testable import kitten

@Suite struct SourceTests {
  @Test("A directory is replaced by its pictures, sorted, without those in nested directories")
  func directory() throws {
    let directory = try TemporaryDirectory()
    for name: SystemText in ["b.ppm", "a.PNM", "notes.txt", "deeper/c.ppm"] { try directory.write([], to: name) }
    let (sources, errors) = Source.find([directory.path, "\(directory.path)/"])
    #expect(sources.map(\.file.path) == [directory.path("a.PNM"), directory.path("b.ppm")])
    #expect(sources.map { $0.resultName(size: 64) } == ["a-64.png", "b-64.png"])
    #expect(errors.isEmpty)
  }

  @Test("A directory without pictures is an error; the other inputs are used")
  func noPictures() throws {
    let directory = try TemporaryDirectory()
    try directory.write([], to: "empty/notes.txt")
    try directory.write([], to: "full/cat.ppm")
    let (sources, errors) = Source.find([directory.path("empty"), directory.path("full")])
    #expect(sources.map(\.stem) == ["cat"])
    #expect(errors == [.noPictures(directory: directory.path("empty"))])
  }

  @Test("A missing file is also a source, and a file that is named twice is one source")
  func duplicates() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.write([], to: "cat.ppm")
    try FileManager.default.createSymbolicLink(
      atPath: directory.path("link.ppm").description, withDestinationPath: path.description)
    let (sources, errors) = Source.find([path, directory.path("none.ppm"), "\(directory.path)/./cat.ppm", "x.ppm"])
    #expect(sources.map(\.stem) == ["cat", "none", "x"])
    #expect(Source.find([path, directory.path("link.ppm")]).sources.count == 1)
    #expect(errors.isEmpty)
  }

  @Test("Equal names get numbers that no other file has")
  func stems() {
    #expect(Source.stems(for: ["a/cat.ppm", "b/cat.ppm", "c/Cat.pnm"]) == ["cat", "cat-2", "Cat-3"])
    #expect(Source.stems(for: ["a/cat.ppm", "b/cat.ppm", "cat-2.ppm"]) == ["cat", "cat-3", "cat-2"])
    #expect(Source.stems(for: ["cat.tar.ppm", "cat", ".ppm"]) == ["cat.tar", "cat", ".ppm"])
  }
}
