import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKitDurable

@Suite("Durations that are learned from a journal", .timeLimit(.minutes(10)))
struct LearnedDurationTests {
  @Test("A node that is executed again is expected to take as long as it did the last time")
  func learned() async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      let (journal, clock) = (InMemoryJournal(), env.clock)
      let queue = env.makeQueue(maxConcurrentProcedures: 2)
      let graph = ProcedureGraph("g", returning: Void.self) { g in
        for seconds in [1, 2, 3, 9] {
          g.add("\(seconds)") {
            try await clock.sleep(for: .seconds(seconds))
            return seconds
          }
        }
      }
      // The longest node starts last, and then first. A given duration does not replace a measured one.
      let misleading = graph.expected(durations: ["1": .seconds(100), "2": .seconds(90)])
      for (version, graph, seconds) in [(1, graph, 11), (2, graph, 9), (3, misleading, 9)] {
        let start = clock.now
        try await queue.run(graph.durable(in: journal, version: version))
        env.check(clock.now == start.advanced(by: .seconds(seconds)), "\(start) to \(clock.now), version \(version)")
      }
      await queue.shutDown()
    }
  }

  @Test("A value that comes from the journal takes no time, so only the nodes that remain count")
  func reused() async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      let (journal, clock) = (InMemoryJournal(), env.clock)
      let queue = env.makeQueue(maxConcurrentProcedures: 2)
      func graph(version: Int) -> ProcedureGraph<Void, Void> {
        ProcedureGraph("g", returning: Void.self) { g in
          let work = { @Sendable (name: String, seconds: Int) in
            ProcedureTask(name) {
              try await clock.sleep(for: .seconds(seconds))
              return seconds
            }
          }
          g.add(work("short", 1).version(version))
          g.add(work("medium", 4).version(version))
          let download = g.add(work("download", 100))
          g.add("unpack", from: download) { $0 }
          g.add(work("long", 5).version(version))
        }
      }
      for (version, seconds) in [(1, 100), (2, 5)] {
        let start = clock.now
        try await queue.run(graph(version: version).durable(in: journal))
        env.check(clock.now == start.advanced(by: .seconds(seconds)), "\(start) to \(clock.now), version \(version)")
      }
      await queue.shutDown()
    }
  }

  @Test("An entry with or without a duration is read as it was written, and an incomplete duration is not an entry")
  func entries() throws {
    for duration in [nil, Duration.zero, .milliseconds(1_500), .seconds(1_000_000)] {
      let dependencies = [JournalRecord.Dependency(name: "a", prefix: 7)]
      let record = JournalRecord(versions: [1, 2], dependencies: dependencies, duration: duration, content: [3, 4])
      #expect(JournalRecord(record.bytes) == record)
    }
    let empty = JournalRecord(versions: [], dependencies: [], duration: .seconds(1), content: [])
    #expect(JournalRecord(empty.bytes.dropLast()) == nil)
    #expect(JournalRecord([1, 0] + [UInt8](repeating: 0, count: 8) + [9])?.duration == nil)
  }
}

extension JournalRecord {
  fileprivate init?(_ bytes: ArraySlice<UInt8>) { self.init(Array(bytes)) }
}
