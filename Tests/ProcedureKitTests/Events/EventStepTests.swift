import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

/// Tests the step of an event, whose values a `switch` can read.
@Suite(.timeLimit(.atDepth)) struct EventStepTests {
  /// Returns a description of the step that uses only its values.
  private func words(_ event: ProcedureEvent) -> String {
    switch event.step {
    case .didAttach: "attached"
    case .willExecute(let attempt): "starts \(attempt)"
    case .didExecute(let attempt): "ends \(attempt)"
    case .reused(let name): "reuses \(name)"
    case .retrying(let attempt, let delay, let error): "\(attempt) failed with \(error), pauses \(delay)"
    case .didCancel(let reason): "cancelled by \(reason.map { "\($0)" } ?? "nothing")"
    case .willProduce(let child): "produces \(child.name)"
    case .didProduce(let child): "produced \(child.name)"
    case .didAwait(let run): "awaited \(run.name)"
    case .didRequest(let run): "requested \(run.name)"
    case .progress: "progress"
    case .willFinish(let outcome): "will be \(outcome)"
    case .didFinish(let outcome): "is \(outcome)"
    case .gap(let count): "lost \(count)"
    }
  }

  private func steps(_ procedure: ProcedureTask<Void, Void>) async -> [String] {
    await ProcedureQueue("q").add(procedure).events.reduce(into: []) { $0.append(words($1)) }
  }

  @Test("A step has the values of its event, with and without details")
  func values() async {
    #expect(
      await steps(ProcedureTask {}) == ["attached", "starts 1", "ends 1", "will be finished", "is finished"])
    let failing = ProcedureTask { throw TestError(code: 1) }.retry(.immediate, maxAttempts: 2)
    #expect(
      await steps(failing) == [
        "attached", "starts 1", "ends 1", "1 failed with TestError(code: 1), pauses 0.0 seconds", "starts 2", "ends 2",
        "will be failed: TestError(code: 1)", "is failed: TestError(code: 1)",
      ])
    #expect(
      await steps(ProcedureTask {}.reusing("cached") { _ in () }).contains("reuses cached"))
    let parent = ProcedureTask { _ = ProcedureContext.current?.produce(ProcedureTask("child") {}) }
    let produced = await steps(parent)
    #expect(produced.contains("produces child") && produced.contains("produced child"))
  }

  @Test("The steps of a run that is cancelled while its queue is suspended have the reason")
  func cancelled() async {
    let queue = ProcedureQueue("q", isSuspended: true)
    let handle = queue.add(ProcedureTask {})
    handle.cancel(TestError(code: 3))
    let steps = await handle.events.reduce(into: []) { $0.append(words($1)) }
    #expect(
      steps == [
        "attached", "cancelled by TestError(code: 3)", "will be cancelled: TestError(code: 3)",
        "is cancelled: TestError(code: 3)",
      ])
    await queue.shutDown()
  }

  @Test("A subscriber that was too slow reads the number of lost events from the step")
  func gap() async throws {
    let queue = ProcedureQueue("q")
    let events = queue.events(bufferingNewest: 1)
    try await queue.add(ProcedureTask {}).value
    await queue.shutDown()
    let steps = await events.reduce(into: []) { $0.append(words($1)) }
    #expect(steps.contains { $0.hasPrefix("lost ") })
  }
}
