import Foundation
import LoopbackServer
import ProcedureKit
import ProcedureKitNetwork
import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

@testable import crawler

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(10))) struct CrawlTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "crawl-\(UUID().uuidString)")
  /// Limits with enough time for each attempt, even on a busy machine.
  private static let limits = Limits(jobs: 20, perHost: 2, rate: 10_000, attempts: 1, timeout: 600)

  private func withFolder(_ body: (OutputFolder) async throws -> Void) async throws {
    let folder = try OutputFolder(folder.path)
    defer { folder.remove() }
    try await body(folder)
  }

  private var names: [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()) ?? []
  }

  @Test("The lines for the user contain no passwords")
  func passwords() throws {
    let address = try #require(URL(string: "http://me:secret@127.0.0.1:9/kitten?size=2"))
    #expect(address.shown == "http://127.0.0.1:9/kitten?size=2")
    #expect(!Page(address: address, end: .stopped, attempts: 1).line.contains("secret"))
  }

  @Test("One host gets only as many concurrent requests as allowed, while other hosts get theirs")
  func limits() async throws {
    let servers = try (1...2).map { _ in try LoopbackServer { .ok($0.path) } }
    defer { for server in servers { server.stop() } }
    let addresses = (1...20).flatMap { number in servers.map { $0.url("/\(number)") } }
    try await withFolder { folder in
      let lines = Mutex<[String]>([])
      let crawl = Crawl(addresses: addresses, folder: folder.url, limits: Self.limits) { line in
        lines.withLock { $0.append(line) }
      }
      let summary = await crawl.run()
      #expect(summary.isComplete)
      #expect(summary.text.hasPrefix("40 of 40 downloaded, 102 bytes; 0 failed, 0 stopped; 0 retries, "))
      #expect(servers.allSatisfy { $0.peakRequests <= 2 })
      #expect(lines.withLock { $0.count { $0.hasPrefix("ok ") } } == 40)
      #expect(names.count == 40)
    }
  }

  @Test("A host that fails gets no more requests, but the other host does")
  func breaker() async throws {
    let good = try LoopbackServer { _ in .ok("a kitten") }
    let bad = try LoopbackServer { _ in .resets }
    defer { for server in [good, bad] { server.stop() } }
    let addresses = (1...20).flatMap { number in [good, bad].map { $0.url("/\(number)") } }
    try await withFolder { folder in
      let summary = await Crawl(addresses: addresses, folder: folder.url, limits: Self.limits, print: { _ in }).run()
      #expect(summary.text.hasPrefix("20 of 40 downloaded, 160 bytes; 20 failed"))
      // Two requests may be in progress when the breaker opens.
      #expect((5...6).contains(bad.requests.count))
      #expect(names.count == 20)
    }
  }

  @Test("A cancellation stops all downloads, and leaves only complete files")
  func cancel() async throws {
    let gate = ServerGate()
    // The page that is downloaded is on a host of its own, so that it does not wait for the others.
    let (other, server) = (
      try LoopbackServer { _ in .ok("a kitten") }, try LoopbackServer { _ in .ok("0123456789").gated(gate, after: 4) }
    )
    defer { for server in [other, server] { server.stop() } }
    try await withFolder { folder in
      let addresses = [other.url("/1")] + (2...9).map { server.url("/\($0)") }
      let lineCount = Atomic(0)
      let task = Task {
        await Crawl(addresses: addresses, folder: folder.url, limits: Self.limits) { _ in
          lineCount.add(1, ordering: .relaxed)
        }
        .run()
      }
      try await gate.waitForArrivals(2)
      // Each finished download has a line.
      try await eventually { lineCount.load(ordering: .relaxed) == 1 }
      task.cancel()
      let summary = await task.value
      #expect(summary.text.hasPrefix("1 of 9 downloaded, 8 bytes; 0 failed, 8 stopped"))
      #expect(names.count == 1)
      try await server.waitUntilUnconnected()
    }
  }

  @Test("The demonstration knows which pages exist")
  func surprises() throws {
    let site = try DemoSite()
    defer { site.stop() }
    func pages(_ end: Page.End) -> Summary {
      Summary(pages: site.addresses.map { Page(address: $0, end: end, attempts: 1) }, duration: .zero)
    }
    #expect(site.addresses.count == 28)
    #expect(site.surprises(in: pages(.downloaded(byteCount: 1))).count == 12)
    #expect(site.surprises(in: pages(.failed("why"))).count == 16)
    #expect(site.surprises(in: pages(.stopped)).isEmpty)
  }

  private func crawl(_ addresses: [URL], _ folder: OutputFolder, _ change: (inout Crawl) -> Void) -> Crawl {
    var crawl = Crawl(addresses: addresses, folder: folder.url, limits: Self.limits, print: { _ in })
    change(&crawl)
    return crawl
  }

  @Test(
    "A missing page does not count as a failure of its host", arguments: [400, 401, 403, 404, 405, 410, 418, 451])
  func missing(_ status: Int) async throws {
    let server = try LoopbackServer { $0.path.hasPrefix("/missing") ? .status(status) : .ok("a kitten") }
    defer { server.stop() }
    let paths = (1...6).map { "/missing/\($0)" } + (1...6).map { "/\($0)" }
    try await withFolder { folder in
      let summary = await crawl(paths.map { server.url($0) }, folder) { $0.limits.jobs = 1 }.run()
      #expect(summary.text.hasPrefix("6 of 12 downloaded"))
      #expect(server.requests.count == 12)
    }
  }

  @Test("A status that indicates a failure of the host opens the breaker", arguments: [408, 425, 429, 500, 503])
  func failing(_ status: Int) async throws {
    let server = try LoopbackServer { _ in .status(status) }
    defer { server.stop() }
    try await withFolder { folder in
      let summary = await crawl((1...12).map { server.url("/\($0)") }, folder) { $0.limits.jobs = 1 }.run()
      #expect(summary.text.hasPrefix("0 of 12 downloaded"))
      #expect(server.requests.count == 5)
    }
  }

  @Test(
    "A host that asks for a pause gets no request until the pause is over, and another host is not delayed",
    arguments: [429, 503])
  func pause(_ status: Int) async throws {
    let asking = try LoopbackServer { request in
      request.path == "/1" && request.attempt == 1 ? .status(status, headers: ["Retry-After": "120"]) : .ok("a kitten")
    }
    let other = try LoopbackServer { _ in .ok("a kitten") }
    defer { for server in [asking, other] { server.stop() } }
    let addresses = [asking.url("/1"), asking.url("/2"), asking.url("/3"), other.url("/1"), other.url("/2")]
    let clock = VirtualClock()
    try await withFolder { folder in
      let crawl = crawl(addresses, folder) { crawl in
        crawl.limits = Limits(jobs: 1, perHost: 100, rate: 10_000, attempts: 2, timeout: 86_400)
        crawl.clock = clock
      }
      let task = Task { await crawl.run() }
      try await other.waitForRequests(2)
      try await clock.nextSleep(count: 3)
      #expect(asking.requests.count == 1)
      clock.advance(by: .seconds(120))
      let summary = await task.value
      #expect(summary.text.hasPrefix("5 of 5 downloaded"))
      #expect(asking.requests.count == 4)
    }
  }

  @Test(
    "A page that is waiting for its host's rate limit when a pause begins waits for the pause, too",
    arguments: [429, 503])
  func pauseBegins(_ status: Int) async throws {
    let gate = ServerGate()
    let server = try LoopbackServer { request in
      request.path == "/1" ? .status(status, headers: ["Retry-After": "30"]).gated(gate) : .ok("a kitten")
    }
    defer { server.stop() }
    try await withFolder { _ in
      let clock = VirtualClock()
      let manners = Manners(host: "a", Limits(perHost: 1, rate: 1), clock: clock)
      var configuration = ProcedureQueue.Configuration("crawler")
      configuration.clock = clock
      let queue = ProcedureQueue(configuration)
      func add(_ path: String, _ name: String) -> ProcedureHandle<HTTPPayloadResponse<URL>> {
        let download = NetworkDownloadProcedure(to: folder.appending(path: name)).procedureTask
        return queue.add(manners.applied(to: download), input: URLRequest(url: server.url(path)))
      }
      let first = add("/1", "first")
      try await gate.waitForArrivals()
      let second = add("/2", "second")
      #expect(try await clock.nextSleep() == clock.now.advanced(by: .seconds(1)))
      gate.open()
      await #expect { try await first.value } throws: { ($0 as? NetworkError)?.status?.rawValue == status }
      clock.advance(by: .seconds(1))
      // The page waits again, or sends its request.
      while clock.sleeperCount == 0, server.requests.count == 1 {
        try Task.checkCancellation()
        await Task.yield()
      }
      #expect(server.requests.count == 1)
      clock.advance(by: .seconds(29))
      #expect(try await second.value.status == 200)
      #expect(server.requests.map(\.path) == ["/1", "/2"])
    }
  }

  @Test(
    "A host gets a pause of at most ten minutes, whatever it asks for, and none if the request is malformed",
    arguments: [
      ("600", 600), ("601", 600), ("999999999999999999999999", 600), ("Fri, 31 Dec 9999 23:59:59 GMT", 600),
      ("Sun, 06 Nov 1994 08:49:37 GMT", 0), ("0", 0), ("-5", nil), ("soon", nil), ("1e9", nil), ("", nil),
    ] as [(String, Int?)])
  func longPause(_ value: String, _ seconds: Int?) throws {
    for status in [429, 503, 500] {
      let response = try #require(
        HTTPURLResponse(
          url: folder, statusCode: status, httpVersion: nil, headerFields: ["Retry-After": value]))
      #expect(Manners.pause(of: response) == (status == 500 ? nil : seconds.map { .seconds($0) }))
    }
  }

  @Test("Pauses that a host asks for do not open its breaker")
  func pauses() async throws {
    let server = try LoopbackServer { request in
      request.path.hasPrefix("/busy") ? .status(429, headers: ["Retry-After": "1"]) : .ok("a kitten")
    }
    defer { server.stop() }
    let paths = (1...6).map { "/busy/\($0)" } + (1...6).map { "/\($0)" }
    let clock = VirtualClock()
    try await withFolder { folder in
      let crawl = crawl(paths.map { server.url($0) }, folder) { crawl in
        crawl.limits = Limits(jobs: 1, perHost: 100, rate: 10_000, attempts: 1, timeout: 86_400)
        crawl.clock = clock
      }
      let task = Task { await crawl.run() }
      let time = Task {
        while !Task.isCancelled {
          let end = try await clock.nextSleep()
          // The time limit of an attempt, which is one day, must not pass.
          if clock.now.duration(to: end) < .seconds(2) { clock.advance(to: end) }
          await Task.yield()
        }
      }
      let summary = await task.value
      time.cancel()
      #expect(summary.text.hasPrefix("6 of 12 downloaded"))
      #expect(server.requests.count == 12)
    }
  }

  @Test("A redirect is subject to the breaker and the limits of its target's host")
  func redirected() async throws {
    let target = try LoopbackServer { $0.path.hasPrefix("/bad") ? .resets : .ok("a kitten") }
    let server = try LoopbackServer { [port = target.port] request in
      .redirect(to: "http://127.0.0.1:\(port)\(request.path)")
    }
    defer { for server in [server, target] { server.stop() } }
    try await withFolder { folder in
      let good = await crawl((1...20).map { server.url("/\($0)") }, folder) { _ in }.run()
      #expect(good.isComplete)
      #expect(target.peakRequests <= 2)
      let bad = await crawl((1...20).map { server.url("/bad/\($0)") }, folder) { _ in }.run()
      #expect(bad.text.hasPrefix("0 of 20 downloaded, 0 bytes; 20 failed"))
      #expect(server.requests.count == 40)
      #expect((5...6).contains(target.requests.count - 20))
    }
  }

  @Test("A loop of redirects ends, and a redirect to the same host is followed")
  func loop() async throws {
    let server = try LoopbackServer { request in
      switch request.path {
      case "/moved": .redirect(to: "/kitten")
      case "/kitten": .ok("a kitten")
      default: .redirect(to: "/loop")
      }
    }
    defer { server.stop() }
    try await withFolder { folder in
      let summary = await crawl([server.url("/moved"), server.url("/loop")], folder) { _ in }.run()
      #expect(summary.text.hasPrefix("1 of 2 downloaded, 8 bytes; 1 failed"))
      #expect(server.requests(to: "/loop").count == 11)
    }
  }
}
