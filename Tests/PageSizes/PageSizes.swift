import Foundation
import ProcedureKit
import ProcedureKitFoundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Prints the sizes of the pages whose addresses are its arguments.
@main
struct PageSizes {
  static func main() async {
    let queue = ProcedureQueue("pages", maxConcurrentProcedures: 4)
    let signals = ProcessSignals(.interrupt, .terminate) { signal, count in
      if count > 1 { exit(signal.exitStatus) }
      FileHandle.standardError.write(Data("Stopping. To quit immediately, press Ctrl-C again.\n".utf8))
    }
    let pages = CommandLine.arguments.dropFirst().map { address in
      queue.add(ProcedureTask(address) { try await size(of: address) })
    }
    // The task waits for signals until the process ends.
    Task {
      for await _ in signals {
        queue.cancelWaiting()  // pages that have not been requested yet
        await queue.shutDown(grace: .seconds(10))  // lets the other ones arrive
      }
    }
    var status: Int32 = 0
    for page in pages {
      switch await page.outcome {
      case .finished(let size): print("\(page.name): \(size) bytes")
      case let other:
        print("\(page.name): \(other)")
        status = 1
      }
    }
    exit(signals.first?.exitStatus ?? status)
  }

  private static func size(of address: String) async throws -> Int {
    guard let url = URL(string: address) else { throw URLError(.badURL) }
    return try await URLSession.shared.data(from: url).0.count
  }
}
