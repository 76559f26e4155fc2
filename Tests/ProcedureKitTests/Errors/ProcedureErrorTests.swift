import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

/// Tests the messages of errors.
@Suite(.timeLimit(.minutes(10))) struct ProcedureErrorTests {
  struct Cause: Error {}

  private let one = ProcedureTask("one") { 1 }

  @Test("The error of a dependent attributes a condition to the dependency to which it belongs")
  func ignoredDependency() async throws {
    let queue = ProcedureQueue("q")
    let dependency = queue.add(one.condition(Condition("never") { false }))
    let dependent = queue.add(ProcedureTask("two") { (_: Int) in }, from: dependency)
    let error = await #expect(throws: ProcedureError.self) { try await dependent.value }
    let message = "\(try #require(error))"
    #expect(message.contains("\"two\""))
    #expect(message.contains("ignored by \"never\", which is a condition or a modifier of the procedure or of"))
  }

  @Test(
    "The error of a wait for the caller's own claim advises a nested run; that of a longer cycle advises one claiming order"
  )
  func circles() async throws {
    let queue = ProcedureQueue("q")
    let stuck = ProcedureTask("stuck") {
      try await queue.add(ProcedureTask("later") {}.exclusive("printer")).value
    }.exclusive("printer")
    let error = try #require(await #expect(throws: ProcedureError.self) { try await queue.run(stuck) })
    #expect("\(error)".contains("would have waited forever: \(error.waits[0])"))
    #expect(error.advice?.contains("runs or produces it") == true)
    let wide = ProcedureError.exclusionDeadlock(procedure: error.procedure, waits: error.waits + error.waits)
    #expect(wide.advice?.contains("same order") == true && !"\(wide)".contains("runs or produces it"))
  }

  @Test("Errors name a full queue and an open breaker")
  func refusals() async throws {
    let queue = ProcedureQueue("q", isSuspended: true, maxWaitingProcedures: 1)
    queue.add(one)
    let full = await queue.add(one).outcome
    #expect("\(full)".contains("the queue \"q\" is full"))

    let error = ProcedureError(.circuitOpen, procedure: try #require(full.procedureError).procedure) {
      $0.breaker = "api"
    }
    #expect("\(error)".contains("its circuit breaker \"api\" is open"))
    queue.cancelAll()
  }

  @Test("The error of a queue that was shut down says whether the procedure was refused or cancelled, if that is known")
  func shutDown() async throws {
    let identity = ProcedureQueue("q", isSuspended: true).add(one).identity
    func error(_ wasAdmitted: Bool?) -> ProcedureError {
      ProcedureError(.queueShutDown, procedure: identity) { ($0.queue, $0.wasAdmitted) = ("q", wasAdmitted) }
    }
    let (grace, order) = ("grace period", "before calling")
    for (wasAdmitted, event, advice) in [
      (true, "was cancelled:", [grace]), (false, "was refused:", [order]),
      (nil, "was refused or cancelled:", [order, grace]),
    ] as [(Bool?, String, [String])] {
      let error = error(wasAdmitted)
      #expect("\(error)".contains(event))
      let text = try #require(error.advice)
      for part in [grace, order] { #expect(text.contains(part) == advice.contains(part), "\(text)") }
    }
  }

  @Test("An outcome is printed as its kind and its cause")
  func outcomes() {
    #expect("\(ProcedureOutcome.finished(42))" == "finished(42)")
    #expect("\(ProcedureOutcome.finished(()))" == "finished")
    #expect("\(ProcedureOutcome<Int>.failed(Cause()))" == "failed: Cause()")
    #expect("\(ProcedureOutcome<Int>.cancelled(reason: nil))" == "cancelled")
    #expect("\(ProcedureOutcome<Int>.cancelled(reason: Cause()))" == "cancelled: Cause()")
    #expect("\(ProcedureOutcome<Int>.ignored(by: "online"))" == "ignored by \"online\"")
  }

  @Test("A cancellation reason that comes from the library is treated as the library's decision")
  func timeouts() async {
    let clock = VirtualClock()
    let queue = ProcedureQueue("q", clock: clock)
    let late = queue.add(one.deadline(clock.now, on: clock))
    #expect(await late.outcome.procedureError?.kind == .timedOut)
  }

  @Test("A deadline that passed before the start has its own message, with advice; one that passed later is a timeout")
  func deadlines() async throws {
    let clock = VirtualClock()
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1, clock: clock)
    let past = await queue.add(one.deadline(clock.now, on: clock)).outcome
    #expect("\(past)".hasSuffix("its deadline had passed before it was added"))
    #expect(past.procedureError?.advice?.contains("a later deadline") == true)

    let probe = ProbeProcedure("probe")
    let due = clock.now.advanced(by: .seconds(2))
    let executing = queue.add(probe.deadline(due, on: clock))
    try await probe.waitUntilStarted()
    let waiting = queue.add(one.deadline(due, on: clock))
    clock.advance(by: .seconds(2))
    let late = await waiting.outcome
    #expect("\(late)".contains("had not started by its deadline, 2"))
    #expect(late.procedureError?.advice?.contains("or use a timeout, which starts only") == true)
    let slow = "\(await executing.outcome)"
    #expect(slow.contains("\"probe\" (\(executing.id)) timed out after 2") && !slow.contains("not started"))
    await queue.shutDown()
  }
}
