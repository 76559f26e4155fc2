import Foundation
import Testing

@testable import temporal

@Suite struct RecordFileTests {
  @Test("A link at the path of the records does not redirect any line to another file")
  func link() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "records-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (victim, place) = (folder.appending(path: "victim"), folder.appending(path: "values"))
    try Data("precious\n".utf8).write(to: victim)
    try FileManager.default.createSymbolicLink(at: place, withDestinationURL: victim)
    #expect(throws: DemoError.self) { try RecordFile(place).append("line") }
    #expect(try String(contentsOf: victim, encoding: .utf8) == "precious\n")
    try FileManager.default.removeItem(at: place)
    try RecordFile(place).append("line")
    #expect(try RecordFile(place).lines == ["line"])
  }
}
