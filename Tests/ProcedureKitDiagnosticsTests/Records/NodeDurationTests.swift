import ProcedureKit
import ProcedureKitDiagnostics
import TestSupport
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct NodeDurationTests {
  @Test("The durations of a recorded run determine the order in which the nodes of a later run start")
  func learned() async throws {
    try await exploreSchedules(20) { env in
      let (clock, queue, recorder) = (env.clock, env.makeQueue(maxConcurrentProcedures: 2), RunRecorder())
      let graph = ProcedureGraph("g", returning: Void.self) { g in
        for seconds in [1, 2, 3, 9] { g.add("\(seconds)") { try await clock.sleep(for: .seconds(seconds)) } }
      }
      recorder.record(queue)
      try await queue.run(graph)
      let durations = await recorder.finish().nodeDurations
      env.check(
        durations == Dictionary(uniqueKeysWithValues: [1, 2, 3, 9].map { ("\($0)", .seconds($0)) }), "\(durations)")
      let start = clock.now
      try await queue.run(graph.expected(durations: durations))
      env.check(clock.now == start.advanced(by: .seconds(9)), "\(start) to \(clock.now)")
      await queue.shutDown()
    }
  }

  @Test("Only nodes that were executed and have finished count, from the first attempt on, and equal names have a mean")
  func selection() {
    let graph = ProcedureID.reserve()
    func record(
      _ name: String, _ attempts: [ClosedRange<Int>], _ outcome: RunRecord.Outcome = .finished, isNode: Bool = true
    ) -> RunRecord {
      var record = RunRecord(id: .reserve(), name: name, queue: "q", begin: .zero)
      record.graph = isNode ? graph : nil
      record.outcome = outcome
      record.end = .seconds(attempts.last?.upperBound ?? 0)
      record.executions = attempts.enumerated().map { number, time in
        .init(attempt: number + 1, begin: .seconds(time.lowerBound), end: .seconds(time.upperBound))
      }
      return record
    }
    let runs = [
      record("mean", [1...3]), record("mean", [5...9]), record("retried", [1...2, 4...6]),
      record("failed", [0...5], .failed), record("reused", [], .reused), record("run", [0...9], isNode: false),
    ]
    let durations = RunRecording(runs: runs, duration: .seconds(9)).nodeDurations
    #expect(durations == ["mean": .seconds(3), "retried": .seconds(5)])
  }
}
