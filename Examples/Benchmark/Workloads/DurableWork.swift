import Foundation
import ProcedureKit
import ProcedureKitDurable
import ProcedureKitFoundation

/// W9: independent nodes, the value of each written to a file.
enum DurableWork {
  /// By hand: a task for each node, which encodes its value, and an actor that writes.
  private actor Writer {
    private let file: FileHandle

    init(_ path: String) throws {
      _ = FileManager.default.createFile(atPath: path, contents: nil)
      file = try FileHandle(forWritingTo: URL(filePath: path))
    }

    func write(_ number: Int) throws { try file.write(contentsOf: JSONEncoder().encode(number)) }
  }

  static let contestants = [
    Contestant(.floor) { units in
      Trial(units: units) {
        try await withFile { path in
          let writer = try Writer(path)
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
    durable("a flush for every 100", .every(100)),
    durable("a flush for each", .everyEntry),
  ]

  private static func durable(_ name: String, _ flush: FileJournal.Flush) -> Contestant {
    Contestant(.procedureKit(name)) { units in
      let (queue, graph) = (ProcedureQueue("durable"), graph(units))
      return Trial(units: units) {
        try await withFile { path in
          let journal = try FileJournal(path, flush: flush)
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

  /// Calls a function with a separate file for each measurement, so that it contains no values.
  private static func withFile(_ body: (String) async throws -> Void) async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "durable-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: file) }
    try await body(file.path(percentEncoded: false))
  }
}
