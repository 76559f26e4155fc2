import Foundation
import LoopbackServer
import ProcedureKit
import ProcedureKitNetwork
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Tests that for every response of a server, the caller gets the right value or a typed error, and other transfers continue.
@Suite(.timeLimit(.minutes(10)), .enabled(if: CurlTransport.shared != nil)) struct BadAnswerTests {
  static func result(of answer: BadAnswer, from url: URL, _ transport: any HTTPTransport) async -> BadAnswer.Result {
    var settings = TransferSettings()
    settings.transport = transport
    settings.sizeLimit = answer.sizeLimit
    settings.redirects = answer.redirects
    var request = URLRequest(url, answer.method, headers: answer.headers)
    request.timeoutInterval = answer.patience
    do {
      let response =
        answer.method == "PUT"
        ? try await NetworkUploadProcedure("upload", settings)(HTTPPayloadRequest(.data(Data("a".utf8)), request))
        : try await NetworkDataProcedure("load", settings)(request)
      // Foundation reads the fields when its object is requested.
      return .value(response.response.statusCode, response.text)
    } catch let error as NetworkError {
      // Foundation uses these words if it has no text for an error.
      #expect(!(transport is CurlTransport) || !error.description.contains("could not be completed"), "\(error)")
      return .failure(error.kind, error.code)
    } catch {
      return .failure(.undecodable)
    }
  }

  @Test("Each malformed response leads to the right value or a typed error, while other transfers continue")
  func table() async throws {
    // An ordinary run sends every third response, beginning with a random one.
    let (step, first) = TestDepth.isAtLeastGate ? (1, 0) : (3, Int.random(in: 0..<3))
    let answers = stride(from: first, to: BadAnswer.all.count, by: step).map { BadAnswer.all[$0] }
    let server = try LoopbackServer { request in
      Int(request.path.dropFirst()).map { answers[$0].response } ?? .ok("a kitten")
    }
    defer { server.stop() }
    let transport = try #require(CurlTransport())
    let queue = ProcedureQueue("answers", maxConcurrentProcedures: 8)
    let isOver = Mutex(false)
    async let innocent = innocents(server.url("/innocent"), transport) { isOver.withLock { $0 } }
    let results = try await queue.map(
      Array(answers.indices),
      with: ProcedureTask("answer") {
        await Self.result(of: answers[$0], from: server.url("/\($0)"), transport)
      })
    isOver.withLock { $0 = true }
    for (answer, result) in zip(answers, results) {
      let isMet = answer.isMet(by: result)
      #expect(isMet, "\(answer.name): \(result), not \(answer.expected)")
    }
    // Eight malformed responses at a time share the thread with one well-formed transfer, whose share does not depend on the load of the
    // machine.
    #expect(try await innocent > answers.count / 40)
    #expect(answers.count > 380 / step)
    try await server.waitUntilUnconnected()
  }

  /// Loads a page repeatedly, and returns the number of times.
  private func innocents(
    _ url: URL, _ transport: CurlTransport, until isOver: @Sendable () -> Bool
  ) async throws -> Int {
    var load = NetworkDataProcedure("innocent")
    load.settings.transport = transport
    var count = 0
    repeat {
      let text = try await load(URLRequest(url)).text
      #expect(text == "a kitten")
      count += 1
    } while !isOver()
    return count
  }
}
