import ProcedureKit
import ProcedureKitFoundation
import Testing

/// The code of the guide *In a service* that needs ProcedureKitFoundation.
@Suite(.timeLimit(.minutes(10))) struct InAServiceGuide {
  private func serve(_ jobs: ProcedureQueue, log: @escaping @Sendable (String) -> Void) async throws {
    let service = ProcedureQueueService(jobs, grace: .seconds(20), until: .signals(.terminate, .interrupt)) { report in
      log("jobs: \(report)")  // jobs: 12 procedures not started, 1 procedure interrupted
    }
    try await service.run()
  }

  @Test("Ending at a signal: without one, a cancellation ends the service, which logs the report")
  func signals() async throws {
    let (lines, line) = AsyncStream.makeStream(of: String.self)
    let task = Task { try await serve(ProcedureQueue("jobs")) { line.yield($0) } }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    line.finish()
    #expect(await lines.reduce("", +) == "jobs: 0 procedures not started, 0 procedures interrupted")
  }
}
