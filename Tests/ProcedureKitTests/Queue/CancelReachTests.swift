import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

/// Tests how far a cancellation, or the failure of a child, reaches.
@Suite(.timeLimit(.minutes(10))) struct CancelReachTests {
  @Test("C3: a body that sleeps ends when a produced child fails")
  func sleepingBody() async throws {
    let queue = ProcedureQueue("q")
    let handle = queue.add(
      ProcedureTask("sleeps") {
        ProcedureContext.current?.produce(ProcedureTask { () throws in throw TestError(code: 1) })
        await untilCancelled()
      })
    try await eventually { handle.state == .finished }
    await #expect(throws: TestError(code: 1)) { try await handle.value }
  }

  @Test("C3: a handler that is registered after the cancellation of its run is called immediately")
  func lateHandler() async throws {
    let queue = ProcedureQueue("q")
    let isCalled = Box(false)
    let body = ProcedureTask("late") {
      queue.cancelAll(TestError(code: 2))
      #expect(!Task.isCancelled)
      try await ProcedureContext.withCancellationHandler {
        try await eventually { isCalled.value }
      } onCancel: {
        isCalled.update { $0 = true }
      }
    }
    await #expect(throws: TestError(code: 2)) { try await queue.run(body) }
    #expect(isCalled.value)
  }

  @Test("C3: the children of a body that fails are cancelled", arguments: [false, true])
  func childrenOfFailed(isRun: Bool) async throws {
    let queue = ProcedureQueue("q")
    let isChildCancelled = Box(false)
    let body = ProcedureTask<Void, Void>("fails") {
      let started = Signal()
      ProcedureContext.current?.produce(
        ProcedureTask("child") {
          started.set()
          try await eventually { Task.isCancelled }
          isChildCancelled.update { $0 = true }
        })
      await started.wait()
      throw TestError(code: 3)
    }
    await #expect(throws: TestError(code: 3)) {
      if isRun { try await queue.run(body) } else { try await queue.add(body).value }
    }
    #expect(isChildCancelled.value)
  }

  @Test("Q1: a body that is cancelled while it waits for its slot leaves the line, however long it continues")
  func cancelledInLine() async throws {
    let (queue, other) = (ProcedureQueue("q", maxConcurrentProcedures: 1), ProcedureQueue("other"))
    let (release, awaited) = (Signal(), Signal())
    let (holds, end) = (Signal(), Signal())
    let waitedFor = other.add(ProcedureTask("awaited") { await awaited.wait() })
    let cancelled = queue.add(
      ProcedureTask("cancelled") {
        _ = await waitedFor.outcome
        await end.wait()
      })
    try await eventually { cancelled.state == .executing }
    let holder = queue.add(
      ProcedureTask("holder") {
        holds.set()
        await release.wait()
      })
    await holds.wait()
    awaited.set()
    try await waitedFor.value
    // The body waits in line for its slot.
    try await eventually {
      queue.snapshot().procedures.first { $0.procedure == cancelled.identity }?.wait == .slot
    }
    cancelled.cancel()
    release.set()
    try await holder.value
    let next = queue.add(ProcedureTask("next") {})
    try await eventually { next.state == .finished }
    end.set()
    #expect(await cancelled.outcome.isCancelled)
    // The queue has no additional slot, although the body continued without one.
    #expect(try await queue.run(ProcedureTask { 4 }) == 4)
  }
}
