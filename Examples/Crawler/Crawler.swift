import Foundation
import ProcedureKit

/// Downloads a list of addresses. `crawler --help` tells how to use it.
@main
struct Crawler {
  static func main() async {
    // A reader of the output may go away, which must not end the process.
    signal(SIGPIPE, SIG_IGN)
    exit(await run(CommandLine.arguments.dropFirst()))
  }

  /// - Returns: The exit status.
  private static func run(_ commandLine: some Sequence<String>) async -> Int32 {
    do {
      let arguments = try Arguments(parsing: commandLine)
      switch arguments.action {
      case .printHelp:
        Console.print(Arguments.help)
        return 0
      case .demonstrate: return try await demonstrate(arguments)
      case .crawl: return await crawl(try AddressList(arguments.inputs).addresses, arguments)
      }
    } catch {
      Console.printError("\(error)")
      return 1
    }
  }

  private static func demonstrate(_ arguments: Arguments) async throws -> Int32 {
    let site = try DemoSite()
    defer { site.stop() }
    return await crawl(site.addresses, arguments)
  }

  private static func crawl(_ addresses: [URL], _ arguments: Arguments) async -> Int32 {
    let crawl = Crawl(addresses: addresses, limits: arguments.limits)
    let task = Task { await crawl.run() }
    let interruption = Interruption { task.cancel() }
    let summary = await task.value
    Console.print(summary.text)
    if let signal = interruption.signal { return 128 + signal }
    return summary.isComplete ? 0 : 1
  }
}
