import Foundation
import LoopbackServer
import ProcedureKit
import Testing
import TestingProcedureKit

/// The code of the README, compiled and run; `ProjectTests` compares the two.
@Suite(.timeLimit(.minutes(10))) struct ReadmeExamples {
  /// A server whose pages contain their paths, and which refuses the first request for `/3`.
  private static func makeServer() throws -> (server: LoopbackServer, urls: [URL], pages: [Data]) {
    let server = try LoopbackServer { request in
      request.path == "/3" && request.attempt == 1 ? .status(503) : .ok(request.path)
    }
    let paths = (1...10).map { "/\($0)" }
    return (server, paths.map { server.url($0) }, paths.map { Data($0.utf8) })
  }

  @Test("At most four downloads are in progress at a time, as in the version written by hand")
  func downloads() async throws {
    for download in [download, downloadByHand] {
      let (server, urls, pages) = try Self.makeServer()
      let refused = Data()  // Status 503 is not an error of the session.
      #expect(try await download(urls) == pages.map { $0 == Data("/3".utf8) ? refused : $0 })
      #expect(server.peakRequests <= 4)
      server.stop()
    }
  }

  @Test("A download that is refused is attempted again, as in the version written by hand")
  func patience() async throws {
    let (server, urls, pages) = try Self.makeServer()
    defer { server.stop() }
    let queue = ProcedureQueue(maxConcurrentProcedures: 4)
    #expect(try await queue.map(urls, with: Fetch().patient) == pages)
    #expect(server.requests(to: "/3").count == 2)

    let (other, others, _) = try Self.makeServer()
    defer { other.stop() }
    #expect(try await patientlyByHand { try await Fetch().execute(others[2]) } == pages[2])
    #expect(other.requests(to: "/3").count == 2)
  }

  @Test("A graph has the same value as the tasks written by hand")
  func graph() async throws {
    #expect(try await makeThumbnails(of: "kitten").map(\.width) == [64, 512])
    #expect(try await makeThumbnailsByHand(of: "kitten").map(\.width) == [64, 512])
  }

  @Test("Each download and each retry is reported")
  func progress() async throws {
    let (server, urls, pages) = try Self.makeServer()
    defer { server.stop() }
    let (lines, continuation) = AsyncStream<String>.makeStream()
    #expect(try await downloadWithProgress(urls) { continuation.yield($0) } == pages)
    continuation.finish()
    var printed: [String] = []
    for await line in lines { printed.append(line) }
    #expect(printed.count { $0 == "3: attempt 1 failed" } == 1)
    #expect(printed.count { $0.contains(" of 10: ") } == 10, "\(printed)")
    #expect(printed.last?.hasPrefix("10 of 10: ") == true, "\(printed)")
  }

  @Test("A download that fails three times succeeds on the fourth attempt", .explored(100))
  func fourthAttempt() async throws {
    let env = try #require(ExplorationEnvironment.current)
    let queue = env.makeQueue(maxConcurrentProcedures: 1)  // its clock is virtual, so pauses take no real time
    let flaky = ProcedureTask("flaky") { (path: String) in
      guard ProcedureContext.current?.attempt == 4 else { throw URLError(.networkConnectionLost) }
      return "the page \(path)"
    }
    let pages = try await queue.map(["/kitten", "/cat"], with: flaky.patient)
    #expect(pages == ["the page /kitten", "the page /cat"])
    await queue.shutDown()
  }
}
