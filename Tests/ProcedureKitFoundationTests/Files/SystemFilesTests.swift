import Foundation
import ProcedureKit
import ProcedureKitFoundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct SystemFilesTests {
  private let latin = SystemText(bytes: Array("caf".utf8) + [0xe9])

  private func withFolder(_ body: (SystemText) async throws -> Void) async throws {
    let url = FileManager.default.temporaryDirectory.appending(path: "files-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: url) }
    try await body(SystemText(url.path))
  }

  @Test("A file that is filled before it is moved has a new name in the same folder, and no other file is opened")
  func partials() async throws {
    try await withFolder { folder in
      let partials = try (0..<100).map { _ in
        try SystemFiles.makePartial(beside: "\(folder)/a", prefix: ".x-", mode: 0o600)
      }
      #expect(Set(partials.map(\.path)).count == 100)
      for partial in partials { close(partial.descriptor) }
      let names = try SystemFiles.names(in: folder)
      #expect(
        names.count == 100
          && names.allSatisfy { $0.bytes.starts(with: ".x-".utf8) && $0.description.hasSuffix(".partial") })
      let information = try SystemFiles.information(partials[0].path)
      #expect(information.map { $0.st_mode & 0o777 } == 0o600)
      try SystemFiles.rename(partials[0].path, to: "\(folder)/a")
      #expect(try SystemFiles.names(in: folder).contains("a"))
    }
  }

  @Test("Names that are not UTF-8 identify the right files, and a NUL character in a path is an error")
  func bytes() async throws {
    try await withFolder { folder in
      for name: SystemText in [latin, "caf\u{e9}", "cafe\u{301}"] {
        close(try SystemFiles.open("\(folder)/\(name)", O_WRONLY | O_CREAT, mode: 0o600))
        #expect(await FileAccess("\(folder)/\(name)", [.read, .write]).authorizationStatus().meets(()))
      }
      #expect(try SystemFiles.names(in: folder) == ["cafe\u{301}", "caf\u{e9}", latin])
      #expect(SystemFiles.resolved("\(folder)/./\(latin)")?.lastName == latin)
      #expect(FileAccess("caf\u{e9}", .read) != FileAccess("cafe\u{301}", .read))
      #expect(throws: POSIXError(.EINVAL)) { try SystemFiles.open("\(folder)/caf\u{e9}\0x", O_RDONLY) }
      #expect(await !FileAccess("\(folder)\0/none", .read).isAvailable())
    }
  }

  @Test("Folders are created with their parents, and a file in the way is an error")
  func folders() async throws {
    try await withFolder { folder in
      try SystemFiles.makeFolders("\(folder)/a//b/../c/")
      #expect(SystemFiles.isFolder("\(folder)/a/b") && SystemFiles.isFolder("\(folder)/a/c"))
      try SystemFiles.makeFolders("\(folder)/a/c")
      close(try SystemFiles.open("\(folder)/file", O_WRONLY | O_CREAT, mode: 0o600))
      for path in ["\(folder)/file", "\(folder)/file/x"] as [SystemText] {
        #expect(throws: POSIXError(.ENOTDIR)) { try SystemFiles.makeFolders(path) }
      }
    }
  }

  @Test("A path that is ~ or begins with ~/ is in the home folder, and no other path is")
  func home() throws {
    let home = try #require(getenv("HOME").map { String(cString: $0) })
    #expect(("~/kit" as SystemText).expandingHome == "\(home)/kit" && ("~" as SystemText).expandingHome == "\(home)")
    for path: SystemText in ["~kit", "./~", "a/~/b", "", latin] { #expect(path.expandingHome == path) }
  }

  @Test("A path that a URL cannot hold has no URL")
  func urls() {
    #expect(("/a b/%41" as SystemText).fileURL?.path == "/a b/%41" && latin.fileURL == nil)
    #expect(("/\(latin)/a" as SystemText).fileURL == nil && ("a" as SystemText).fileURL?.lastPathComponent == "a")
  }

  @Test("An option ends at the first =, and the extension of a name begins at its last dot")
  func parts() {
    #expect(
      ("--a=b=c" as SystemText).optionAndValue == ("--a", "b=c") && ("--a=" as SystemText).optionAndValue == ("--a", "")
    )
    #expect(("--a" as SystemText).optionAndValue.value == nil)
    #expect(("x/a.b.ppm" as SystemText).nameAndExtension == ("a.b", "ppm"))
    #expect(
      (".ppm" as SystemText).nameAndExtension == (".ppm", "") && ("a/b/" as SystemText).nameAndExtension == ("b", ""))
  }
}
