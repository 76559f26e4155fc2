import Foundation
import ProcedureKit
import Testing
import TestingProcedureKit

@testable import ProcedureKitDurable

/// Tests texts that are equal according to Swift's `==`, but whose bytes differ.
private let spellings = ["caf\u{e9}", "cafe\u{301}"]

@Suite(.timeLimit(.minutes(10))) struct SpellingTests {
  private static func key(_ path: String) -> JournalKey { JournalKey(path: path, fingerprint: Fingerprint(of: [1])) }

  private func check(_ journal: FileJournal) async throws {
    for (index, path) in spellings.enumerated() {
      #expect(try await journal.read(Self.key(path)) == [UInt8(index)])
      #expect(try await journal.latestKey(at: path).map { Array($0.path.utf8) } == Array(path.utf8))
    }
    #expect(await journal.entryCount == 2)
  }

  @Test("A file keeps both spellings of a path, even when it is closed, compacted, and opened again")
  func file() async throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.journal")
    let journal = try FileJournal(path)
    for (index, path) in spellings.enumerated() { try await journal.append([UInt8(index)], for: Self.key(path)) }
    try await check(journal)
    try await journal.close()
    let again = try FileJournal(path)
    try await check(again)
    try await again.compact()
    try await check(again)
    try await again.close()
    try await check(try FileJournal(path))
  }

  @Test("A journal that an earlier version wrote with both spellings opens, with both values")
  func earlier() async throws {
    let folder = try TemporaryFolder()
    var image = JournalImage()
    for (index, path) in spellings.enumerated() { image.add(Self.key(path), [UInt8(index)]) }
    try folder.write(image.bytes, to: "old")
    try await check(try FileJournal(folder.file("old")))
  }

  @Test("A journal in memory keeps both spellings of a path")
  func memory() async throws {
    let journal = InMemoryJournal()
    for (index, path) in spellings.enumerated() { await journal.append([UInt8(index)], for: Self.key(path)) }
    #expect(await journal.entries.count == 2)
    for path in spellings {
      #expect(await journal.latestKey(at: path).map { Array($0.path.utf8) } == Array(path.utf8))
    }
  }

  @Test("Nodes and procedures with two spellings are remembered separately")
  func graph() async throws {
    let journal = InMemoryJournal()
    let names = Names()
    let graph = ProcedureGraph<Void, [Int]>("g") { g in
      let nodes = spellings.map { name in
        g.add(name) {
          names.add(name)
          return name.utf8.count
        }
      }
      return g.add("list", from: nodes) { $0 }
    }
    let durable = graph.durable(in: journal)
    #expect(try await ProcedureQueue("q").run(durable) == [5, 6])
    #expect(names.take().count == 2)
    #expect(
      await Set(journal.entries.keys.map { Array($0.path.utf8) })
        == Set((spellings.map { "g/\($0)" } + ["g/list"]).map { Array($0.utf8) }))
    #expect(try await ProcedureQueue("q").run(durable) == [5, 6])
    #expect(names.count == 0)
    for (index, name) in spellings.enumerated() {
      let value = try await ProcedureTask("p") { index }.remembered(in: journal, as: name)()
      #expect(value == index)
    }
  }

  @Test("Two spellings are two keys of a journal, and two dependencies of a record")
  func keys() {
    let paths = spellings.map { JournalKey(path: $0, fingerprint: Fingerprint(of: [])) }
    #expect(Set(paths).count == 2)
    let dependencies = spellings.map { JournalRecord.Dependency(name: $0, prefix: 1) }
    #expect(dependencies[0] != dependencies[1])
  }
}
