import Testing
import TestingProcedureKit

@testable import ProcedureKit

extension StressTests {
  /// What they cost the benchmark measures: a test has no time of its own.
  @Test("100,000 procedures with a timeout each finish, and no timer is left")
  func timeouts() async throws {
    let queue = ProcedureQueue("timeouts")
    let limited = ProcedureTask {}.timeout(.seconds(60))
    let handles = (0..<100_000).map { _ in queue.add(limited) }
    for handle in handles { try await handle.value }
    #expect(queue.core.timers.count == 0)
  }

  @Test("20,000 procedures that time out, retry, hedge and exclude each other as others return, end once each")
  func timeoutsAsBodiesReturn() async throws {
    try await Stress.run("timeouts as bodies return", width: 3) { queue, ledger, seed in
      var random = SeededGenerator(seed: seed)
      let handles = (0..<20_000).map { number in
        let procedure = restless(ledger.token(), number, yields: Int.random(in: 0..<6, using: &random))
        let limit = Duration.microseconds(Int.random(in: 1..<60, using: &random))
        return ledger.watch(queue.add(guarded(procedure, number, within: limit)))
      }
      for number in stride(from: 0, to: handles.count, by: 7) { handles[number].cancel() }
      let count = await OutcomeCount(of: handles)
      #expect(count.total == handles.count && count.finished > 0 && count.cancelled > 0)
    }
  }

  private func restless(_ token: LivingCount.Token, _ number: Int, yields: Int) -> ProcedureTask<Void, Int> {
    ProcedureTask("restless") {
      defer { withExtendedLifetime(token) {} }
      for _ in 0..<yields { await Task.yield() }
      if number % 5 == 0, ProcedureContext.current?.attempt == 1 { throw CancelledStressError() }
      return number
    }
  }

  private func guarded(
    _ procedure: ProcedureTask<Void, Int>, _ number: Int, within limit: Duration
  ) -> ProcedureTask<Void, Int> {
    switch number % 6 {
    case 0: procedure.timeout(limit)
    case 1: procedure.timeout(limit).retry(.constant(limit), maxAttempts: 3).exclusive("stress \(number % 11)")
    case 2: procedure.exclusive("stress \(number % 11)").retry(.constant(limit), maxAttempts: 3).timeout(limit * 4)
    case 3: procedure.hedged(after: limit).timeout(limit * 3).fallback(to: ProcedureTask { -1 })
    case 4: procedure.timeout(limit).map { $0 }.timeout(limit).onDidExecute { _ in }.timeout(limit * 2)
    default: procedure.retry(.immediate, maxAttempts: 2).deadline(.now + limit * 100)
    }
  }

  private struct CancelledStressError: Error {}
}
