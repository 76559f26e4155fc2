import Foundation
import LoopbackServer
import ProcedureKit
import ProcedureKitNetwork
import TestSupport
import Testing
import TestingProcedureKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(10))) struct SecrecyTests {
  private func dumped(_ value: Any) -> String {
    var text = ""
    dump(value, to: &text)
    return text + "\(value)" + String(reflecting: value)
  }

  @Test("Tokens and secrets are in no log, event, error, description or mirror")
  func secrets() async throws {
    let server = try TokenServer(rotates: true)
    defer { server.server.stop() }
    let log = LogCollector()
    let time = PausedTime(log: log)
    for configuration in [server.configuration, server.refreshing()] {
      let service = WebServiceCapability("kittens", configuration)
      var load = NetworkDataProcedure("load")
      load.settings.acceptsStatus = \.isSuccess
      let authorized = load.authorized(by: service)
      let first = time.queue.add(authorized, input: URLRequest(server.server.url("/kitten")))
      _ = try await first.value
      server.revoke()
      let second = time.queue.add(authorized, input: URLRequest(server.server.url("/kitten")))
      _ = try await second.value
      let missing = authorized.map { _ in throw NetworkFailure.none }
      let third = time.queue.add(missing, input: URLRequest(server.server.url("/kitten")))
      _ = await third.result
      var texts = [dumped(service), dumped(configuration), dumped(authorized), dumped(time.queue.snapshot())]
      for events in [await first.allEvents(), await second.allEvents(), await third.allEvents()] {
        #expect(events.contains { $0.kind == .didFinish })
        texts.append(dumped(events))
      }
      texts += log.messages.map(dumped)
      for text in texts { #expect(!text.contains("secret"), "\(text)") }
    }
    #expect(log.messages.contains { $0.text.contains("takes the token no more") })
  }

  private enum NetworkFailure: Error { case none }

  @Test("An error holds the request without body and credentials")
  func errors() async throws {
    let server = try LoopbackServer { _ in .status(403) }
    defer { server.stop() }
    var load = NetworkDataProcedure("load")
    load.settings.acceptsStatus = \.isSuccess
    let headers = ["authorization": "secret", "Cookie": "secret", "Accept": "text/cat"]
    let request = URLRequest(server.url("/kitten"), "POST", headers: headers, body: "secret")
    let thrown = await networkError { [load] in try await load(request) }
    let error = try #require(thrown)
    #expect(error.request.allHTTPHeaderFields?["Accept"] == "text/cat")
    #expect(error.request.httpMethod == "POST")
    #expect(!dumped(error).contains("secret"))
    #expect(server.requests.first?.headers["Authorization"] == "secret")
  }
}
