import Foundation
import ProcedureKit
import ProcedureKitDurable

/// A process that a test kills. It runs a durable graph of 30 nodes, and records each start of a body in a file.
///
/// Usage: journal-worker JOURNAL EFFECTS. The process prints a line for each start and each end of a body, and finally the value. The exit
/// status is 3 if the journal cannot be written.
@main
struct JournalWorker {
  static let nodeCount = 30

  static func main() async {
    // With the signal ignored, a file that exceeds its size limit is an error, and does not end the process.
    signal(SIGXFSZ, SIG_IGN)
    let arguments = CommandLine.arguments
    do {
      let journal = try FileJournal(arguments[1], flush: .never)
      let effects = open(arguments[2], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o666)
      let queue = ProcedureQueue("worker", maxConcurrentProcedures: 2)
      let value = try await queue.run(graph(effects).durable(in: journal))
      write(1, "value \(value)\n")
      exit(0)
    } catch {
      write(2, "\(error)\n")
      exit((error as? JournalError)?.kind == .unwritable ? 3 : 1)
    }
  }

  /// Returns a graph in which each node adds its number to the values of up to three earlier nodes.
  private static func graph(_ effects: Int32) -> ProcedureGraph<Void, Int> {
    ProcedureGraph("thirty") { g in
      var nodes: [Node<Int>] = []
      for number in 0..<nodeCount {
        let inputs = [number / 2, number * 2 / 3, number - 1].filter { 0 <= $0 && $0 < number }
        let node = g.add("node \(number)", from: inputs.map { nodes[$0] }) { values in
          write(effects, "\(number)\n")
          write(1, "start \(number)\n")
          // The pause is long enough for a kill to interrupt it.
          var rest = UInt64(number)
          for _ in 0..<2_000 { rest = rest &* 6_364_136_223_846_793_005 &+ 1 }
          write(1, "end \(number)\n")
          return values.reduce(number + Int(rest & 0), +) % 1_000_007
        }
        nodes.append(node)
      }
      return g.add("sum", from: nodes) { values in values.reduce(0, +) }
    }
  }

  private static func write(_ file: Int32, _ text: String) {
    let bytes = Array(text.utf8)
    guard Foundation.write(file, bytes, bytes.count) == bytes.count else { exit(4) }
  }
}
