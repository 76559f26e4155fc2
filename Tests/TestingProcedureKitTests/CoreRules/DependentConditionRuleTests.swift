import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite("Rules D1, K1: conditions of dependents", .timeLimit(.minutes(10)))
struct DependentConditionRuleTests {
  private let suspended = ProcedureQueue("suspended", isSuspended: true)

  /// Dependencies that end without a value, one for each such outcome.
  private func dependencies(on queue: ProcedureQueue) -> [ProcedureHandle<Int>] {
    let cancelled = suspended.add(ProcedureTask { 1 })
    cancelled.cancel()
    return [
      queue.add(ProcedureTask { throw TestError(code: 1) }), cancelled,
      queue.add(ProcedureTask { 1 }.condition(Condition("no") { false })),
    ]
  }

  @Test("D1, K1: after a dependency that failed, was cancelled or was ignored, no condition is prepared or evaluated")
  func notEvaluated() async {
    let queue = ProcedureQueue("q")
    let condition = Condition("looks") {
      Issue.record("it was prepared")
    } evaluate: {
      Issue.record("it was evaluated")
      return true
    }
    let body = ProcedureTask { Issue.record("it was executed") }.condition(condition)
    let outcomes = [
      await queue.add(body, after: [dependencies(on: queue)[0]]).outcome,
      await queue.add(body, after: [dependencies(on: queue)[1]]).outcome,
      await queue.add(body, after: [dependencies(on: queue)[2]]).outcome,
    ]
    #expect(outcomes[0].procedureError?.kind == .dependencyFailed)
    #expect(outcomes[1].isCancelled)
    #expect(outcomes[2].ignoringCondition == "no")
  }

  @Test("D1, K1: a condition of a dependent can inspect outcomes, and fail the run or ignore it after a cancellation")
  func lookForThemselves() async {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let dependencies = dependencies(on: queue)
    let noneFailed = Condition("nothing failed") {
      for dependency in dependencies {
        if case .failed(let error) = await dependency.outcome { throw error }
      }
      return true
    }
    let noneCancelled = Condition("nothing was cancelled") {
      for dependency in dependencies where await dependency.outcome.isCancelled { return false }
      return true
    }
    let all = dependencies.map { $0.catchingErrors() as any ProcedureDependency }
    let body = ProcedureTask { 1 }
    let failed = queue.add(body.condition(noneFailed).condition(noneCancelled), after: all)
    let ignored = queue.add(body.condition(noneCancelled), after: all)
    let anyway = queue.add(body, after: all)
    #expect(await failed.outcome.procedureError?.underlying as? TestError == TestError(code: 1))
    #expect(await ignored.outcome.ignoringCondition == "nothing was cancelled")
    #expect(await anyway.outcome.isFinished(1))
  }
}
