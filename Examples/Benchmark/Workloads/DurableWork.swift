import Foundation
import ProcedureKit
import ProcedureKitDurable
import ProcedureKitFoundation

/// W9: independent nodes whose values are written to a file.
enum DurableWork {
  /// The actor of the hand-written version. A task for each node encodes the node's value, and this actor writes it.
  private actor Writer {
    private let file: FileHandle

    init(_ file: URL) throws {
      self.file = try .creating(file)
    }

    func write(_ number: Int) throws { try file.write(contentsOf: JSONEncoder().encode(number)) }
  }

  static let contestants = [
    Contestant(.floor) { units in
      Trial(units: units) {
        try await withTemporaryFolder { folder in
          let writer = try Writer(folder.appending(path: "values"))
          try await withThrowingTaskGroup { group in
            for number in 0..<units {
              group.addTask {
                Tally.note()
                try await writer.write(number)
              }
            }
            try await group.waitForAll()
          }
        }
      }
    },
    Contestant(.procedureKit("no journal")) { units in
      let (queue, graph) = (ProcedureQueue("durable"), graph(units))
      return Trial(units: units) { try await queue.run(graph) }
    },
    durable("no flush", .never),
    durable("one flush per 100", .every(100)),
    durable("shared flushes", .everyEntry),
    // The width is 1, because nodes that are remembered at the same time would share a flush.
    durable(flushed, .everyEntry, width: 1, mostUnits: mostFlushes),
    Contestant(.bare(flushed), mostUnits: mostFlushes) { units in
      Trial(units: units) {
        try await withTemporaryFolder { folder in
          let file = try FileHandle.creating(folder.appending(path: "values"))
          for _ in 0..<units {
            Tally.note()
            try file.write(contentsOf: Data(count: 100))
            try file.synchronize()
          }
        }
      }
    },
  ]

  static let flushed = "one flush each"
  private static let mostFlushes = 500

  private static func durable(
    _ name: String, _ flush: FileJournal.Flush, width: Int = .max, mostUnits: Int = .max
  ) -> Contestant {
    Contestant(.procedureKit(name), mostUnits: mostUnits) { units in
      let (queue, graph) = (ProcedureQueue("durable", maxConcurrentProcedures: width), graph(units))
      return Trial(units: units) {
        // Each measurement uses a new file, which contains no values.
        try await withTemporaryFolder { folder in
          let journal = try FileJournal(folder.appending(path: "journal").path, flush: flush)
          try await queue.run(graph.durable(in: journal))
          try await journal.close()
        }
      }
    }
  }

  private static func graph(_ units: Int) -> ProcedureGraph<Void, Void> {
    ProcedureGraph("durable", returning: Void.self) { (g: GraphBuilder) -> Void in
      for number in 0..<units {
        g.add("node \(number)") {
          Tally.note()
          return number
        }
      }
    }
  }
}
