import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

@Suite("Rate limiters under every order", .timeLimit(.atDepth))
struct RateLimiterRuleTests {
  @Test("Waiting calls continue one by one, exactly when admitted, in the order of arrival")
  func exact() async throws {
    try await exploreSchedules(TestDepth.count(2_000)) { env in
      let limiter = RateLimiter(1, per: .seconds(2), burst: 2, clock: env.clock)
      let timers = Timers(time: QueueClock(env.clock), executor: env.executor)
      let order = Locked<[Int]>([])
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<6 {
          group.addTask {
            try? await env.clock.sleep(until: .init(offset: .milliseconds(number)))
            env.check((try? await limiter.enter(timers)) == .granted)
            order { $0.append(number) }
            let expected: Duration = number < 2 ? .milliseconds(number) : .seconds(2 * (number - 1))
            env.check(env.clock.now.offset == expected, "\(number) continued at \(env.clock.now)")
          }
        }
      }
      env.check(order.value == Array(0..<6), "\(order.value)")
      env.check(limiter.waitingCount == 0 && limiter.availableCount == 0 && env.clock.sleeperCount == 0)
    }
  }

  @Test("A cancelled call leaves immediately, later calls move up, and no call is lost")
  func cancelled() async throws {
    try await exploreRace("cancelled", "all granted", schedules: TestDepth.count(2_000)) { env in
      let limiter = RateLimiter(1, per: .seconds(1), clock: env.clock)
      let timers = Timers(time: QueueClock(env.clock), executor: env.executor)
      let (granted, cancelled) = (Locked<[Duration]>([]), Locked(0))
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<5 {
          group.addTask {
            let isCancelled = env.random.below(3) == 0
            let moment = Duration.milliseconds(env.random.below(6) * 500)
            await withTaskGroup(of: Void.self) { inner in
              inner.addTask {
                do {
                  env.check(try await limiter.enter(timers) == .granted)
                  granted { [now = env.clock.now.offset] in $0.append(now) }
                } catch {
                  env.check(error is CancellationError)
                  env.check(env.clock.now.offset <= moment)
                  cancelled { $0 += 1 }
                }
              }
              guard isCancelled else { return }
              try? await env.clock.sleep(until: .init(offset: moment))
              inner.cancelAll()
            }
          }
        }
      }
      let instants = granted.value.sorted()
      env.check(instants.count + cancelled.value == 5)
      for (earlier, later) in zip(instants, instants.dropFirst()) { env.check(later - earlier >= .seconds(1)) }
      env.check(instants.last.map { $0 <= .seconds(4) } ?? true, "\(instants)")
      env.check(limiter.waitingCount == 0 && env.clock.sleeperCount == 0)
      env.tally(cancelled.value == 0 ? "all granted" : "cancelled")
    }
  }

  @Test("A jump in time admits all calls that are due, even if one of them is sleeping")
  func jump() async throws {
    try await exploreSchedules(TestDepth.count(2_000)) { env in
      let limiter = RateLimiter(1, per: .seconds(1), clock: env.clock)
      let timers = Timers(time: QueueClock(env.clock), executor: env.executor)
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<6 { group.addTask { _ = try? await limiter.enter(timers) } }
        // Time moves only when no job can run.
        try? await env.clock.sleep(until: .init(offset: .nanoseconds(1)))
        env.check(limiter.waitingCount == 5 && env.clock.sleeperCount == 1)
        env.clock.advance(to: .init(offset: .seconds(5)))
        await group.waitForAll()
        env.check(env.clock.now.offset == .seconds(5))
      }
    }
  }
}
