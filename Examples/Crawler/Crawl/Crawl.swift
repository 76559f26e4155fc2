import Foundation
import ProcedureKit
import ProcedureKitNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A crawl that downloads all addresses.
struct Crawl: Sendable {
  var addresses: [URL]
  var folder: URL
  var limits = Limits()
  /// The clock that is used for rate limits, pauses, and circuit breakers.
  var clock: any Clock<Duration> = ContinuousClock()
  /// A closure that prints a line.
  var print: @Sendable (String) -> Void = { Console.print($0) }

  /// Downloads all addresses, each to a separate file, and prints a line for each finished download and each retry.
  ///
  /// Cancelling the task stops all downloads. The function returns once all of them have ended.
  func run() async -> Summary {
    let start = ContinuousClock.now
    let queue = makeQueue()
    let manners = HostManners(limits, clock: clock)
    var names = FileNames()
    let jobs = addresses.map { address in
      let file = folder.appending(path: names.name(for: address))
      let start: @Sendable (URLRequest) -> Handle = { request in
        let host = request.url?.hostAndPort ?? ""
        return queue.add(download(to: file, manners[host], until: start).keyed(by: host), input: request)
      }
      return Job(address: address, first: start(request(address)), start: start)
    }
    let pages = await watch(jobs)
    await queue.shutDown()
    return Summary(pages: pages, duration: start.duration(to: .now))
  }

  private typealias Handle = ProcedureHandle<HTTPPayloadResponse<URL>>

  /// The downloads for one address: an initial download, and another one for each redirect.
  private struct Job: Sendable {
    let address: URL
    let first: Handle
    let start: @Sendable (URLRequest) -> Handle
  }

  private func makeQueue() -> ProcedureQueue {
    var configuration = ProcedureQueue.Configuration("crawler", maxConcurrentProcedures: limits.jobs)
    configuration.maxConcurrentProceduresPerKey = limits.perHost
    configuration.fairness = .byKey
    configuration.clock = clock
    return ProcedureQueue(configuration)
  }

  private func request(_ address: URL) -> URLRequest {
    var request = URLRequest(url: address)
    request.setValue("ProcedureKit-crawler", forHTTPHeaderField: "User-Agent")
    return request
  }

  /// Returns a download that applies the ``Manners`` for the host to each attempt.
  ///
  /// A redirect ends the download, because the next host may have its own limits.
  private func download(
    to file: URL, _ manners: Manners, until start: ContinuousClock.Instant
  ) -> ProcedureTask<URLRequest, HTTPPayloadResponse<URL>> {
    var resilience = NetworkResilience()
    resilience.attemptTimeout = .seconds(limits.timeout)
    resilience.maxAttempts = limits.attempts
    // If the host asks for a pause, the crawler requests the page again after the pause.
    resilience.longestRetryAfter = Manners.longestPause
    var settings = TransferSettings.download
    settings.onRedirect = { throw Redirection(request: $0) }
    let download = NetworkDownloadProcedure(to: file, settings).resilient(resilience) { manners.applied(to: $0) }
    return limits.deadline.map { download.deadline(start + .seconds($0)) } ?? download
  }

  private func watch(_ jobs: [Job]) async -> [Page] {
    await withTaskGroup(of: Page.self) { group in
      for job in jobs {
        group.addTask { await page(job) }
      }
      var pages: [Page] = []
      for await page in group {
        print(page.line)
        pages.append(page)
      }
      return pages
    }
  }

  private func page(_ job: Job) async -> Page {
    var (handle, retries) = (job.first, 0)
    for redirectCount in 0... {
      let (outcome, count) = await watch(handle, job.address)
      retries += count
      guard case .failed(let error as Redirection) = outcome else {
        return Page(address: job.address, end: Self.end(outcome), attempts: retries + 1)
      }
      if Task.isCancelled { break }
      if redirectCount == Self.redirectLimit {
        let reason = "redirected more than \(Self.redirectLimit) times"
        return Page(address: job.address, end: .failed(reason), attempts: retries + 1)
      }
      handle = job.start(error.request)
    }
    return Page(address: job.address, end: .stopped, attempts: retries + 1)
  }

  /// Prints the retries of a download, and returns its outcome and the number of retries. Cancelling the task stops the download.
  private func watch(
    _ handle: Handle, _ address: URL
  ) async -> (ProcedureOutcome<HTTPPayloadResponse<URL>>, retries: Int) {
    await withTaskCancellationHandler {
      var retries = 0
      for await event in handle.events {
        guard case .retrying(let attempt, let delay, let error) = event.step else { continue }
        retries = attempt
        print("retry   \(address.shown)  in \(delay.inSeconds): \(error)")
      }
      return (await handle.outcome, retries)
    } onCancel: {
      handle.cancel()
    }
  }

  private static let redirectLimit = 10

  private static func end(_ outcome: ProcedureOutcome<HTTPPayloadResponse<URL>>) -> Page.End {
    switch outcome {
    case .finished(let response):
      let size = try? response.payload.resourceValues(forKeys: [.fileSizeKey]).fileSize
      return .downloaded(byteCount: size ?? 0)
    case .failed(let error): return .failed("\(error)")
    case .cancelled: return .stopped
    case .ignored(let condition): return .failed("ignored because the condition \"\(condition)\" was not satisfied")
    }
  }
}

/// An error that ends a download because of a redirect. The next request may be to the same host or to another one.
struct Redirection: Error {
  let request: URLRequest
}
