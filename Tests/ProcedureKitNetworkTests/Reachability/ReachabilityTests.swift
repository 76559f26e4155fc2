import Foundation
import LoopbackServer
import ProcedureKit
import ProcedureKitNetwork
import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(10))) struct ReachabilityTests {
  private let work = ProcedureTask("work") { true }

  @Test("A host that takes connections is reachable, by address, name and URL")
  func reachable() async throws {
    let server = try LoopbackServer { _ in .ok("") }
    defer { server.stop() }
    for condition in [
      Condition.reachable(host: "127.0.0.1", port: server.port), .reachable(host: "localhost", port: server.port),
      .reachable(server.url("/kitten")),
    ] {
      #expect(try await work.condition(condition)())
    }
    try await server.waitUntilUnconnected()
    #expect(server.requests.isEmpty)
  }

  @Test("A port that refuses, a host without an address, and nonsense fail the procedure, and say why")
  func unreachable() async throws {
    let port = try RefusingPort()
    for (condition, kind) in [
      (Condition.reachable(host: "127.0.0.1", port: port.port), ReachabilityError.Kind.refused),
      (.reachable(host: "kitten.invalid", port: 80), .unknownHost), (.reachable(host: "", port: 80), .unknownHost),
      (.reachable(host: "127.0.0.1\0.example", port: port.port), .unknownHost),
      (.reachable(host: "127.0.0.1", port: 65_536), .unknownHost), (.reachable(URL(filePath: "/etc")), .unknownHost),
    ] {
      await #expect { try await work.condition(condition)() } throws: { error in
        let error = (error as? ProcedureError)?.underlying as? ReachabilityError
        #expect(error?.description.hasSuffix(".") == true)
        return error?.kind == kind
      }
    }
    let ignored = work.condition(.ignored(.reachable(port.url("/"))))
    #expect(await ProcedureQueue.shared.add(ignored).outcome.isIgnored)
  }

  @Test("A host that does not answer fails after the time, and a cancel ends the attempt", arguments: [true, false])
  func silent(_ isTimeout: Bool) async throws {
    let port = try SilentPort()
    let clock = VirtualClock()
    let condition = Condition.reachable(host: "127.0.0.1", port: port.port, within: .seconds(5), clock: clock)
    let handle = ProcedureQueue("network").add(work.condition(condition))
    try await clock.nextSleep()
    if isTimeout { clock.advance(by: .seconds(5)) } else { handle.cancel() }
    switch await handle.outcome {
    case .failed(let error as ProcedureError):
      #expect(isTimeout)
      #expect((error.underlying as? ReachabilityError)?.kind == .timedOut)
    case let outcome: #expect(outcome.isCancelled && !isTimeout)
    }
    #expect(clock.sleeperCount == 0)
    withExtendedLifetime(port) {}
  }

  @Test("A hundred attempts, cancelled at all times, leave no descriptor")
  func storm() async throws {
    let server = try LoopbackServer { _ in .ok("") }
    defer { server.stop() }
    let condition = Condition.reachable(server.url("/"))
    let queue = ProcedureQueue("network", maxConcurrentProcedures: 8)
    let handles = (0..<100).map { _ in queue.add(work.condition(condition)) }
    for (index, handle) in handles.enumerated() {
      if index % 3 == 0 { _ = await handle.outcome } else { await Task.yield() }
      handle.cancel()
    }
    for handle in handles { _ = await handle.outcome }
    try await server.waitUntilUnconnected()
  }
}
