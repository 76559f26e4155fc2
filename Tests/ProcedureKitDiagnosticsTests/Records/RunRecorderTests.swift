import ProcedureKit
import ProcedureKitDiagnostics
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct RunRecorderTests {
  private struct Failure: Error {}

  @Test("A recording has every run with its executions, dependencies, parents and outcome")
  func runs() async throws {
    let recorder = RunRecorder()
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 2)
    recorder.record(queue)
    let failing = queue.add(ProcedureTask("fail") { throw Failure() }.retry(.immediate, maxAttempts: 2))
    let skipped = queue.add(ProcedureTask("after") {}, after: [failing])
    let ignored = queue.add(ProcedureTask("ignored") {}.condition("never") { false })
    let reused = queue.add(ProcedureTask("reused") { 1 }.reusing("cache") { _ in 2 })
    let parent = queue.add(ProcedureTask("parent") { try await queue.run(ProcedureTask("child") {}) })
    for handle in [failing, skipped, ignored, parent] { _ = await handle.outcome }
    _ = await reused.outcome
    let recording = await recorder.finish()
    let runs = Dictionary(recording.runs.map { ($0.name, $0) }) { first, _ in first }

    #expect(recording.runs.count == 6)
    #expect(runs["fail"]?.outcome == .failed)
    #expect(runs["fail"]?.executions.map(\.attempt) == [1, 2])
    #expect(runs["fail"]?.executions.map(\.isRetried) == [true, false])
    #expect(runs["fail"]?.reason?.contains("Failure") ?? false)
    #expect(runs["after"]?.outcome == .skipped)
    #expect(runs["after"]?.dependencies == [failing.id])
    #expect(runs["after"]?.cause?.id == failing.id)
    #expect(runs["ignored"]?.outcome == .ignored)
    #expect(runs["ignored"]?.reason == "never")
    #expect(runs["reused"]?.outcome == .reused)
    #expect(runs["reused"]?.reason == "cache")
    #expect(runs["child"]?.parent == parent.id)
    #expect(recording.runs.allSatisfy { $0.queue == "q" && $0.end ?? .zero >= $0.begin })
    #expect(runs["parent"]?.executions.first?.slot != nil)
  }

  @Test("The description of an error can use the recorder, because user code is never called under a lock")
  func descriptions() async throws {
    struct Curious: Error, CustomStringConvertible {
      let recorder: RunRecorder
      var description: String { "failed beside \(recorder.recording.runs.count) run" }
    }
    let recorder = RunRecorder()
    let queue = ProcedureQueue("q")
    recorder.record(queue)
    _ = await queue.add(ProcedureTask("fail") { throw Curious(recorder: recorder) }).outcome
    let cancelled = queue.add(ProcedureTask("cancelled") {}.delay(.seconds(900)))
    cancelled.cancel(Curious(recorder: recorder))
    _ = await cancelled.outcome
    let reasons = await recorder.finish().runs.compactMap(\.reason)
    #expect(reasons.count == 2 && reasons.allSatisfy { $0.contains("failed beside") }, "\(reasons)")
  }

  @Test("A recorder keeps a limited number of runs, drops those that ended first, and counts them")
  func limit() async throws {
    let recorder = RunRecorder(limit: 10)
    let queue = ProcedureQueue("q")
    recorder.record(queue)
    for number in 0..<25 { try await queue.run(ProcedureTask("run \(number)") {}) }
    let recording = await recorder.finish()
    #expect(recording.runs.map(\.name) == (15..<25).map { "run \($0)" })
    #expect(recording.droppedCount == 15)
  }

  @Test("Procedures after the end of a recording are not part of the recording")
  func afterwards() async throws {
    let recorder = RunRecorder()
    let queue = ProcedureQueue("q")
    recorder.record(queue)
    try await queue.run(ProcedureTask("before") {})
    _ = await recorder.finish()
    try await queue.run(ProcedureTask("after") {})
    #expect(await recorder.finish().runs.map(\.name) == ["before"])
  }
}
