import Foundation
import ProcedureKit
import ProcedureKitDiagnostics
import ProcedureKitFoundation
import ProcedureKitRemote

/// A tool that resizes a picture in two worker processes. Its graph calls the workers through a Temporal server.
@main struct Demo {
  static func main() async {
    Diagnostics.start()
    do {
      let arguments = try Arguments(SystemText.commandLine)
      switch arguments.mode {
      case .help: print(Arguments.help)
      case .worker: try await work(arguments)
      case .coordinator: try await Coordinator(arguments).run()
      case .all: try await runAll(arguments)
      }
    } catch {
      FileHandle.standardError.write(Data("temporal: \("\(error)".inLines)\n".utf8))
      exit(1)
    }
  }

  /// Executes calls until the process is terminated.
  private static func work(_ arguments: Arguments) async throws {
    var registry = ProcedureRegistry(coder: Resize.coder)
    registry.register(try Resize(arguments).procedure, as: .resize)
    let worker = RemoteWorker(
      registry: registry, queue: ProcedureQueue("worker", maxConcurrentProcedures: 2),
      reconnecting: .constant(.milliseconds(250)))
    try await worker.run(from: TemporalTaskSource(arguments.connection))
  }

  /// Starts two workers, runs the graph, and then stops the workers.
  private static func runAll(_ arguments: Arguments) async throws {
    do {
      try await arguments.connection.waitUntilReady(atMost: .seconds(2))
    } catch {
      throw DemoError(
        "no Temporal server responds at \(arguments.host) (\(error)). Start one, or specify another with --server")
    }
    let workers = try (1...2).map { _ in try start(["worker"] + arguments.passedOn) }
    defer { for worker in workers { worker.terminate() } }
    try await Coordinator(arguments).run()
  }

  private static func start(_ arguments: [String]) throws -> Process {
    let process = Process()
    process.executableURL = Bundle.main.executableURL
    process.arguments = arguments
    // Otherwise, the workers would write to the same trace file.
    process.environment = ProcessInfo.processInfo.environment.filter { $0.key != "PROCEDURE_TRACE" }
    try process.run()
    return process
  }
}

/// An error that is shown to the user.
struct DemoError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
