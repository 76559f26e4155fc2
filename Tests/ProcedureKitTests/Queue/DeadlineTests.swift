import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

@Suite("C5: deadlines", .timeLimit(.minutes(10)))
struct DeadlineTests {
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
    #expect((await handle.outcome.failure as? ProcedureError)?.kind == .timedOut)
  }

  @Test("C5: a procedure that a full queue refuses leaves no timer for its deadline")
  func refusedTimers() async throws {
    let queue = ProcedureQueue("q", isSuspended: true, clock: VirtualClock(), maxWaitingProcedures: 1)
    queue.add(ProcedureTask {})
    for _ in 0..<100 {
      let refused = queue.add(ProcedureTask {}.deadline(.now.advanced(by: .seconds(3600))))
      #expect((await refused.outcome.failure as? ProcedureError)?.kind == .queueFull)
    }
    #expect(queue.core.timers.count == 0)
    await queue.shutDown()
  }
}
