import Foundation
import ProcedureKit
import ProcedureKitProcess

/// The number of instructions per unit of work, as counted by valgrind. Unlike a duration, it is reproducible even on a busy machine.
///
/// A contestant is executed once in one process, and several times in another. The difference between the two counts excludes the
/// instructions for starting the process and preparing the work.
struct InstructionCount: Sendable {
  struct Failed: Error, CustomStringConvertible {
    let output: String

    var description: String { "valgrind did not report the number of instructions. It printed: '\(output)'" }
  }

  let name: String
  let workload: String
  let way: String

  static let all = [
    InstructionCount(name: "run", workload: "W1", way: "run"),
    InstructionCount(name: "add", workload: "W1", way: "add"),
    InstructionCount(name: "width 2", workload: "W2", way: "add"),
    InstructionCount(name: "chain", workload: "W3", way: "run"),
    InstructionCount(name: "layers", workload: "W4", way: "run"),
    InstructionCount(name: "map", workload: "P15", way: "map"),
    InstructionCount(name: "results", workload: "P15", way: "results"),
    InstructionCount(name: "exclusive", workload: "W6", way: "add"),
  ]

  /// The number of units. It is a square number, so the number of layers can equal the number of nodes in a layer.
  private static let units = 2_500
  private static let furtherExecutions = 6

  /// Counts the instructions of all contestants in ``all``.
  ///
  /// - Returns: A table with a row for each contestant.
  /// - Throws: `ProcessError` if a program is missing or fails; ``Failed`` if valgrind does not report a number.
  static func table() async throws -> String {
    try await withTemporaryFolder { folder in
      // Versions of valgrind that are older than the compiler cannot read its debug information.
      let program = folder.appending(path: "benchmark").path
      let arguments = ["-g", "-o", program, Bundle.main.executablePath ?? CommandLine.arguments[0]]
      _ = try await ProcessProcedure("strip")(ProcessRequest("strip", arguments.map { SystemText($0) }))
      var lines: [String] = []
      for count in all {
        lines.append("\(try await count.instructions(of: program))".padding(8, onTheLeft: true) + "  " + count.name)
      }
      return lines.joined(separator: "\n")
    }
  }

  private func instructions(of program: String) async throws -> Int {
    async let several = instructions(of: program, executions: 1 + Self.furtherExecutions)
    async let one = instructions(of: program, executions: 1)
    return try await (several - one) / (Self.furtherExecutions * Self.units)
  }

  private func instructions(of program: String, executions: Int) async throws -> Int {
    let execution = Execution(workload: workload, contestant: way, units: Self.units, times: executions)
    // The program runs on one processor, so that the thread pool has one thread, and the order of operations does not vary.
    let command = ["-c", "0", "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program]
    var request = ProcessRequest("taskset", (command + execution.arguments).map { SystemText($0) })
    request.environment = Self.environment
    request.mergesErrorOutput = true
    let result = try await ProcessProcedure("valgrind")(request)
    guard let count = result.text.firstMatch(of: /Collected : (\d+)/).flatMap({ Int($0.1) }) else {
      throw Failed(output: result.text)
    }
    return count
  }

  /// The environment variables. They do not depend on the user, and make all runs use the same seed for hash values.
  private static let environment: [SystemText: SystemText] = [
    "PATH": ProcessRequest.inheritedEnvironment["PATH"] ?? "/usr/bin",
    "SWIFT_DETERMINISTIC_HASHING": "1",
  ]
}
