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

  @Test("A host that accepts connections is reachable by address, name and URL")
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

  @Test("A refusing port, a host without an address, and an invalid address fail the procedure with the reason")
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
    let ignored = work.condition(.reachable(port.url("/")).treatingErrorsAsUnsatisfied())
    #expect(await ProcedureQueue.shared.add(ignored).outcome.isIgnored)
  }

  @Test(
    "An attempt to reach a host that does not answer ends when its time is up, or when it is cancelled",
    arguments: [true, false])
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

  @Test("The time for an attempt can be of any length")
  func extremes() async throws {
    let server = try LoopbackServer { _ in .ok("") }
    defer { server.stop() }
    for limit in [Duration.seconds(Int64.max), Duration(attoseconds: .max)] {
      #expect(try await work.condition(.reachable(server.url("/"), within: limit))())
    }
    let outcome = await ProcedureQueue("network").add(
      work.condition(.reachable(server.url("/"), within: Duration(attoseconds: .min)))
    ).outcome
    // The connection may be made before the time expires.
    #expect(outcome.isFinished || outcome.isFailed)
  }

  @Test("The name of a host in an error has no effect on a terminal")
  func hostileName() async throws {
    for host in ["\u{1b}[2J\u{9b}\u{202e}.invalid", "\u{1b}\0"] {
      for port in [80, 0] {
        let outcome = await ProcedureQueue("network").add(work.condition(.reachable(host: host, port: port))).outcome
        let error = outcome.error(as: ProcedureError.self)?.underlying as? ReachabilityError
        #expect(error?.description.unicodeScalars.allSatisfy { $0.harmless() == $0 } == true)
      }
    }
  }

  @Test("A hundred attempts that are cancelled at arbitrary times leave no descriptor open")
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

  @Test("Equal lookups share one answer, and a waiter that leaves does not affect the others")
  func shared() async throws {
    let port = try SilentPort()
    let clock = VirtualClock()
    let condition = Condition.reachable(host: "127.0.0.1", port: port.port, within: .seconds(5), clock: clock)
    let queue = ProcedureQueue("network")
    let handles = (1...1_000).map { _ in queue.add(work.condition(condition)) }
    try await clock.nextSleep(count: 1_000)
    #if os(Linux)
      // There are the port's own eight connections, and one more for all procedures. A new attempt for each procedure would make a
      // thousand.
      #expect(try port.machineConnectionCount <= port.connectionCount + 1)
      #expect(try threadCount() < 500)
    #endif
    for handle in handles.dropFirst(2) { handle.cancel() }
    for handle in handles.dropFirst(2) { #expect(await handle.outcome.isCancelled) }
    #expect(clock.sleeperCount == 2)
    clock.advance(by: .seconds(5))
    for handle in handles.prefix(2) {
      await #expect { try await handle.value } throws: { ($0 as? ProcedureError)?.kind == .conditionFailed }
    }
    #if os(Linux)
      // If no procedure is waiting, the attempt ends.
      try await settle { try port.machineConnectionCount <= port.connectionCount }
    #endif
  }

  @Test("A silent host does not delay the answer of another, by address and by name")
  func independent() async throws {
    let server = try LoopbackServer { _ in .ok("") }
    defer { server.stop() }
    let silent = try SilentPort()
    let clock = VirtualClock()
    let queue = ProcedureQueue("network")
    let waiting = queue.add(work.condition(.reachable(host: "127.0.0.1", port: silent.port, clock: clock)))
    try await clock.nextSleep()
    for host in ["127.0.0.1", "localhost", "LOCALHOST"] {
      #expect(try await queue.run(work.condition(.reachable(host: host, port: server.port))))
    }
    waiting.cancel()
    #expect(await waiting.outcome.isCancelled)
    withExtendedLifetime(silent) {}
  }

  #if os(Linux)
    /// Yields until a condition holds. If it never holds, the time limit of the suite ends the wait.
    private func settle(_ condition: () throws -> Bool) async throws {
      while try !condition() {
        try Task.checkCancellation()
        await Task.yield()
      }
    }

    private func threadCount() throws -> Int {
      try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
    }
  #endif
}
