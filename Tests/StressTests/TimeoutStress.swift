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
