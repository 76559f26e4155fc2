import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite("Rule K2: the work that a condition does before it is evaluated", .timeLimit(.minutes(10)))
struct PreparationRuleTests {
  private enum Network {}

  /// Returns a condition that connects through a procedure with the same category as the procedures that need the connection.
  private func connected(on queue: ProcedureQueue, _ isConnected: Box<Int>) -> Condition {
    Condition("connected") {
      try await queue.run(ProcedureTask("connect") { isConnected.update { $0 += 1 } }.exclusive(with: Network.self))
    } evaluate: {
      isConnected.value > 0
    }
  }

  @Test("K2: prepare runs procedures on the same queue of width one, even of the category of the prepared procedure")
  func runsProcedures() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let connections = Box(0)
    let load = ProcedureTask("load") { connections.value }
      .condition(connected(on: queue, connections)).exclusive(with: Network.self)
    let handles = (0..<3).map { _ in queue.add(load) }
    for handle in handles { #expect(try await handle.value > 0) }
    #expect(try await queue.run(load) == 4)
    let inside = queue.add(ProcedureTask("outer") { try await queue.run(load) }.exclusive(with: Network.self))
    #expect(try await inside.value == 5)
  }

  @Test("K2: a procedure that a preparation awaits, and that fails or is ignored, fails the condition")
  func fails() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let preparations = [
      ProcedureTask { throw TestError(code: 7) },
      ProcedureTask {}.condition(Condition("no") { false }),
    ]
    for (preparation, description) in zip(preparations, ["TestError(code: 7)", "was ignored by"]) {
      let condition = Condition("prepared") {
        try await queue.add(preparation).value
      } evaluate: {
        true
      }
      let error = await queue.add(ProcedureTask {}.condition(condition)).outcome.procedureError
      #expect(error?.kind == .conditionFailed)
      #expect(error.flatMap(\.underlying).map { "\($0)" }?.contains(description) ?? false)
      #expect(
        await queue.add(ProcedureTask {}.condition(condition.treatingErrorsAsUnsatisfied())).outcome.ignoringCondition
          == "prepared")
      #expect(await queue.add(ProcedureTask {}.condition(!condition)).outcome.isFinished)
    }
  }

  @Test("K2: silencing drops the preparation, both within other combinations and around them")
  func silent() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let connections = Box(0)
    let connected = connected(on: queue, connections)
    let body = ProcedureTask {}
    for condition in [
      connected.silenced(), (connected && connected).silenced(), connected.treatingErrorsAsUnsatisfied().silenced(),
    ] {
      #expect(await queue.add(body.condition(condition)).outcome.isIgnored)
    }
    for condition in [!(connected.silenced()), (!connected).silenced(), (!connected || connected).silenced()] {
      #expect(await queue.add(body.condition(condition)).outcome.isFinished)
    }
    #expect(connections.value == 0)
    #expect(await queue.add(body.condition(!connected)).outcome.isFailed)
    #expect(await queue.add(body.condition(connected && connected)).outcome.isFinished)
    #expect(connections.value == 3)
    #expect(await queue.add(body.condition(!(connected.silenced()))).outcome.isFailed)
  }

  @Test("K1, K2: preparations of one level run concurrently, and none waits for the evaluation of another condition")
  func atOnce() async throws {
    let arrived = [Signal(), Signal()]
    let conditions = [0, 1].map { mine in
      Condition("\(mine)") {
        arrived[mine].set()
        await arrived[1 - mine].wait()
      } evaluate: {
        true
      }
    }
    try await ProcedureTask {}.condition(conditions[0]).condition(conditions[1]).execute()
    try await ProcedureTask {}.condition(conditions[0] && conditions[1]).execute()
  }

  @Test("C2, K2: a cancellation during a preparation ends the preparation's procedures, and no condition is evaluated")
  func cancel() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let connect = ProbeProcedure("connect")
    let evaluations = Box(0)
    let condition = Condition("connected") {
      try await queue.run(connect)
    } evaluate: {
      evaluations.update { $0 += 1 }
      return true
    }
    let handle = queue.add(ProcedureTask { Issue.record("the body was executed") }.condition(condition))
    try await connect.waitUntilStarted()
    handle.cancel(TestError(code: 1))
    #expect(await handle.outcome.cancellationReason(as: TestError.self) == TestError(code: 1))
    await queue.shutDown()
    #expect(evaluations.value == 0)
  }
}
