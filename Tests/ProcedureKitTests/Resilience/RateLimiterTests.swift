import Testing
import TestingProcedureKit

@testable import ProcedureKit

@Suite(.timeLimit(.minutes(10))) struct RateLimiterTests {
  @Test("A limiter admits its rate in each period, and refuses calls that must not wait")
  func refuses() async throws {
    let clock = VirtualClock()
    let timers = Timers(time: QueueClock(clock), executor: nil)
    let limiter = RateLimiter(4, per: .seconds(1), longestWait: .zero, clock: clock)
    #expect(limiter.availableCount == 4)
    for _ in 0..<4 { #expect(try await limiter.enter(timers) == .granted) }
    #expect(try await limiter.enter(timers) == .refused(.milliseconds(250)))
    clock.advance(by: .milliseconds(500))
    #expect(limiter.availableCount == 2)
    let never = RateLimiter(0, per: .seconds(1), clock: clock)
    #expect(try await never.enter(timers) == .refused(nil))
  }

  @Test("A rate that is not a whole number of nanoseconds is kept exactly, and so are the waits")
  func thirds() async throws {
    let clock = VirtualClock()
    let timers = Timers(time: QueueClock(clock), executor: nil)
    let limiter = RateLimiter(3, per: .seconds(1), burst: 1, clock: clock)
    #expect(try await limiter.enter(timers) == .granted)
    async let second = limiter.enter(timers)
    #expect(try await clock.nextSleep().offset == .nanoseconds(333_333_334))
    clock.advance(by: .nanoseconds(333_333_334))
    #expect(try await second == .granted)
  }
}
