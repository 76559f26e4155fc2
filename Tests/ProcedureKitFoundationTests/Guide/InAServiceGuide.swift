import ProcedureKit
import ProcedureKitFoundation
import Testing

/// The code of the guide *In a service* that needs ProcedureKitFoundation.
@Suite(.timeLimit(.minutes(10))) struct InAServiceGuide {
  @Test("A cancellation ends a service that has received no signal")
  func signals() async throws {
    let jobs = ProcedureQueue("jobs")
    let task = Task {
      let service = ProcedureQueueService(jobs, grace: .seconds(20), until: .signals(.terminate, .interrupt))
      try await service.run()
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
