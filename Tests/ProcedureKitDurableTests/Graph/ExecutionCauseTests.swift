import ProcedureKit
import ProcedureKitDiagnostics
import ProcedureKitDurable
import ProcedureKitFoundation
import TestSupport
import Testing
import TestingProcedureKit

/// Tests the reason a node of a durable graph is executed again, as shown in events, snapshots, reports and progress.
@Suite(.timeLimit(.minutes(10))) struct ExecutionCauseTests {
  private let journal = InMemoryJournal()
  private let snapshots = Record<QueueSnapshot>()

  /// a ← input; b ← a; text ← b, whose value is not Codable; c ← text; beside ← input.
  private func graph(_ queue: ProcedureQueue, version: Int = 1) -> DurableGraph<Int, Int> {
    ProcedureGraph("graph") { [snapshots] (g, input: Node<Int>) in
      let a = g.add("a", from: input) { $0 }
      let b = g.add(ProcedureTask<Int, Int>("b") { $0 + 1 }.version(version).progressWeight(5), from: a)
      let text = g.add("text", from: b) { Uncoded(number: $0) }
      _ = g.add("beside", from: input) { $0 }
      return g.add("c", from: text) {
        snapshots.append(queue.snapshot())
        return $0.number
      }
    }
    .durable(in: journal)
  }

  private struct Uncoded: Sendable { let number: Int }

  private static let causes: [String: ExecutionCause] = [
    "b": .versionChanged, "text": .notCodable("Uncoded"), "c": .dependenciesChanged(["text"]),
  ]

  @Test("The start event, the snapshot and the report give the reason a node is executed again")
  func reported() async throws {
    let queue = ProcedureQueue("q")
    _ = try await queue.run(graph(queue), input: 1)
    let (events, recorder) = (EventRecorder(queue), RunRecorder())
    recorder.record(queue)
    #expect(try await queue.run(graph(queue, version: 2), input: 1) == 2)
    await queue.shutDown()
    try await events.waitUntilEnded()
    let starts = events.events.filter { $0.kind == .willExecute && $0.graph != nil }
    #expect(
      Dictionary(uniqueKeysWithValues: starts.map { ($0.name, $0.executionCause) }) == Self.causes.mapValues { $0 })
    #expect(
      starts.map(\.description).contains {
        $0.hasSuffix("because its version, or the version of the graph, has changed)")
      })
    #expect(events.events.allSatisfy { $0.kind == .willExecute || $0.executionCause == nil })
    let entry = try #require(snapshots.values.last?.procedures.first { $0.procedure.name == "c" })
    #expect(entry.executionCause == Self.causes["c"])
    #expect(entry.description.hasSuffix("executing (again because its dependencies have changed: \"text\")"))
    #expect(snapshots.values.first?.procedures.allSatisfy { $0.executionCause == nil } == true)
    let report = RunReport(await recorder.finish())
    #expect(report.executedAgain.map(\.name) == ["b", "text", "c"])
    #expect(report.text.contains("Executed again\n  b: its version, or the version of the graph, has changed\n"))
    #expect(report.html.contains("<h2>Executed again</h2>"))
  }

  @Test("A new version of a node with a constant input executes the node again")
  func versionWithConstant() async throws {
    func plan(_ version: Int, run: Bool) async throws -> ResumptionPlan {
      let graph = ProcedureGraph("constant") { g in
        g.add(ProcedureTask<Int, Int>("a") { $0 + version }.version(version), input: 1)
      }.durable(in: journal)
      if run { #expect(try await graph(()) == 1 + version) }
      return try await graph.resumptionPlan(for: ())
    }
    #expect(try await plan(1, run: true).executedCount == 0)
    #expect(try await plan(2, run: false).executedCount == 1)
    #expect(try await plan(2, run: true).executedCount == 0)
  }

  @Test("Neither the first run nor a run that finds all entries executes a node again")
  func nothing() async throws {
    let queue = ProcedureQueue("q")
    let recorder = RunRecorder()
    recorder.record(queue)
    for _ in 0..<2 { _ = try await queue.run(graph(queue), input: 1) }
    await queue.shutDown()
    let report = RunReport(await recorder.finish())
    #expect(
      report.executedAgain.isEmpty && !report.text.contains("Executed again") && !report.html.contains("Executed again")
    )
  }

  @Test("A cause can be encoded as JSON and decoded again")
  func coding() throws {
    let coder = JSONProcedureCoder()
    for cause in Array(Self.causes.values) + [.notRemembered, .dependenciesExecuted(["a"])] {
      #expect(try coder.decode(ExecutionCause.self, from: coder.encode(cause)) == cause)
    }
  }

  @Test("The nodes of a durable graph count by their weights, whether they are reused or executed")
  func weights() async throws {
    let (fractions, queue) = (Record<Double>(), ProcedureQueue("q", maxConcurrentProcedures: 1))
    let graph = ProcedureGraph("weighted") { g in
      let heavy = g.add(ProcedureTask("heavy") { 1 }.progressWeight(3))
      return g.add("light", from: heavy) { number in
        // After this point, a body reports progress.
        ProcedureContext.current?.progress.report(0)
        fractions.append(queue.snapshot().procedures.first { $0.procedure.name == "weighted" }?.progress ?? -1)
        return number
      }
    }
    let task = graph.durable(in: journal)
    for _ in 0..<2 {
      #expect(try await queue.run(task) == 1)
      await journal.remove { $0.path == "weighted/light" }
    }
    #expect(fractions.values == [0.75, 0.75])
  }

  @Test("An unrelated entry at the path of a node is not given as a reason, and does no harm")
  func foreignEntry() async throws {
    let queue = ProcedureQueue("q")
    await journal.append([1], for: JournalKey(path: "graph/a", fingerprint: Fingerprint(of: [])))
    #expect(try await queue.run(graph(queue), input: 1) == 2)
  }
}
