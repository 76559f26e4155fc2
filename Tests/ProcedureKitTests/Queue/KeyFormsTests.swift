import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

/// Tests that the limit of a key applies, whichever way a procedure is run and composed.
@Suite(.timeLimit(.minutes(10))) struct KeyFormsTests {
  /// Counts the bodies of one key that execute concurrently.
  private final class Counter: Sendable {
    private let counts = Box((now: 0, most: 0))
    var most: Int { counts.value.most }

    var procedure: ProcedureTask<Void, Int> {
      ProcedureTask("counted") { [counts] in
        counts.update { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
        for _ in 0..<20 { await Task.yield() }
        counts.update { $0.now -= 1 }
        return 1
      }
    }
  }

  private static let forms: [(String, @Sendable (ProcedureTask<Void, Int>) -> ProcedureTask<Void, Int>)] = [
    ("plain", { $0.keyed(by: "k") }), ("map", { $0.keyed(by: "k").map { $0 } }),
    ("recover", { $0.keyed(by: "k").recover { _ in 0 } }), ("then", { $0.keyed(by: "k").then(ProcedureTask { $0 }) }),
    ("timeout", { $0.keyed(by: "k").timeout(.seconds(1_000)) }),
    ("retry", { $0.keyed(by: "k").retry(.immediate, maxAttempts: 2) }),
    ("condition", { $0.keyed(by: "k").condition("yes") { true } }),
    ("condition before", { $0.condition("yes") { true }.keyed(by: "k") }),
    ("hook", { $0.keyed(by: "k").onDidFinish { _ in } }),
    ("then after", { p in ProcedureTask("first") {}.then(p).keyed(by: "k") }),
    ("configured", { $0.keyed(by: "k").configured { _, p in p.timeout(.seconds(1_000)) } }),
    ("fallback", { $0.keyed(by: "k").fallback(to: ProcedureTask { 0 }) }),
    ("reusing", { $0.keyed(by: "k").reusing("none") { nil } }),
    ("optional", { $0.keyed(by: "k").replacingErrorsWithNil().map { $0 ?? 0 } }),
    ("delay", { $0.keyed(by: "k").delay(.zero) }),
  ]

  private static func queue() -> ProcedureQueue {
    var configuration = ProcedureQueue.Configuration("keyed", maxConcurrentProcedures: 8)
    configuration.maxConcurrentProceduresPerKey = 1
    return ProcedureQueue(configuration)
  }

  @Test("The limit of a key applies to added procedures", arguments: forms.map(\.0))
  func added(_ form: String) async throws {
    let (queue, counter) = (Self.queue(), Counter())
    let procedure = try #require(Self.forms.first { $0.0 == form }).1(counter.procedure)
    let handles = (0..<6).map { _ in queue.add(procedure) }
    for handle in handles { #expect(try await handle.value == 1) }
    #expect(counter.most == 1)
  }

  @Test("The limit of a key applies to `run`", arguments: forms.map(\.0))
  func run(_ form: String) async throws {
    let (queue, counter) = (Self.queue(), Counter())
    let procedure = try #require(Self.forms.first { $0.0 == form }).1(counter.procedure)
    try await withThrowingTaskGroup { group in
      for _ in 0..<6 { group.addTask { _ = try await queue.run(procedure) } }
      try await group.waitForAll()
    }
    #expect(counter.most == 1)
  }

  @Test("The limit of a key applies to nodes", arguments: forms.map(\.0))
  func nodes(_ form: String) async throws {
    let (queue, counter) = (Self.queue(), Counter())
    let procedure = try #require(Self.forms.first { $0.0 == form }).1(counter.procedure)
    let graph = ProcedureGraph("graph") { g in g.add(from: (0..<6).map { _ in g.add(procedure) }) }
    #expect(try await queue.run(graph) == Array(repeating: 1, count: 6))
    #expect(counter.most == 1)
  }

  @Test("The limit of a key applies to nodes with a constant input", arguments: forms.map(\.0))
  func nodesWithConstant(_ form: String) async throws {
    let (queue, counter) = (Self.queue(), Counter())
    let procedure = try #require(Self.forms.first { $0.0 == form }).1(counter.procedure)
    let graph = ProcedureGraph("graph") { g in g.add(from: (0..<6).map { _ in g.add(procedure, input: ()) }) }
    #expect(try await queue.run(graph) == Array(repeating: 1, count: 6))
    #expect(counter.most == 1)
  }

  @Test("The limit of a key applies to elements", arguments: forms.map(\.0))
  func elements(_ form: String) async throws {
    let (queue, counter) = (Self.queue(), Counter())
    let procedure = try #require(Self.forms.first { $0.0 == form }).1(counter.procedure)
    #expect(try await queue.map((0..<6).map { _ in () }, with: procedure).count == 6)
    #expect(counter.most == 1)
  }

  @Test("The limit of a key applies to a graph that is made from data")
  func items() async throws {
    let (queue, counter) = (Self.queue(), Counter())
    let item = ProcedureTask { (_: [Int]) in () }.then(counter.procedure).keyed(by: "k")
    let graph = try ProcedureGraph(0..<6, id: \.self, needs: { _ in [] }, procedure: { _ in item })
    #expect(try await queue.run(graph).count == 6)
    #expect(counter.most == 1)
  }
}
