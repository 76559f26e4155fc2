import Foundation
import LoopbackServer
import ProcedureKit
import ProcedureKitNetwork
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(10))) struct RetryAfterTests {
  private let time = PausedTime()

  /// Returns the pause after a response with the given header fields; `nil` if there is no further attempt.
  private func pause(_ headers: HeaderFields, status: Int = 429) async throws -> Duration? {
    let server = try LoopbackServer { $0.attempt == 1 ? .status(status, headers: headers) : .ok("a kitten") }
    defer { server.stop() }
    var resilience = NetworkResilience()
    resilience.attemptTimeout = .zero
    resilience.backoff = .constant(.milliseconds(7))
    // Sun, 06 Nov 1994 08:49:37 GMT
    resilience.now = { Date(timeIntervalSince1970: 784_111_777) }
    let load = NetworkDataProcedure().resilient(resilience)
    let handle = time.queue.add(load, input: URLRequest(server.url("/")))
    var events = handle.events.makeAsyncIterator()
    while let event = await events.next() {
      if event.kind == .didFinish { return nil }
      if event.kind == .retrying { break }
    }
    let pause = try await time.endPause()
    #expect(try await handle.value.text == "a kitten")
    return pause
  }

  @Test("A delay in seconds is respected", arguments: [429, 503, 500])
  func seconds(_ status: Int) async throws {
    #expect(try await pause(["Retry-After": "17"], status: status) == .seconds(17))
  }

  @Test(
    "A delay until a date is respected, in each of the three formats",
    arguments: [
      "Sun, 06 Nov 1994 08:50:07 GMT", "Sunday, 06-Nov-94 08:50:07 GMT", "Sun Nov  6 08:50:07 1994",
    ])
  func dates(_ date: String) async throws {
    #expect(try await pause(["Retry-After": date]) == .seconds(30))
    // If the server sends the time, its clock counts.
    let present = "Sun, 06 Nov 1994 08:50:02 GMT"
    #expect(try await pause(["Retry-After": date, "Date": present]) == .seconds(5))
  }

  @Test(
    "A delay of zero, a past date, and an invalid value leave the pause to the back-off",
    arguments: [
      "0", "Sun, 06 Nov 1994 08:00:00 GMT", "soon", "-3", "1.5", "", "Sun, 06 Nov 1994", "06 Nov 1994 08:50:07 GMT x",
      "Sun, 06 Nov 99999999999999 08:50:07 GMT", "Sun, 99 Nov 1994 08:50:07 GMT", "Sun, 06 Nom 1994 08:50:07 GMT",
      "Sun, 06 Nov 1994 8:50 GMT",
    ])
  func others(_ value: String) async throws {
    #expect(try await pause(["Retry-After": value]) == .milliseconds(7))
  }

  @Test(
    "A pause that is longer than allowed ends the attempts",
    arguments: ["61", "99999999999999999999999", "Sun, 06 Nov 1994 09:49:37 GMT"])
  func tooLong(_ value: String) async throws {
    #expect(try await pause(["Retry-After": value]) == nil)
    #expect(try await pause(["Retry-After": "60"]) == .seconds(60))
  }
}
