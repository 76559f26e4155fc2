import ArgumentParser
import ProcedureKit

@main
struct Convert: AsyncParsableCommand {
  @Option(name: .shortAndLong, help: "How many files to convert at once.") var jobs = 4
  @Option(name: .shortAndLong, help: "How many times to try each file.") var attempts = 3
  @Flag(help: "Continue when a file cannot be converted.") var keepGoing = false
  @Argument(help: "The files.") var files: [String]

  func run() async throws {
    let convert = ProcedureTask("convert") { (file: String) in print("converted \(file)") }
      .retry(.exponential(from: .milliseconds(100)), maxAttempts: attempts)
    try await withProcedureQueue(
      maxConcurrentProcedures: jobs, onFailure: keepGoing ? .collect : .failFast
    ) { queue in
      for file in files { queue.add(convert, input: file) }
    }
  }

  func validate() throws {
    guard jobs > 0, attempts > 0 else { throw ValidationError("--jobs and --attempts must be at least 1.") }
  }
}
