import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

@Suite("Rule C5: deadlines that pass while a procedure is added, is refused, or could start", .timeLimit(.minutes(10)))
struct DeadlineRuleTests {
  @Test("C5: a procedure whose deadline passes while it is being added times out")
  func deadlineWhileAdding() async throws {
    let clock = CallingClock()
    let queue = ProcedureQueue("q", isSuspended: true, clock: clock)
    let deadline = clock.clock.now.advanced(by: .seconds(1))
    // The clock advances each time it is read, so the deadline passes somewhere within `add`.
    let advance: @Sendable () -> Void = { clock.clock.advance(by: .milliseconds(300)) }
    let handle = CallingClock.$call.withValue(advance) {
      queue.add(ProcedureTask("late") {}.deadline(deadline, on: clock.clock))
    }
    clock.clock.advance(by: .seconds(2))
    #expect(await handle.outcome.error(as: ProcedureError.self)?.kind == .timedOut)
  }

  @Test("C5: a body does not start after its deadline, even if the timer of the deadline has not fired yet")
  func lateTimer() async throws {
    let (clock, hasStarted) = (VirtualClock(), Box(false))
    // The timers use the clock of the queue, which does not advance.
    let queue = ProcedureQueue("q", isSuspended: true, clock: VirtualClock())
    let late = ProcedureTask("late") { hasStarted.update { $0 = true } }
    let handle = queue.add(late.deadline(clock.now.advanced(by: .seconds(1)), on: clock))
    clock.advance(by: .seconds(1))
    queue.resume()
    #expect(await handle.outcome.error(as: ProcedureError.self)?.kind == .timedOut)
    #expect(!hasStarted.value)
  }

  @Test("L2, C5: a node whose deadline has passed when it could start has one didAttach, and does not start")
  func lateNode() async throws {
    let (queue, clock) = (ProcedureQueue("q"), VirtualClock())
    let recorder = EventRecorder(queue)
    let graph = ProcedureGraph("graph") { g in g.add(ProcedureTask("late") {}.deadline(clock.now, on: clock)) }
    await #expect(throws: ProcedureError.self) { try await queue.run(graph) }
    await queue.shutDown()
    try await recorder.waitUntilEnded()
    #expect(recorder.events.filter { $0.name == "late" }.map(\.kind) == [.didAttach, .willFinish, .didFinish])
  }

  @Test("C5: a procedure that a full queue refuses leaves no timer for its deadline")
  func refusedTimers() async throws {
    let queue = ProcedureQueue("q", isSuspended: true, clock: VirtualClock(), maxWaitingProcedures: 1)
    queue.add(ProcedureTask {})
    for _ in 0..<100 {
      let refused = queue.add(ProcedureTask {}.deadline(.now.advanced(by: .seconds(3600))))
      #expect(await refused.outcome.error(as: ProcedureError.self)?.kind == .queueFull)
    }
    #expect(queue.core.timers.count == 0)
    await queue.shutDown()
  }
}
