import Foundation
import ProcedureKit
import Testing

@testable import temporal

@Suite struct ArgumentsTests {
  @Test("A path that begins with ~/ is in the home folder, however the option is written")
  func home() throws {
    let name = "temporal-\(UUID().uuidString)"
    let folder = URL(filePath: String(cString: getenv("HOME"))).appending(path: name)
    defer { try? FileManager.default.removeItem(at: folder) }
    for line: [SystemText] in [
      ["worker", "--folder=~/\(name)", "--picture=~/k.ppm"],
      ["coordinator", "--folder", "~/\(name)", "--picture", "~/k.ppm"],
    ] {
      let arguments = try Arguments(line)
      #expect(arguments.folder.path == folder.path)
      #expect(arguments.picture.path == folder.deletingLastPathComponent().appending(path: "k.ppm").path)
    }
  }
}
