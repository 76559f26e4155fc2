import Testing
import TestingProcedureKit

extension StressTests {
  @Test("100,000 procedures with a timeout each cost at most twice as much as without")
  func timeouts() async throws {
    let plain = ProcedureTask {}
    let limited = plain.timeout(.seconds(60))
    _ = (try await cost(of: plain), try await cost(of: limited))
    var (without, with): (Duration, Duration) = (.seconds(1_000), .seconds(1_000))
    for _ in 0..<7 {
      without = min(without, try await cost(of: plain))
      with = min(with, try await cost(of: limited))
    }
    print("stress: 100,000 procedures in \(without), with timeouts in \(with): \(with / without) times as much")
    #expect(with <= without * 2)
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

  private func cost(of procedure: ProcedureTask<Void, Void>) async throws -> Duration {
    let queue = ProcedureQueue("timeouts", maxConcurrentProcedures: 2)
    let duration = try await ContinuousClock().measure {
      let handles = (0..<100_000).map { _ in queue.add(procedure) }
      for handle in handles { try await handle.value }
    }
    await queue.shutDown()
    return duration
  }
}
