import Foundation
import ProcedureKit
import ProcedureKitNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The whole job.
struct Crawl: Sendable {
  var addresses: [URL]
  var folder: URL
  var limits = Limits()
  /// Prints a line.
  var print: @Sendable (String) -> Void = { Console.print($0) }

  /// Downloads all addresses, each to a file of its own, and prints a line for each that ends, and for each retry.
  ///
  /// Cancelling the task stops all downloads, and the function returns when nothing of them is left.
  func run() async -> Summary {
    let start = ContinuousClock.now
    let queue = makeQueue()
    let manners = Manners.towardsHosts(of: addresses, limits)
    var names = FileNames()
    let handles = addresses.map { address in
      let file = folder.appending(path: names.name(for: address))
      let download = download(to: file, manners[address.hostAndPort], until: start)
      return queue.add(download.keyed(by: address.hostAndPort), input: request(address))
    }
    let pages = await withTaskCancellationHandler {
      await watch(handles)
    } onCancel: {
      for handle in handles { handle.cancel() }
    }
    await queue.shutDown()
    return Summary(pages: pages, duration: start.duration(to: .now))
  }

  private func makeQueue() -> ProcedureQueue {
    var configuration = ProcedureQueue.Configuration("crawler", maxConcurrentProcedures: limits.jobs)
    configuration.maxConcurrentProceduresPerKey = limits.perHost
    configuration.fairness = .byKey
    return ProcedureQueue(configuration)
  }

  private func request(_ address: URL) -> URLRequest {
    var request = URLRequest(url: address)
    request.setValue("ProcedureKit-crawler", forHTTPHeaderField: "User-Agent")
    return request
  }

  /// Each attempt waits for the rate of the host, and counts for the breaker.
  private func download(
    to file: URL, _ manners: Manners?, until start: ContinuousClock.Instant
  ) -> ProcedureTask<URLRequest, HTTPPayloadResponse<URL>> {
    var resilience = NetworkResilience()
    resilience.attemptTimeout = .seconds(limits.timeout)
    resilience.maxAttempts = limits.attempts
    let download = NetworkDownloadProcedure(to: file).resilient(resilience) { attempt in
      guard let manners else { return attempt }
      return attempt.circuitBreaker(manners.breaker).rateLimited(manners.limiter)
    }
    return limits.deadline.map { download.deadline(start + .seconds($0)) } ?? download
  }

  private func watch(_ handles: [ProcedureHandle<HTTPPayloadResponse<URL>>]) async -> [Page] {
    await withTaskGroup(of: Page.self) { group in
      for (address, handle) in zip(addresses, handles) {
        group.addTask { await page(address, handle) }
      }
      var pages: [Page] = []
      for await page in group {
        print(page.line)
        pages.append(page)
      }
      return pages
    }
  }

  private func page(_ address: URL, _ handle: ProcedureHandle<HTTPPayloadResponse<URL>>) async -> Page {
    var attempts = 1
    for await event in handle.events where event.kind == .retrying {
      attempts = event.attempt + 1
      let pause = (event.delay ?? .zero).inSeconds
      print("again   \(address.shown)  in \(pause): \(event.error.map { "\($0)" } ?? "")")
    }
    return Page(address: address, end: Self.end(await handle.outcome), attempts: attempts)
  }

  private static func end(_ outcome: ProcedureOutcome<HTTPPayloadResponse<URL>>) -> Page.End {
    switch outcome {
    case .finished(let response):
      let size = try? response.payload.resourceValues(forKeys: [.fileSizeKey]).fileSize
      return .downloaded(byteCount: size ?? 0)
    case .failed(let error): return .failed("\(error)")
    case .cancelled: return .stopped
    case .ignored(let condition): return .failed("ignored, since \(condition) does not hold")
    }
  }
}
