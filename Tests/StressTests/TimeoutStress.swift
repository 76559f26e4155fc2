import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

extension StressTests {
  /// The benchmark measures the cost of timeouts, because a test cannot measure its own time. On this clock, nothing times out.
  @Test("Procedures with a timeout each finish, and no timer is left")
  func timeouts() async throws {
    let queue = ProcedureQueue("timeouts", clock: VirtualClock())
    let limited = ProcedureTask {}.timeout(.seconds(60))
    let handles = (0..<TestDepth.load(100_000)).map { _ in queue.add(limited) }
    for handle in handles { try await handle.value }
    #expect(queue.core.timers.count == 0)
  }

  @Test("Procedures that time out, retry, hedge and exclude each other end once each")
  func timeoutsAsBodiesReturn() async throws {
    let clock = VirtualClock()
    try await Stress.run("timeouts as bodies return", width: 3, clock: clock) { queue, counts, seed in
      var random = SeededGenerator(seed: seed)
      let isOver = Atomic(false)
      async let ticking: Void = {
        while !isOver.load(ordering: .relaxed) {
          clock.advance(by: .microseconds(3))
          await Task.yield()
        }
      }()
      let handles = (0..<Stress.many).map { number in
        let procedure = restless(counts.token(), number, yields: Int.random(in: 0..<6, using: &random))
        let limit = Duration.microseconds(Int.random(in: 1..<60, using: &random))
        return counts.watch(queue.add(guarded(procedure, number, within: limit, on: clock)))
      }
      for number in stride(from: 0, to: handles.count, by: 7) { handles[number].cancel() }
      let count = await OutcomeCount(of: handles)
      isOver.store(true, ordering: .relaxed)
      await ticking
      #expect(count.total == handles.count && count.finished > 0 && count.cancelled > 0)
    }
  }

  private func restless(_ token: InstanceCount.Token, _ number: Int, yields: Int) -> ProcedureTask<Void, Int> {
    ProcedureTask("restless") {
      defer { withExtendedLifetime(token) {} }
      for _ in 0..<yields { await Task.yield() }
      if number % 5 == 0, ProcedureContext.current?.attempt == 1 { throw CancelledStressError() }
      return number
    }
  }

  private func guarded(
    _ procedure: ProcedureTask<Void, Int>, _ number: Int, within limit: Duration, on clock: VirtualClock
  ) -> ProcedureTask<Void, Int> {
    switch number % 6 {
    case 0: procedure.timeout(limit)
    case 1: procedure.timeout(limit).retry(.constant(limit), maxAttempts: 3).exclusive("stress \(number % 11)")
    case 2: procedure.exclusive("stress \(number % 11)").retry(.constant(limit), maxAttempts: 3).timeout(limit * 4)
    case 3: procedure.hedged(after: limit).timeout(limit * 3).fallback(to: ProcedureTask { -1 })
    case 4: procedure.timeout(limit).map { $0 }.timeout(limit).onDidExecute { _ in }.timeout(limit * 2)
    default: procedure.retry(.immediate, maxAttempts: 2).deadline(clock.now.advanced(by: limit * 100), on: clock)
    }
  }

  private struct CancelledStressError: Error {}
}
