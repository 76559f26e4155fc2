import ProcedureKit
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct RetryBudgetTests {
  @Test("If everything fails, a budget allows its capacity immediately, and then one retry per interval")
  func storm() {
    let clock = VirtualClock()
    let budget = RetryBudget(capacity: 5, oneMoreEvery: .seconds(2), clock: clock)
    #expect((0..<1_000).filter { _ in budget.takeRetry() }.count == 5)
    #expect(budget.retriesLeft == 0)
    clock.advance(by: .seconds(10))
    #expect((0..<1_000).filter { _ in budget.takeRetry() }.count == 5)
    clock.advance(by: .seconds(2))
    #expect(budget.takeRetry() && !budget.takeRetry())
  }

  @Test("Successes pay for retries, up to the capacity")
  func successes() {
    let budget = RetryBudget(capacity: 3, successesPerRetry: 4, clock: VirtualClock())
    for _ in 0..<100 { budget.recordSuccess() }
    #expect(budget.retriesLeft == 3)
    #expect((0..<9).filter { _ in budget.takeRetry() }.count == 3)
    for _ in 0..<3 { budget.recordSuccess() }
    #expect(!budget.takeRetry())
    budget.recordSuccess()
    #expect(budget.takeRetry() && !budget.takeRetry())
  }

  @Test("Procedures that share a budget together get the retries that it allows")
  func shared() async {
    let budget = RetryBudget(capacity: 100, clock: VirtualClock())
    let allowed = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<8 {
        group.addTask { (0..<1_000).filter { _ in budget.takeRetry() }.count }
      }
      return await group.reduce(0, +)
    }
    #expect(allowed == 100)
  }
}
