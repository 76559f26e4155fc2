import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

/// Tests the first and the last instants: sums saturate, and nothing traps.
@Suite(.timeLimit(.minutes(10))) struct ProcedureInstantTests {
  private static let extremes: [Duration] = [
    Duration(attoseconds: .min), Duration(attoseconds: .min + 1), .zero - .longest, .seconds(-1), .zero,
    Duration(attoseconds: 1), .seconds(1), .longest, Duration(attoseconds: .max - 1), Duration(attoseconds: .max),
  ]

  @Test("An instant that would lie outside the representable range is clamped to it")
  func saturation() {
    let instants = [Int64.min, -1, 0, 1, .max].map(ProcedureInstant.init(nanoseconds:))
    for instant in instants {
      for duration in Self.extremes {
        let sum = instant.advanced(by: duration)
        #expect(duration >= .zero ? sum >= instant : sum <= instant)
        #expect(sum.duration(to: instant) <= .longest * 3)
      }
      #expect(instant.advanced(by: Duration(attoseconds: .max)).nanoseconds == .max)
      #expect(instant.advanced(by: Duration(attoseconds: .min)).nanoseconds == .min)
      for other in instants { #expect(instant.advanced(by: instant.duration(to: other)) == other) }
    }
  }

  @Test("Instants of a virtual clock, and the time between them, saturate")
  func virtualClock() {
    for one in Self.extremes {
      for other in Self.extremes {
        let (start, end) = (VirtualClock.Instant(offset: one), VirtualClock.Instant(offset: other))
        #expect(start.advanced(by: other) >= start || other < .zero)
        #expect((start.duration(to: end) < .zero) == (end < start))
      }
    }
    let clock = VirtualClock()
    clock.advance(by: .seconds(1))
    clock.advance(by: Duration(attoseconds: .max))
    #expect(clock.now.offset == Duration(attoseconds: .max))
  }

  @Test("Sums of measured times saturate")
  func measured() {
    var histogram = DurationHistogram()
    for _ in 0..<3 { histogram.record(Duration(attoseconds: .max)) }
    histogram.merge(histogram)
    #expect(histogram.sum == Duration(attoseconds: .max) && histogram.count == 6)
    for most in [Duration(attoseconds: .max), Duration(attoseconds: .min)] {
      var metrics = ProcedureMetrics(
        pending: most, evaluating: most, waiting: most, executing: most, paused: most, finishing: most)
      #expect(metrics.total == most)
      metrics += metrics
      #expect(metrics.executing == most)
    }
  }

  @Test(
    "Delays, timeouts, deadlines, retries and repetitions of extreme lengths neither trap nor end early",
    arguments: extremes)
  func modifiers(_ duration: Duration) async throws {
    let clock = VirtualClock()
    clock.advance(by: .seconds(1))
    let queue = ProcedureQueue("q", clock: clock)
    let body = ProcedureTask("body") { 1 }
    #expect(try await queue.add(body.timeout(duration)).value == 1)
    let isOver = clock.now.advanced(by: duration) <= clock.now
    let deadline = queue.add(body.deadline(clock.now.advanced(by: duration), on: clock))
    #expect(await deadline.outcome.isFinished == !isOver)
    let failing = ProcedureTask("failing") { throw TestError(code: 1) }
    let schedule: Schedule = .linear(from: duration, by: duration).upTo(Duration(attoseconds: .max))
    let pausing: [ProcedureHandle<Void>] = [
      queue.add(body.delay(duration).map { _ in }), queue.add(failing.retry(schedule, maxAttempts: 2)),
      queue.add(failing.retry([.zero], maxAttempts: 2) { _, _ in .retryAfter(duration) }),
      queue.add(body.repeating(.constant(duration), maxCount: 2).map { _ in }),
      queue.add(body.repeating(every: duration, maxCount: 2).map { _ in }),
      queue.add(failing.hedged(after: duration)),
    ]
    try await clock.run(for: .longest)
    // A repetition every 292 years may have its next start after the last instant.
    queue.cancelAll()
    for handle in pausing { _ = await handle.outcome }
    await queue.waitUntilIdle()
  }

  @Test("Limiters, budgets, stall checks and grace periods of extreme lengths do not trap", arguments: extremes)
  func limits(_ duration: Duration) async throws {
    let clock = VirtualClock()
    clock.advance(by: .seconds(1))
    var configuration = ProcedureQueue.Configuration("q")
    configuration.clock = clock
    configuration.stallTimeout = duration > .zero ? duration : nil
    configuration.onStall = { _ in }
    configuration.onUnobservedFailure = { _ in }
    let queue = ProcedureQueue(configuration)
    for longestWait in [nil, duration] {
      let limiter = RateLimiter(1, per: duration, longestWait: longestWait, clock: clock)
      for _ in 0..<3 { queue.add(ProcedureTask {}.rateLimited(limiter)) }
    }
    let budget = RetryBudget(capacity: 2, successesPerRetry: 1, oneMoreEvery: duration, clock: clock)
    let failing = ProcedureTask<Void, Void>("failing") { throw TestError(code: 1) }
    let retried = queue.add(failing.retry([.zero, .zero, .zero], budget: budget))
    let breaker = CircuitBreaker(failureRatio: 0, minimumCalls: 1, window: duration, cooldown: duration, clock: clock)
    for _ in 0..<3 { queue.add(failing.circuitBreaker(breaker)) }
    #expect(await retried.outcome.isFailed)
    async let end = queue.shutDown(grace: duration)
    try await clock.run(for: .longest)
    queue.cancelAll()
    _ = await end
  }
}
