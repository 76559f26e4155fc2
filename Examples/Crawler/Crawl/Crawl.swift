import Foundation
import ProcedureKit
import ProcedureKitNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The whole job.
struct Crawl: Sendable {
  var addresses: [URL]
  var limits: Limits

  /// Downloads all addresses, and prints a line for each. Cancelling the task stops what is under way.
  func run() async -> Summary {
    var configuration = ProcedureQueue.Configuration("crawler", maxConcurrentProcedures: limits.jobs)
    configuration.maxConcurrentProceduresPerKey = limits.perHost
    configuration.fairness = .byKey
    let queue = ProcedureQueue(configuration)
    let handles = addresses.map { address in
      queue.add(download.keyed(by: address.host ?? ""), input: URLRequest(url: address))
    }
    return await withTaskCancellationHandler {
      var pages: [Page] = []
      for (address, handle) in zip(addresses, handles) {
        let page = Page(address: address, end: Self.end(await handle.outcome))
        Console.print(page.line)
        pages.append(page)
      }
      return Summary(pages: pages)
    } onCancel: {
      for handle in handles { handle.cancel() }
    }
  }

  private var download: ProcedureTask<URLRequest, HTTPPayloadResponse<Data>> {
    var load = NetworkDataProcedure("download")
    load.acceptsStatus = \.isSuccess
    return load.timeout(.seconds(8)).retry(
      .exponential(from: .milliseconds(100)).jittered(), maxAttempts: limits.attempts)
  }

  private static func end(_ outcome: ProcedureOutcome<HTTPPayloadResponse<Data>>) -> Page.End {
    switch outcome {
    case .finished(let response): .downloaded(byteCount: response.payload.count)
    case .failed(let error): .failed("\(error)")
    case .cancelled: .cancelled
    case .ignored(let condition): .failed("ignored, since \(condition) does not hold")
    }
  }
}
