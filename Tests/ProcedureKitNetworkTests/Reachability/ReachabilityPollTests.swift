import Dispatch
import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import ProcedureKitNetwork

/// Tests name servers that are slow, or that return too many addresses.
@Suite(.timeLimit(.minutes(10))) struct ReachabilityPollTests {
  private static func addresses(_ port: Int) -> [SocketAddress] {
    SocketAddress.addresses(of: "127.0.0.1", UInt16(port), isSearching: false)
  }

  @Test(
    "Names that are slow to resolve do not delay another name while there are fewer of them than concurrent lookups")
  func slowNames() async throws {
    let server = try LoopbackServer { _ in .ok("") }
    defer { server.stop() }
    let (started, end) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let poll = ReachabilityPoll { question in
      if question.host.hasPrefix("slow") {
        started.signal()
        end.wait()
      }
      return Self.addresses(Int(question.port))
    }
    let count = ReachabilityPoll.searchLimit - 1
    #expect(count > 16)
    try await withThrowingTaskGroup(of: Void.self) { group in
      defer { for _ in 0..<count { end.signal() } }
      for index in 0..<count { group.addTask { try await poll.connect(to: "slow-\(index)", UInt16(server.port)) } }
      var running = 0
      try await eventually {
        if started.wait(timeout: .now()) == .success { running += 1 }
        return running == count
      }
      try await poll.connect(to: "fast", UInt16(server.port))
      // No connection is made for names that no procedure is waiting for any longer.
      group.cancelAll()
    }
    try await server.waitUntilUnconnected()
  }

  @Test("The first sixteen addresses of a host are tried", arguments: [15, 16])
  func manyAddresses(_ count: Int) async throws {
    let (server, refusing) = (try LoopbackServer { _ in .ok("") }, try RefusingPort())
    defer { server.stop() }
    let poll = ReachabilityPoll { [port = refusing.port, last = server.port] _ in
      (0..<count).flatMap { _ in Self.addresses(port) } + Self.addresses(last)
    }
    if count == 15 {
      try await poll.connect(to: "many", UInt16(server.port))
    } else {
      await #expect { try await poll.connect(to: "many", UInt16(server.port)) } throws: {
        ($0 as? ReachabilityError)?.kind == .refused
      }
    }
    withExtendedLifetime(refusing) {}
  }
}
