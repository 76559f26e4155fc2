import Foundation
import ProcedureKit
import ProcedureKitDiagnostics
import ProcedureKitFoundation

/// A tool that downloads a list of addresses. For its usage, run `crawler --help`.
@main
struct Crawler {
  static func main() async {
    Diagnostics.start()
    // This process must not end if the program that reads its output exits.
    signal(SIGPIPE, SIG_IGN)
    exit(await run(SystemText.commandLine))
  }

  /// Runs the program, and returns the exit status.
  private static func run(_ commandLine: some Sequence<SystemText>) async -> Int32 {
    do {
      let arguments = try Arguments(parsing: commandLine)
      switch arguments.action {
      case .printHelp:
        Console.print(Arguments.help)
        return 0
      case .demonstrate: return try await demonstrate(arguments)
      case .crawl:
        let addresses = try AddressList(arguments.inputs).addresses
        let folder = try OutputFolder(arguments.output ?? "pages")
        return await status(of: Crawl(addresses: addresses, folder: folder.url, limits: arguments.limits))
      }
    } catch {
      Console.printError("\(error)")
      return 1
    }
  }

  /// Crawls the demonstration's own server. The pages are removed afterwards unless the command line specifies a folder.
  private static func demonstrate(_ arguments: Arguments) async throws -> Int32 {
    let site = try DemoSite()
    defer { site.stop() }
    let temporary = FileManager.default.temporaryDirectory.appending(path: "crawler-\(UUID().uuidString)")
    let folder = try OutputFolder(arguments.output ?? temporary.path)
    defer { if arguments.output == nil { folder.remove() } }
    let crawl = Crawl(addresses: site.addresses, folder: folder.url, limits: arguments.limits)
    return await status(of: crawl, site.surprises)
  }

  /// Runs a crawl, prints the summary, and returns the exit status.
  private static func status(of crawl: Crawl, _ surprises: ((Summary) -> [String])? = nil) async -> Int32 {
    let signals = ProcessSignals(.interrupt, .terminate) { signal, count in
      if count > 1 { _exit(signal.exitStatus) }
      Console.printError("stopping; press Ctrl-C again to quit immediately")
    }
    let summary = await signals.cancelling { await crawl.run() }
    Console.print(summary.text)
    if let signal = signals.first { return signal.exitStatus }
    guard let surprises = surprises?(summary) else { return summary.isComplete ? 0 : 1 }
    for surprise in surprises { Console.printError(surprise) }
    return surprises.isEmpty ? 0 : 1
  }
}
