import Foundation

/// A tool that measures ProcedureKit and alternatives that do the same work. For its usage, run `Benchmark --help`.
@main
struct Benchmark {
  static func main() {
    // The task does not run on the main actor, because ProcedureKit's calls would return to that actor, but the alternatives would not.
    Task.detached { exit(await run(CommandLine.arguments.dropFirst())) }
    // This function is not asynchronous, because the thread of an asynchronous `main` ends, which makes valgrind 3.19 crash.
    RunLoop.main.run()
  }

  /// The maximum number of times that a target is checked. A busy machine can slow down work on two cores for minutes, so a missed target
  /// is measured again. The verdict is based on all measurements.
  private static let mostChecks = 3

  /// Runs the program, and returns the exit status.
  @concurrent private static func run(_ commandLine: some Sequence<String> & Sendable) async -> Int32 {
    do {
      let arguments = try Arguments(parsing: commandLine)
      switch arguments.action {
      case .printHelp: Console.print(Arguments.help)
      case .execute(let execution): Console.print(Execution.line(try await execution.costs()))
      case .serve: try await HTTPServer.serve()
      case .countInstructions: Console.print(try await InstructionCount.table())
      case .measure: return try await measure(arguments)
      }
      return 0
    } catch {
      Console.printError("\(error)")
      return error is UsageError ? 2 : 1
    }
  }

  private static func measure(_ arguments: Arguments) async throws -> Int32 {
    try await IsolationCheck.pass()
    let selection = Selection(arguments.names, includesLong: arguments.includesLong)
    let meter = Meter(samples: arguments.samples, units: arguments.units)
    var report = Report(samples: arguments.samples)
    var workloads = selection.workloads
    for _ in 0..<(arguments.checks ? mostChecks : 1) {
      for workload in workloads {
        if !arguments.printsJSON { Console.printProgress(workload.title(units: meter.units(of: workload))) }
        report.append(try await meter.measure(workload))
      }
      report.judge(selection.targets)
      workloads.removeAll { !report.failedWorkloads.contains($0.id) }
    }
    Console.print(arguments.printsJSON ? try report.json : report.table)
    if !arguments.printsJSON, selection.leavesOutLong {
      Console.print("P9 takes a long time. To measure it, pass --long.")
    }
    guard arguments.checks else { return 0 }
    guard !report.failures.isEmpty else { return 0 }
    Console.printError("missed: \(report.failures.joined(separator: ", "))")
    return 1
  }
}
