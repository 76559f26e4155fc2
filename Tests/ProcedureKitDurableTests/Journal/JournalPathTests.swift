import Foundation
import ProcedureKit
import ProcedureKitDurable
import ProcedureKitFoundation
import Testing

/// Tests files at the paths of a journal, before and while the journal is open.
@Suite(.timeLimit(.minutes(10))) struct JournalPathTests {
  private let folder: TemporaryFolder
  private let path: String
  private let files = FileManager.default
  private let key = JournalKey(path: "a", fingerprint: Fingerprint(of: [1]))

  init() throws {
    folder = try TemporaryFolder()
    path = folder.file("a.journal")
  }

  private func permissions(of path: String) throws -> Int? {
    try files.attributesOfItem(atPath: path)[.posixPermissions] as? Int
  }

  @Test("A new journal is readable and writable only by its owner, and remains so when it is compacted")
  func permissions() async throws {
    let journal = try FileJournal(path)
    #expect(try permissions(of: path) == 0o600)
    try await journal.compact()
    #expect(try permissions(of: path) == 0o600)
  }

  @Test("A compaction does not follow a link or a second name at the path of its new file", arguments: [true, false])
  func link(isSymbolic: Bool) async throws {
    try folder.write([7], to: "victim")
    let aside = path + ".compacting"
    if isSymbolic {
      try files.createSymbolicLink(atPath: aside, withDestinationPath: folder.file("victim"))
    } else {
      try files.linkItem(atPath: folder.file("victim"), toPath: aside)
    }
    let journal = try FileJournal(path)
    try await journal.append([1], for: key)
    try await journal.compact()
    #expect(try folder.bytes(of: "victim") == [7])
    #expect(try await journal.read(key) == [1])
    #expect(try files.contentsOfDirectory(atPath: folder.path).sorted() == ["a.journal", "victim"])
  }

  @Test("A journal in a folder whose name is not UTF-8 accepts entries, and is compacted in place")
  func latin() async throws {
    let latin = SystemText(bytes: Array("\(folder.file("caf"))".utf8) + [0xe9])
    try SystemFiles.makeFolders(latin)
    let link = folder.file("link")
    #expect(latin.withCString { symlink($0, link) } == 0)
    for _ in 0..<2 {
      let journal = try FileJournal("\(link)/a.journal")
      try await journal.append([1], for: key)
      try await journal.compact()
      try await journal.append([2], for: key)
      try await journal.close()
      #expect(try SystemFiles.names(in: latin) == ["a.journal"])
    }
    // The same applies to the path itself.
    let journal = try FileJournal(path: "\(latin)/a.journal")
    #expect(try await journal.read(key) == [2])
    #expect(journal.name.hasSuffix("caf\\xe9/a.journal"))
  }

  @Test("A folder at the path of the new file is an error, and the journal is not changed")
  func folderAside() async throws {
    try files.createDirectory(atPath: path + ".compacting", withIntermediateDirectories: false)
    let journal = try FileJournal(path)
    try await journal.append([1], for: key)
    let error = await #expect(throws: JournalError.self) { try await journal.compact() }
    #expect(error?.kind == .unwritable)
    try await journal.append([2], for: key)
    #expect(try await journal.read(key) == [2])
  }

  enum Move: CaseIterable {
    case renamed, removed, replaced, folderRenamed
  }

  @Test(
    "After the file has been renamed, removed or replaced, appends and compactions are errors", arguments: Move.allCases
  )
  func moved(_ move: Move) async throws {
    let inner = folder.file("inner")
    try files.createDirectory(atPath: inner, withIntermediateDirectories: false)
    let path = inner + "/a.journal"
    let journal = try FileJournal(path)
    try await journal.append([1], for: key)
    switch move {
    case .renamed: try files.moveItem(atPath: path, toPath: inner + "/b.journal")
    case .removed: try files.removeItem(atPath: path)
    case .replaced:
      try files.removeItem(atPath: path)
      try folder.write([7], to: "inner/a.journal")
    case .folderRenamed: try files.moveItem(atPath: inner, toPath: folder.file("other"))
    }
    let failed = await #expect(throws: JournalError.self) { try await journal.append([2], for: key) }
    #expect(failed?.kind == .moved)
    let compacted = await #expect(throws: JournalError.self) { try await journal.compact() }
    #expect(compacted?.kind == .moved)
    #expect(try await journal.read(key) == [1])
    if move == .replaced { #expect(try folder.bytes(of: "inner/a.journal") == [7]) }
    if move == .removed { #expect(try files.contentsOfDirectory(atPath: inner).isEmpty) }
    try await journal.close()
    if move == .renamed { #expect(try await FileJournal(inner + "/b.journal").read(key) == [1]) }
  }

  @Test(
    "A path that contains a NUL character is an error, and nothing is opened or created", arguments: ["", "/b", "\0"])
  func nul(rest: String) async throws {
    let error = #expect(throws: JournalError.self) { try FileJournal(path + "\0" + rest) }
    #expect(error?.kind == .unreadable && error?.explanation.contains("NUL character") == true)
    #expect(try files.contentsOfDirectory(atPath: folder.path).isEmpty)
    let access = FileAccess("/etc/passwd\0" + rest, .read)
    #expect(await !access.isAvailable())
    #expect(await access.authorizationStatus().granted.isEmpty)
  }
}
