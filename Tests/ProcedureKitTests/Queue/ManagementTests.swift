import ProcedureKit
import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

/// Tests managing procedures by their IDs, and managing the queue without `await`.
@Suite(.timeLimit(.atDepth)) struct ManagementTests {
  private func log(_ name: String, _ order: Record<String>) -> ProcedureTask<Void, Void> {
    ProcedureTask(name) { order.append(name) }
  }

  @Test("cancel(id) cancels the run that an event or a snapshot names, with the reason, and no other run")
  func cancelByID() async throws {
    let queue = ProcedureQueue("q", isSuspended: true)
    let (first, second) = (queue.add("first") {}, queue.add("second") {})
    let id = try #require(queue.snapshot().procedures.last?.procedure.id)
    #expect(id == second.id)
    #expect(queue.cancel(id, TestError(code: 7)))
    await #expect(throws: TestError(code: 7)) { try await second.value }
    #expect(!queue.cancel(id))
    #expect(first.state != .finished)
    queue.resume()
    try await first.value
    #expect(!queue.cancel(first.id))
    #expect(!queue.cancel(second.id))
  }

  @Test("cancel(id) reaches a body that is executing, and a run on another queue is unknown")
  func cancelExecuting() async throws {
    let (queue, started) = (ProcedureQueue("q"), Signal())
    let handle = queue.add("waiting") {
      started.set()
      await untilCancelled()
    }
    await started.wait()
    #expect(!ProcedureQueue("other").cancel(handle.id))
    #expect(queue.cancel(handle.id))
    #expect(await handle.outcome.isCancelled)
  }

  @Test("cancel(where:) cancels the selected runs in one step, so none of them starts when another one ends")
  func cancelWhere() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let (started, gate, order) = (Signal(), Signal(), Record<String>())
    let executing = queue.add("executing") {
      started.set()
      await gate.wait()
    }
    await started.wait()
    let odd = (0..<10).map { queue.add(log("odd \($0)", order)) }
    let kept = queue.add(log("kept", order))
    queue.cancel(TestError(code: 2)) { $0.procedure.name.hasPrefix("odd") && $0.state == .waiting }
    for handle in odd { await #expect(throws: TestError(code: 2)) { try await handle.value } }
    gate.set()
    try await executing.value
    try await kept.value
    #expect(order.values == ["kept"])
  }

  @Test("cancel(where:) passes on the error of the predicate, and then cancels nothing")
  func throwingPredicate() async throws {
    let queue = ProcedureQueue("q", isSuspended: true)
    let handle = queue.add("kept") { 1 }
    #expect(throws: TestError(code: 4)) { try queue.cancel { _ in throw TestError(code: 4) } }
    queue.resume()
    #expect(try await handle.value == 1)
  }

  @Test("A new priority moves a waiting run, up and down, to its place in the order of admission")
  func setPriority() async throws {
    for isKeyed in [false, true] {
      var configuration = ProcedureQueue.Configuration("q", maxConcurrentProcedures: 1, isSuspended: true)
      if isKeyed { configuration.fairness = .byKey }
      let (queue, order) = (ProcedureQueue(configuration), Record<String>())
      let handles = ["a", "b", "c", "d"].map { name in
        queue.add(isKeyed ? log(name, order).keyed(by: "key").priority(.medium) : log(name, order).priority(.medium))
      }
      #expect(queue.setPriority(.high, of: handles[3].id))
      #expect(queue.setPriority(.low, of: handles[0].id))
      #expect(queue.setPriority(.high, of: handles[2].id))
      #expect(queue.setPriority(.medium, of: handles[1].id))
      queue.resume()
      for handle in handles { try await handle.value }
      #expect(order.values == ["c", "d", "b", "a"])
      #expect(!queue.setPriority(.high, of: handles[0].id))
    }
  }

  @Test("A raised run raises the dependencies for which it waits")
  func raisesDependencies() async throws {
    let (queue, order) = (ProcedureQueue("q", maxConcurrentProcedures: 1, isSuspended: true), Record<String>())
    let other = queue.add(log("other", order).priority(.medium))
    let dependency = queue.add(log("dependency", order).priority(.low))
    let last = queue.add(log("last", order).priority(.low), after: dependency)
    #expect(queue.setPriority(.high, of: last.id))
    queue.resume()
    try await other.value
    try await last.value
    #expect(order.values == ["dependency", "last", "other"])
  }

  @Test("setPriority does not change a run whose body is executing")
  func executing() async throws {
    let (queue, started, gate) = (ProcedureQueue("q"), Signal(), Signal())
    let handle = queue.add("executing") {
      started.set()
      await gate.wait()
    }
    await started.wait()
    #expect(!queue.setPriority(.high, of: handle.id))
    gate.set()
    try await handle.value
  }

  @Test("suspend, resume, the width and cancelAll take effect in the order of the calls, without await")
  func synchronous() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    for _ in 0..<100 {
      queue.suspend()
      let cancelled = queue.add("cancelled") {}
      #expect(queue.isSuspended)
      queue.cancelAll(TestError(code: 1))
      let kept = queue.add("kept") {}
      queue.setMaxConcurrentProcedures(2)
      queue.resume()
      #expect(!queue.isSuspended && queue.maxConcurrentProcedures == 2)
      await #expect(throws: TestError(code: 1)) { try await cancelled.value }
      try await kept.value
    }
  }
}
