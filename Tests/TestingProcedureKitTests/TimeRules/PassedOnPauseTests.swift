import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

@Suite(.timeLimit(.atDepth)) struct PassedOnPauseTests {
  private struct FailsOnce: Error {}

  @Test("R2: a run releases a claim that was passed to it for a pause, and reacquires it before it continues")
  func pauseOfWhoWasPassedOn() async throws {
    try await exploreSchedules(TestDepth.count(200)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 3, isSuspended: true)
      let inside = Locked(0)
      let attempts = Locked<[Int]>([])
      let handles = (0..<6).map { number in
        let body = ProcedureTask("body") { (number: Int) in
          env.check(
            inside {
              $0 += 1
              return $0
            } == 1, "\(number) is not alone")
          defer { inside { $0 -= 1 } }
          try await env.clock.sleep(for: .seconds(1))
          attempts { $0.append(number) }
          if number == 2, attempts.value.count(where: { $0 == 2 }) == 1 { throw FailsOnce() }
          return number
        }
        return queue.add(
          body.retry(.constant(.milliseconds(1_500)), maxAttempts: 3).exclusive("x"), input: number)
      }
      queue.resume()
      for handle in handles { _ = await handle.outcome }
      env.check(attempts.value.sorted() == [0, 1, 2, 2, 3, 4, 5], "\(attempts.value)")
      // Other runs continued during the pause.
      env.check(attempts.value.firstIndex(of: 3) ?? 0 < attempts.value.lastIndex(of: 2) ?? 0, "\(attempts.value)")
      await queue.shutDown()
    }
  }
}
