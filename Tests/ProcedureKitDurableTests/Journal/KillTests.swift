import Foundation
import ProcedureKit
import ProcedureKitDurable
import TestSupport
import Testing
import TestingProcedureKit

/// Tests a process that runs a durable graph of 30 nodes, is killed with -9 at random times, and is run again until the graph has finished.
@Suite(.timeLimit(.atDepth)) struct KillTests {
  private static let value = "value 316542\n"

  /// Returns the numbers of the nodes that have an entry in a journal, which is read as the library reads it.
  private static func recorded(_ path: String) async throws -> (entries: [JournalKey: [UInt8]], torn: Bool) {
    let journal = try FileJournal(path, log: ProcedureLog(to: LogCollector()))
    var entries: [JournalKey: [UInt8]] = [:]
    for name in (0..<30).map({ "thirty/node \($0)" }) + ["thirty/sum"] {
      guard let key = try await journal.latestKey(at: name) else { continue }
      entries[key] = try await journal.read(key)
    }
    #expect(await journal.entryCount == entries.count)
    try await journal.close()
    return (entries, journal.recovery != nil)
  }

  private static func executions(_ path: String) -> [String] {
    let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    return text.split(separator: "\n").map { "thirty/node \($0)" }
  }

  @Test(
    "A graph that is killed at any moment loses no value, and does not repeat a node that has an entry",
    arguments: 0..<UInt64(TestDepth.count(7, least: 4)))
  func killed(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let folder = try TemporaryFolder()
    let (journal, effects) = (folder.file("journal"), folder.file("effects"))
    var kills = 0
    var before: [JournalKey: [UInt8]] = [:]
    var seen = 0
    while true {
      // Each journal has at most five kills, because later ones would rarely interrupt anything.
      let kill =
        kills < 5
        ? (lines: Int.random(in: 0...30, using: &random), turns: Int.random(in: 0..<20_000, using: &random)) : nil
      let run = try await WorkerProcess([journal, effects], kill: kill)
      let executions = Self.executions(effects)
      let started = executions[seen...]
      seen = executions.count
      #expect(Set(started).count == started.count, "seed \(seed): a node was executed twice in one run")
      #expect(
        Set(started).isDisjoint(with: before.keys.map(\.path)), "seed \(seed): a finished node was executed again")
      let after = try await Self.recorded(journal).entries
      for (key, value) in before { #expect(after[key] == value, "seed \(seed): \(key) was lost or changed") }
      let ended = run.output.split(separator: "\n").filter { $0.hasPrefix("end ") }.count
      // Each node that has ended has an entry, unless the kill came in between, which happens to at most one node for each of the two
      // slots.
      #expect(after.count - before.count >= ended - 2, "seed \(seed): \(run.output)")
      before = after
      if run.status == 0 {
        #expect(run.output.hasSuffix(Self.value), "seed \(seed): \(run.output.suffix(40))")
        break
      }
      #expect(run.status == -SIGKILL, "seed \(seed): \(run.errors)")
      kills += 1
    }
    if TestDepth.current == .deep { print("seed \(seed): \(kills) kills, \(seen) executions of 30 nodes") }
    #expect(before.count == 31)
    // Each kill affects at most the two nodes that were executing.
    #expect(seen <= 30 + 2 * kills, "seed \(seed): \(seen) executions with \(kills) kills")
    let last = try await WorkerProcess([journal, effects])
    #expect(last.output == Self.value)
    #expect(Self.executions(effects).count == seen)
  }

  @Test(
    "On a full disk, the run fails and the journal stays readable, and a run with free space continues",
    arguments: [1, 2, 3, 4])
  func fullDisk(blocks: Int) async throws {
    let folder = try TemporaryFolder()
    let (journal, effects) = (folder.file("journal"), folder.file("effects"))
    let full = try await WorkerProcess([journal, effects], fileLimit: blocks)
    #expect(full.status == 3 && full.errors.contains("File too large"), "\(full.errors)")
    let (entries, isTorn) = try await Self.recorded(journal)
    #expect(!isTorn)
    #expect(entries.count < 31)
    let before = Self.executions(effects).count
    let run = try await WorkerProcess([journal, effects])
    #expect(run.output.hasSuffix(Self.value))
    let again = Self.executions(effects)[before...]
    #expect(Set(again).isDisjoint(with: entries.keys.map(\.path)))
    #expect(again.count == 30 - entries.count)
  }
}
