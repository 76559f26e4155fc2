import ProcedureKit

/// P18: empty bodies, without modifiers and with all the modifiers intended for calls to an unreliable service.
enum ResilienceWork {
  static let contestants = [
    contestant("run, body alone") { FlatWork.empty },
    contestant("run") {
      FlatWork.empty
        .timeout(.seconds(60))
        .circuitBreaker(CircuitBreaker())
        // The limit is so high that no call has to wait.
        .rateLimited(RateLimiter(1_000_000, per: .milliseconds(1)))
        .hedged(after: .seconds(60))
        .retry(.exponential(from: .milliseconds(100)), maxAttempts: 3)
    },
  ]

  private static func contestant(
    _ way: String, _ procedure: @escaping @Sendable () -> ProcedureTask<Void, Void>
  ) -> Contestant {
    Contestant(.procedureKit(way)) { units in
      let (queue, procedure) = (ProcedureQueue("resilience"), procedure())
      return Trial(units: units) {
        for _ in 0..<units { try await queue.run(procedure) }
      }
    }
  }
}
