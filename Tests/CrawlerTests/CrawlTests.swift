import Foundation
import LoopbackServer
import ProcedureKit
import Synchronization
import Testing

@testable import crawler

@Suite(.timeLimit(.minutes(10))) struct CrawlTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "crawl-\(UUID().uuidString)")
  /// With time enough for each attempt, also on a busy machine.
  private static let limits = Limits(jobs: 20, perHost: 2, rate: 10_000, attempts: 1, timeout: 600)

  private func withFolder(_ body: (OutputFolder) async throws -> Void) async throws {
    let folder = try OutputFolder(folder.path)
    defer { folder.remove() }
    try await body(folder)
  }

  private var names: [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()) ?? []
  }

  @Test("The lines for the user have no passwords")
  func passwords() throws {
    let address = try #require(URL(string: "http://me:secret@127.0.0.1:9/kitten?size=2"))
    #expect(address.shown == "http://127.0.0.1:9/kitten?size=2")
    #expect(!Page(address: address, end: .stopped, attempts: 1).line.contains("secret"))
  }

  @Test("One host gets no more requests at once than allowed, others meanwhile get theirs")
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

  @Test("A host that fails is left alone, and the other is not")
  func breaker() async throws {
    let good = try LoopbackServer { _ in .ok("a kitten") }
    let bad = try LoopbackServer { _ in .resets }
    defer { for server in [good, bad] { server.stop() } }
    let addresses = (1...20).flatMap { number in [good, bad].map { $0.url("/\(number)") } }
    try await withFolder { folder in
      let summary = await Crawl(addresses: addresses, folder: folder.url, limits: Self.limits, print: { _ in }).run()
      #expect(summary.text.hasPrefix("20 of 40 downloaded, 160 bytes; 20 failed"))
      // Two may be under way when the breaker opens.
      #expect((5...6).contains(bad.requests.count))
      #expect(names.count == 20)
    }
  }

  @Test("A cancel stops all downloads, and leaves whole files only")
  func cancel() async throws {
    let gate = ServerGate()
    let server = try LoopbackServer { request in
      request.path == "/1" ? .ok("a kitten") : .ok("0123456789").gated(gate, after: 4)
    }
    defer { server.stop() }
    try await withFolder { folder in
      let addresses = (1...9).map { server.url("/\($0)") }
      let task = Task {
        await Crawl(addresses: addresses, folder: folder.url, limits: Self.limits, print: { _ in }).run()
      }
      try await gate.waitForArrivals(2)
      task.cancel()
      let summary = await task.value
      #expect(summary.text.hasPrefix("1 of 9 downloaded, 8 bytes; 0 failed, 8 stopped"))
      #expect(names.count == 1)
      try await server.waitUntilUnconnected()
    }
  }

  @Test("The demonstration knows what can be had")
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
}
