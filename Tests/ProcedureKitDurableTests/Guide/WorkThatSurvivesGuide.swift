import Foundation
import ProcedureKit
import ProcedureKitDurable
import ProcedureKitFoundation
import Testing
import TestingProcedureKit

/// The snippets of the guide *Work that survives*.
@Suite(.timeLimit(.minutes(10))) struct WorkThatSurvivesGuide {
  struct Photo: Codable, Sendable, Equatable {
    var name: String
    var side = 1_000
  }

  struct LoadPhoto: Procedure {
    func execute(_ name: String) async throws -> Photo { Photo(name: name) }
  }

  struct Resize: Procedure {
    var side: Int

    func execute(_ photo: Photo) async throws -> Photo { Photo(name: photo.name, side: side) }
  }

  private let thumbnails = ProcedureGraph("thumbnails") { (g, name: Node<String>) in
    let photo = g.add(LoadPhoto(), from: name)
    let small = g.add(Resize(side: 64).named("small"), from: photo)
    let large = g.add(Resize(side: 512).named("large").version(2), from: photo)
    return g.add("pack", from: small, large) { small, large in [small, large] }
  }

  @Test func file() async throws {
    let folder = try TemporaryFolder()
    let path = folder.file("thumbnails.journal")
    let queue = ProcedureQueue("thumbnails")

    let journal = try FileJournal(path)
    let photos = try await queue.run(thumbnails.durable(in: journal), input: "kitten.ppm")
    #expect(photos.map(\.side) == [64, 512])

    let plan = try await thumbnails.durable(in: journal).resumptionPlan(for: "kitten.ppm")
    print(plan)  // one line for each node: what will happen to it, and why
    #expect(plan.executedCount == 0)

    try await journal.compact { key in key.path.hasPrefix("thumbnails/") }
    try await journal.close()
  }

  struct Upload: Procedure {
    func execute(_ photo: Photo) async throws -> String { "https://example.org/\(photo.name)" }
  }

  @Test func procedures() async throws {
    let journal = InMemoryJournal()
    let photo = Photo(name: "kitten")

    let upload = Upload()
      .retry(.exponential(from: .seconds(1)), maxAttempts: 5, countedIn: journal, as: "upload")
      .timeout(.seconds(6 * 3_600), countedIn: journal, as: "upload")
      .remembered(in: journal, as: "upload")
    let address = try await upload(photo)  // the first time, executes the procedure and stores its value
    let same = try await upload(photo)  // from the journal
    #expect(address == same)
  }

  @Test("A test of a durable graph needs no file")
  func testing() async throws {
    let journal = InMemoryJournal()
    _ = try await thumbnails.durable(in: journal)("kitten.ppm")
    await journal.remove { key in key.path == "thumbnails/large" }  // as if it had not been written yet
    let plan = try await thumbnails.durable(in: journal).resumptionPlan(for: "kitten.ppm")
    #expect(plan.executedCount == 2)  // "large", and "pack", which depends on it
  }

  actor Table {
    private(set) var rows: [String: [UInt8]] = [:]

    func insert(_ bytes: [UInt8], at key: String) { rows[key] = bytes }
  }

  struct TableJournal: ProcedureJournal {
    let table: Table
    let name = "table"
    let coder: any ProcedureCoder = JSONProcedureCoder()

    var timeSince1970: Duration { .seconds(Date().timeIntervalSince1970) }

    func append(_ bytes: [UInt8], for key: JournalKey) async throws {
      await table.insert(bytes, at: "\(key.path) \(key.fingerprint)")
    }

    func read(_ key: JournalKey) async throws -> [UInt8]? {
      await table.rows["\(key.path) \(key.fingerprint)"]
    }
  }

  @Test("A program can provide its own journal")
  func own() async throws {
    let table = Table()
    for _ in 0..<2 { _ = try await thumbnails.durable(in: TableJournal(table: table))("kitten.ppm") }
    #expect(await table.rows.count == 4)
  }
}
