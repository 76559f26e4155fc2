import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite("Rules D4, C1, C8: what a failure or a cancellation stops receives it as the reason", .timeLimit(.minutes(10)))
struct StopReasonRuleTests {
  private let started = Signal()

  private var bad: ProcedureTask<Void, Void> {
    ProcedureTask("bad") {
      await started.wait()
      throw TestError(code: 4)
    }
  }

  /// Returns a procedure that executes until it is cancelled, and records the reason.
  private func patient(_ reasons: Box<[ProcedureError?]>) -> ProcedureTask<Void, Void> {
    ProcedureTask("patient") {
      started.set()
      await untilCancelled()
      let reason = ProcedureContext.current?.cancellationReason as? ProcedureError
      reasons.update { $0.append(reason) }
    }
  }

  private func expectStopped(_ reason: (any Error)?, in whole: ProcedureID, by origin: String) {
    let error = reason as? ProcedureError
    #expect(error?.kind == .stopped && error?.procedure.id == whole, "\(String(describing: reason))")
    #expect(error?.origin?.name == origin && error?.underlying as? TestError == TestError(code: 4))
  }

  @Test(
    "D4: the events of nodes that fail-fast cancels name the node that failed first, and its error", arguments: 0..<4)
  func nodes(kind: Int) async throws {
    var configuration = ProcedureQueue.Configuration("q")
    if kind == 2 { configuration.interceptor = { _, next in try await next() } }
    let queue = ProcedureQueue(configuration)
    let recorder = EventRecorder(queue)
    let reasons = Box<[ProcedureError?]>([])
    let graph = ProcedureGraph("whole", returning: Void.self) { g in
      g.add(ProcedureTask("behind bad") {}, after: [g.add(bad)])
      let task = patient(reasons)
      let patient = g.add(kind == 1 ? task.condition("yes") { true } : kind == 3 ? task.exclusive("a").map {} : task)
      g.add(ProcedureTask("later") {}, after: [patient])
      g.add(ProcedureTask("later level") {}.condition("yes") { true }, after: [patient])
    }
    await #expect(throws: TestError(code: 4)) { try await queue.run(graph.procedureTask.timeout(.seconds(1_000))) }
    await queue.shutDown()
    try await recorder.waitUntilEnded()
    #expect(recorder.events.orderViolations() == [])
    let whole = try #require(recorder.events.first { $0.name == "whole" }?.id)
    let cancels = recorder.events.filter { $0.kind == .didCancel }
    #expect(Set(cancels.map(\.name)) == ["patient", "later", "later level"])
    let ends = recorder.events.filter { $0.kind == .didFinish }
    #expect(Set(ends.map(\.name)) == ["whole", "bad", "behind bad", "patient", "later", "later level"])
    #expect(ends.first { $0.name == "behind bad" }?.outcome?.procedureError?.kind == .dependencyFailed)
    for event in recorder.events where !["whole", "bad", "behind bad"].contains(event.name) {
      if event.reason != nil || event.kind == .didCancel { expectStopped(event.reason, in: whole, by: "bad") }
    }
    #expect(cancels.allSatisfy { "\($0)".contains("\"bad\"") && "\($0)".contains("code: 4") }, "\(cancels)")
    #expect(reasons.value.map { $0?.origin?.name } == ["bad"])
  }

  @Test("D4: a child that fail-fast cancels receives the child that failed first as the reason, and so does the body")
  func children() async throws {
    let queue = ProcedureQueue("q")
    let reasons = Box<[ProcedureError?]>([])
    let outcome = Box<ProcedureOutcome<Void>?>(nil)
    let host = ProcedureTask("host") {
      guard let context = ProcedureContext.current else { return }
      context.produce(bad)
      let child = context.produce(patient(reasons))
      let end = await child.outcome
      outcome.update { $0 = end }
      let reason = context.cancellationReason as? ProcedureError
      reasons.update { $0.append(reason) }
    }
    let handle = queue.add(host)
    await #expect(throws: TestError(code: 4)) { try await handle.value }
    expectStopped(outcome.value?.cancellationReason, in: handle.id, by: "bad")
    #expect(reasons.value.map { $0?.origin?.name } == ["bad", "bad"])
  }

  @Test("D4: a child whose parent's body fails receives the failure as the reason")
  func bodies() async throws {
    let queue = ProcedureQueue("q")
    let reasons = Box<[ProcedureError?]>([])
    let child = Box<ProcedureHandle<Void>?>(nil)
    let handle = queue.add(
      ProcedureTask("host") {
        let produced = ProcedureContext.current?.produce(patient(reasons))
        child.update { $0 = produced }
        await started.wait()
        throw TestError(code: 4)
      })
    await #expect(throws: TestError(code: 4)) { try await handle.value }
    expectStopped(await child.value?.outcome.cancellationReason, in: handle.id, by: "host")
    #expect("\(try #require(reasons.value.first ?? nil))".contains("\"host\" (\(handle.id)) was stopped: it failed: "))
  }

  @Test("C1, C8: all nodes receive the reason for a cancellation, and not a failure that the cancellation causes")
  func cancels() async throws {
    let queue = ProcedureQueue("q")
    let recorder = EventRecorder(queue)
    let graph = ProcedureGraph("whole", returning: Void.self) { g in
      let later = g.add(ProcedureTask("later") {}, after: [g.add(patient(Box([])))])
      g.add(ProcedureTask("last") {}, after: [later])
      g.add(
        ProcedureTask("bad") {
          await untilCancelled()
          throw TestError(code: 4)
        })
    }
    let handle = queue.add(graph)
    await started.wait()
    handle.cancel(TestError(code: 1))
    #expect(await handle.outcome.isCancelled)
    await queue.shutDown()
    try await recorder.waitUntilEnded()
    let cancels = recorder.events.filter { $0.kind == .didCancel }
    #expect(cancels.count == 5 && cancels.allSatisfy { $0.reason as? TestError == TestError(code: 1) }, "\(cancels)")
  }
}
