import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite("Rules Q3, C7: a body holds no slot while it waits", .timeLimit(.minutes(10)))
struct SlotReleaseRuleTests {
  /// Adds a procedure, waits until it has a slot, and returns its handle. The procedure ends when `end` is set.
  private func takeSlot(of queue: ProcedureQueue, until end: Signal) async -> ProcedureHandle<Void> {
    let hasSlot = Signal()
    let handle = queue.add(
      ProcedureTask("other") {
        hasSlot.set()
        await end.wait()
      })
    await hasSlot.wait()
    return handle
  }

  private func isWaitingForSlot(_ handle: ProcedureHandle<Void>, of queue: ProcedureQueue) -> Bool {
    queue.snapshot().procedures.first { $0.procedure == handle.identity }?.wait == .slot
  }

  @Test("Q3: on a queue of width one, a body can iterate over the events of a procedure that it added")
  func events() async throws {
    let queue = ProcedureQueue("narrow", maxConcurrentProcedures: 1)
    let kinds = try await queue.run(
      ProcedureTask("outer") {
        var kinds: [ProcedureEvent.Kind] = []
        for await event in queue.add(ProcedureTask("inner") {}).events { kinds.append(event.kind) }
        return kinds
      })
    #expect(kinds.first == .didAttach && kinds.last == .didFinish)
  }

  @Test("Q3: two queues of width one do not deadlock when their bodies wait for each other's procedures")
  func twoQueues() async throws {
    let (one, two) = (
      ProcedureQueue("one", maxConcurrentProcedures: 1), ProcedureQueue("two", maxConcurrentProcedures: 1)
    )
    let nested = { @Sendable (outer: ProcedureQueue, inner: ProcedureQueue) in
      ProcedureTask("outer") {
        try await inner.run(ProcedureTask("inner") { try await outer.add(ProcedureTask("innermost") {}).value })
        try await withProcedureQueue { _ in try await inner.add(ProcedureTask("added") {}).value }
      }
    }
    let handles = (0..<20).map { $0 % 2 == 0 ? one.add(nested(one, two)) : two.add(nested(two, one)) }
    for handle in handles { try await handle.value }
  }

  @Test("Q3: a body resumes after two concurrent waits, one of them a graph that waits for its turn")
  func twoWaitsOfOneBody() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 2)
    let (inFirst, go, release) = (Signal(), Signal(), Signal())
    let other = queue.add(ProcedureTask { await release.wait() })
    let chain = ProcedureGraph("chain", returning: Void.self) { g in
      let first = g.add(
        ProcedureTask("first") {
          inFirst.set()
          await go.wait()
        })
      g.add(ProcedureTask("second") {}, after: [first])
    }
    let body = queue.add(
      ProcedureTask {
        async let graph: Void = chain.execute(())
        async let value: Void = other.value
        _ = try await (graph, value)
      })
    await inFirst.wait()
    queue.suspend()
    go.set()
    release.set()
    try await other.value
    queue.resume()
    try await body.value
    #expect(queue.snapshot().slotsInUse == 0)
  }

  @Test("C7: a body that is cancelled while it waits for its slot takes none")
  func cancelledReturn() async throws {
    let queue = ProcedureQueue("narrow", maxConcurrentProcedures: 1)
    let (waits, go, isCancelled, end) = (Signal(), Signal(), Signal(), Signal())
    let body = queue.add(
      ProcedureTask("body") {
        await ProcedureContext.withSlotReleased(waitingFor: "the signal") {
          waits.set()
          await go.wait()
        }
        isCancelled.set()
        await end.wait()
      })
    await waits.wait()
    let endOther = Signal()
    let other = await takeSlot(of: queue, until: endOther)
    go.set()
    try await eventually { isWaitingForSlot(body, of: queue) }
    body.cancel()
    await isCancelled.wait()
    endOther.set()
    try await other.value
    let next = queue.add(ProcedureTask("next") {})
    try await eventually { next.state == .finished }
    end.set()
    #expect(await body.outcome.isCancelled)
    // The queue has no additional slot, although the body continued without one.
    #expect(try await queue.run(ProcedureTask { queue.snapshot().slotsInUse }) == 1)
  }

  @Test("Q3: a task that a body leaves behind while the task waits for the slot continues when the body ends")
  func leftBehind() async throws {
    let (queue, elsewhere) = (ProcedureQueue("narrow", maxConcurrentProcedures: 1), ProcedureQueue("elsewhere"))
    let (go, endOther, endBody, hasContinued) = (Signal(), Signal(), Signal(), Signal())
    let awaited = elsewhere.add(ProcedureTask("awaited") { await go.wait() })
    let body = queue.add(
      ProcedureTask("body") {
        Task {
          _ = await awaited.outcome
          hasContinued.set()
        }
        await endBody.wait()
      })
    // The other procedure has the slot that the body released for the wait of its task.
    let other = await takeSlot(of: queue, until: endOther)
    go.set()
    try await eventually { isWaitingForSlot(body, of: queue) }
    endBody.set()
    try await body.value
    try await eventually { hasContinued.isSet }
    endOther.set()
    try await other.value
  }

  @Test("Q3: a graph finishes even if the body that started it in a separate task has ended")
  func escapedGraph() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let (inFirst, go) = (Signal(), Signal())
    let chain = ProcedureGraph("chain", returning: Void.self) { g in
      let first = g.add(
        ProcedureTask {
          inFirst.set()
          await go.wait()
        })
      g.add(ProcedureTask {}, after: [first])
    }
    let escaped = Box<Task<Void, any Error>?>(nil)
    try await queue.add(
      ProcedureTask {
        escaped.update { $0 = Task { try await chain.execute(()) } }
        await inFirst.wait()
      }
    ).value
    go.set()
    try await escaped.value?.value
  }
}
