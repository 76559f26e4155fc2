import Foundation

/// One or more executions of a contestant. They take place in a separate process, because the cost of work depends on what its process has
/// done before.
struct Execution: Equatable, Sendable {
  struct Failed: Error, CustomStringConvertible {
    let arguments: [String]
    let output: String

    var description: String {
      "the process 'Benchmark \(arguments.joined(separator: " "))' failed. It printed: '\(output)'"
    }
  }

  let workload: String
  let contestant: String
  /// The number of units of work.
  let units: Int
  /// The number of executions.
  let times: Int

  /// The arguments with which this program executes the contestant.
  var arguments: [String] { ["--execute", workload, contestant, "\(units)", "\(times)"] }

  /// Executes the contestant in this process.
  ///
  /// - Returns: The cost of a unit in each execution.
  /// - Throws: ``UsageError`` if there is no such contestant; any error thrown by the work.
  func costs() async throws -> [Double] {
    let contestants = Workload.all.first { $0.id == workload }?.contestants ?? []
    guard let found = contestants.first(where: { "\($0.role)" == contestant }) else {
      throw UsageError.unknownContestant(contestant, workload: workload)
    }
    return try await found.costs(units: units, times: times)
  }

  /// Executes the contestant in a separate process.
  ///
  /// - Parameter environment: Additional environment variables.
  /// - Returns: The cost of a unit in each execution.
  /// - Throws: ``Failed`` if the process fails or prints anything but the costs; any error thrown by `Process`.
  @Sendable func costsInChild(_ environment: [String: String]) throws -> [Double] {
    let (process, pipe) = (Process(), Pipe())
    process.executableURL = Bundle.main.executableURL
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = pipe
    try process.run()
    let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0, let costs = Self.costs(in: output), costs.count == times else {
      throw Failed(arguments: arguments, output: output)
    }
    return costs
  }

  // MARK: Output

  /// Returns the line that a process prints to pass the costs to its parent.
  static func line(_ costs: [Double]) -> String {
    costs.map { "\($0)" }.joined(separator: " ")
  }

  /// Parses the line that a process printed for its parent.
  ///
  /// - Returns: The costs; `nil` if the line contains anything but numbers.
  static func costs(in line: String) -> [Double]? {
    let words = line.split(whereSeparator: \.isWhitespace)
    let costs = words.compactMap { Double($0) }
    return costs.count == words.count ? costs : nil
  }
}
