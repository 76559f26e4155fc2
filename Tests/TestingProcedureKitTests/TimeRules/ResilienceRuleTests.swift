import TestSupport
import Testing
import TestingProcedureKit

@Suite("Circuit breakers, rate limiters, fallbacks and hedges", .timeLimit(.atDepth))
struct ResilienceRuleTests {
  private func breaker(_ env: ExplorationEnvironment) -> CircuitBreaker {
    CircuitBreaker("server", minimumCalls: 2, cooldown: .seconds(10), clock: env.clock)
  }

  /// A rate limiter that admits one call and refuses the next.
  private func limiter(_ env: ExplorationEnvironment) -> RateLimiter {
    RateLimiter(1, per: .seconds(100), longestWait: .zero, clock: env.clock)
  }

  /// Uses up the only call that a rate limiter admits.
  private func exhausted(_ limiter: RateLimiter, by queue: ProcedureQueue) async throws -> RateLimiter {
    try await queue.run(ProcedureTask("first") {}.rateLimited(limiter))
    return limiter
  }

  @Test("A breaker refuses after failures, admits one probe, and closes when the probe succeeds")
  func breaker() async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      let queue = env.makeQueue()
      let breaker = breaker(env)
      let flaky = Flaky(failing: 2, env)
      let procedure = flaky.circuitBreaker(breaker)
      for _ in 0..<2 { env.check(await queue.add(procedure).outcome.error is Flaw) }
      env.check(breaker.state == .open)
      await env.wait(until: .seconds(4))
      let refused = await queue.add(procedure.named("refused")).outcome.procedureError
      env.check(
        refused?.kind == .circuitOpen && refused?.breaker == "server" && refused?.retryAfter == .seconds(6)
          && refused?.procedure.name == "Flaky", "\(String(describing: refused))")
      await env.wait(until: .seconds(10))
      env.check(try await queue.run(procedure) == 3)
      env.check(breaker.state == .closed && flaky.starts.value.count == 3)
      await queue.shutDown()
    }
  }

  @Test("A cancelled or ignored call does not count, and one that timed out before the breaker counts as a failure")
  func breakerCounts() async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      let queue = env.makeQueue()
      let breaker = breaker(env)
      let slow = env.sleeper(for: .seconds(5))
      for _ in 0..<3 {
        env.check(await queue.add(slow.circuitBreaker(breaker).timeout(.seconds(1)), input: 1).outcome.timeout != nil)
        let ignored = slow.condition("never") { false }.circuitBreaker(breaker)
        env.check(await queue.add(ignored, input: 1).outcome.isIgnored)
      }
      env.check(breaker.state == .closed)
      for _ in 0..<2 {
        env.check(await queue.add(slow.timeout(.seconds(1)).circuitBreaker(breaker), input: 1).outcome.timeout != nil)
      }
      env.check(breaker.state == .open)
      await queue.shutDown()
    }
  }

  @Test(
    "A call that a modifier inside the breaker prevents does not count, and the error of another run does",
    arguments: 0..<9)
  func callsNotMade(way: Int) async throws {
    try await exploreSchedules(TestDepth.count(20)) { env in
      let queue = env.makeQueue()
      let breaker = breaker(env)
      let limiter = try await exhausted(limiter(env), by: queue)
      let other = CircuitBreaker("other", minimumCalls: 1, cooldown: .seconds(100), clock: env.clock)
      _ = await queue.add(ProcedureTask("fails") { throw Flaw(number: 1) }.circuitBreaker(other)).outcome
      env.check(other.state == .open)
      let calls = Locked(0)
      let task = ProcedureTask("call") { calls { $0 += 1 } }
      let (resource, outer) = (Resource("unit", capacity: 1), ProcedureTask("outer") {})
      let (call, kind): (ProcedureTask<Void, Void>, ProcedureError.Kind) =
        switch way {
        case 0: (task.rateLimited(limiter), .rateExceeded)
        case 1: (task.circuitBreaker(other), .circuitOpen)
        case 2: (task.condition("fails") { throw Flaw(number: 1) }, .conditionFailed)
        case 3: (task.uses(resource).uses(resource), .capacityExceeded)
        case 4: (task.uses(resource).uses(Resource("unit", capacity: 2)), .resourceConflict)
        case 5: (task.deadline(env.clock.now, on: env.clock), .timedOut)
        case 6: (task.rateLimited(limiter).named("inner").exclusive("a").map {}, .rateExceeded)
        case 7: (outer.map { try await task.rateLimited(limiter).execute() }, .rateExceeded)
        default: (outer.map { try await queue.run(task.rateLimited(limiter)) }, .rateExceeded)
        }
      for _ in 0..<4 {
        let kindOfError = await queue.add(call.circuitBreaker(breaker)).outcome.procedureError?.kind
        env.check(kindOfError == kind || way == 8 && kindOfError == .circuitOpen, "\(String(describing: kindOfError))")
      }
      env.check(calls.value == 0)
      env.check(breaker.state == (way == 8 ? .open : .closed), "\(breaker.state)")
      await queue.shutDown()
    }
  }

  @Test(
    "A call of several attempts or with a replacement counts unless all of them were prevented",
    arguments: ["attempts", "replacement", "prevented attempts", "prevented replacement"])
  func partlyPrevented(way: String) async throws {
    try await exploreSchedules(TestDepth.count(20)) { env in
      let queue = env.makeQueue()
      let breaker = breaker(env)
      let failing = ProcedureTask("fails") { throw Flaw(number: 1) }
      let exhausted = try await exhausted(limiter(env), by: queue)
      for _ in 0..<3 {
        let fresh = limiter(env)
        let call =
          switch way {
          case "attempts": failing.rateLimited(fresh).retry(.immediate, maxAttempts: 3)
          case "replacement": failing.fallback(to: failing.rateLimited(exhausted))
          case "prevented attempts": failing.rateLimited(exhausted).retry(.immediate, maxAttempts: 3)
          default: failing.rateLimited(exhausted).fallback(to: failing.rateLimited(exhausted))
          }
        let kind = await queue.add(call.circuitBreaker(breaker)).outcome.procedureError?.kind
        env.check(kind == .rateExceeded || kind == .circuitOpen, "\(String(describing: kind))")
      }
      env.check(breaker.state == (way.hasPrefix("prevented") ? .closed : .open), "\(breaker.state)")
      await queue.shutDown()
    }
  }

  @Test("If a probe is prevented, the next call becomes the probe")
  func preventedProbe() async throws {
    try await exploreSchedules(TestDepth.count(20)) { env in
      let (queue, calls) = (env.makeQueue(), Locked(0))
      let breaker = breaker(env)
      let limiter = try await exhausted(limiter(env), by: queue)
      let call = ProcedureTask("call") { calls { $0 += 1 } }
      for _ in 0..<2 {
        _ = await queue.add(ProcedureTask { throw Flaw(number: 1) }.circuitBreaker(breaker)).outcome
      }
      await env.wait(until: .seconds(10))
      let prevented = await queue.add(call.rateLimited(limiter).circuitBreaker(breaker)).outcome.procedureError
      env.check(prevented?.kind == .rateExceeded && breaker.state != .closed)
      try await queue.run(call.circuitBreaker(breaker))
      env.check(breaker.state == .closed && calls.value == 1)
      await queue.shutDown()
    }
  }

  @Test("A call that waits for a resource in a cycle is not made, so it does not count")
  func deadlockedCalls() async throws {
    try await exploreSchedules(TestDepth.count(20)) { env in
      let queue = env.makeQueue()
      let breaker = breaker(env)
      let call = ProcedureTask("call") {}.exclusive("printer").circuitBreaker(breaker)
      for _ in 0..<3 {
        let outer = ProcedureTask("outer") { try await queue.add(call).value }.exclusive("printer")
        env.check(await queue.add(outer).outcome.procedureError?.kind == .exclusionDeadlock)
      }
      env.check(breaker.state == .closed)
      await queue.shutDown()
    }
  }

  @Test("If a probe is cancelled in any way, the next call becomes the probe")
  func cancelledProbe() async throws {
    try await exploreRace("handle", "run", "timeout", "hedge", "probed", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue()
      let breaker = breaker(env)
      for _ in 0..<2 { _ = await queue.add(Flaky(env).circuitBreaker(breaker)).outcome }
      await env.wait(until: .seconds(10))
      let probe = env.sleeper("probe", for: .seconds(2)).circuitBreaker(breaker)
      let (way, moment) = (env.random.below(4), Duration.seconds(11 + env.random.below(2)))
      await withTaskGroup(of: Void.self) { group in
        var handle: ProcedureHandle<Int>?
        switch way {
        case 0: handle = queue.add(probe, input: 1)
        case 1: group.addTask { _ = try? await queue.run(probe, input: 1) }
        case 2: handle = queue.add(probe.timeout(moment - .seconds(10)).fallback(to: env.sleeper(for: .zero)), input: 1)
        default:
          let copies = Locked(0)
          let fast = env.sleeper(for: moment - .milliseconds(10_500))
          let rival = ProcedureTask("rival") { (number: Int) in
            let copy = copies {
              $0 += 1
              return $0
            }
            return try await (copy == 1 ? probe : fast).execute(number)
          }
          handle = queue.add(rival.hedged(after: .milliseconds(500)), input: 1)
        }
        await env.settle()
        env.check(breaker.state == .halfOpen)
        await env.wait(until: moment)
        await pause(env, upTo: 3)
        if way == 0 { handle?.cancel() }
        if way == 1 { group.cancelAll() }
        _ = await handle?.outcome
        await group.waitForAll()
      }
      if breaker.state == .closed {
        env.tally("probed")
      } else {
        env.check(breaker.state == .open && env.elapsed < .seconds(12) + .milliseconds(1), "\(breaker.state)")
        env.tally(["handle", "run", "timeout", "hedge"][way])
      }
      env.check(try await queue.run(env.sleeper(for: .zero).circuitBreaker(breaker), input: 7) == 7)
      env.check(breaker.state == .closed)
      await queue.shutDown()
    }
  }

  @Test("A breaker before a retry counts each attempt, and after it only the final result")
  func breakerAndRetry() async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      let queue = env.makeQueue()
      let (inner, outer) = (breaker(env), breaker(env))
      let flaky = Flaky(env)
      let outcome = await queue.add(flaky.circuitBreaker(inner).retry(.immediate, maxAttempts: 5)).outcome
      env.check(outcome.procedureError?.kind == .circuitOpen && flaky.starts.value.count == 2 && inner.state == .open)
      let whole = await queue.add(flaky.retry(.immediate, maxAttempts: 5).circuitBreaker(outer)).outcome
      env.check(whole.error is Flaw && flaky.starts.value.count == 7 && outer.state == .closed)
      await queue.shutDown()
    }
  }

  @Test("A run that waits for a rate limiter holds nothing, occupies no task, and ends immediately when cancelled")
  func rateLimited() async throws {
    try await exploreRace("waited", "cancelled", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let limiter = RateLimiter(1, per: .seconds(1), clock: env.clock)
      let starts = Locked<[Duration]>([])
      let call = ProcedureTask { starts { [now = env.elapsed] in $0.append(now) } }.rateLimited(limiter).exclusive("x")
      let handles = (0..<4).map { _ in queue.add(call) }
      async let run: Void? = try? queue.run(call)
      await env.settle()
      env.check(limiter.waitingCount == 4 && env.clock.sleeperCount == 1, "\(queue.snapshot())")
      env.check(queue.snapshot().slotsInUse == 0 && env.resources.count == 0)
      try await queue.run(ProcedureTask {}.exclusive("x"))
      if env.random.below(2) == 0 {
        await env.wait(until: .milliseconds(1_500))
        queue.cancelAll()
        for handle in handles { _ = await handle.outcome }
        _ = await run
        env.check(env.elapsed == .milliseconds(1_500) && limiter.waitingCount == 0)
        env.check(starts.value == [.zero, .seconds(1)])
        env.tally("cancelled")
      } else {
        for handle in handles { env.check(await handle.outcome.isFinished) }
        _ = await run
        env.check(starts.value == (0..<5).map { .seconds($0) }, "\(starts.value)")
        env.tally("waited")
      }
      env.check(env.clock.sleeperCount == 0)
      await queue.shutDown()
    }
  }

  @Test("A call that is cancelled after its admission and before its start does not count")
  func abandoned() async throws {
    try await exploreRace("left", "abandoned", "made", schedules: TestDepth.count(2_000)) { env in
      let (queue, other) = (env.makeQueue(maxConcurrentProcedures: 1), env.makeQueue("other"))
      let limiter = RateLimiter(1, per: .seconds(10), clock: env.clock)
      let starts = Locked<[Duration]>([])
      let call = ProcedureTask { starts { [now = env.elapsed] in $0.append(now) } }.rateLimited(limiter)
      try await queue.run(call)
      let handle = queue.add(call)
      await env.settle()
      let next = other.add(call)
      let end = Duration.seconds(8 + env.random.below(8))
      queue.add(ProcedureTask("blocker") { await env.wait(until: end) })
      let moment = Duration.seconds(9 + env.random.below(4))
      await env.wait(until: moment)
      await pause(env, upTo: 2)
      handle.cancel()
      env.check(await next.outcome.isFinished)
      let isMade = await handle.outcome.isFinished
      let made = starts.value.dropFirst()
      env.check(made.count == (isMade ? 2 : 1))
      env.check(isMade ? made.last == .seconds(20) : made.last == max(moment, .seconds(10)), "\(moment): \(made)")
      env.tally(isMade ? "made" : moment < .seconds(10) ? "left" : "abandoned")
      env.check(limiter.waitingCount == 0 && limiter.availableCount == 0)
      await queue.shutDown()
      await other.shutDown()
      env.check(env.clock.sleeperCount == 0)
    }
  }

  @Test("A limiter without waiting refuses a call, and states when the next attempt is allowed")
  func rateExceeded() async throws {
    try await exploreSchedules(20) { env in
      let queue = env.makeQueue()
      let limiter = RateLimiter(1, per: .seconds(1), longestWait: .zero, clock: env.clock)
      let call = ProcedureTask("call") {}.rateLimited(limiter)
      try await queue.run(call)
      let outcome = await queue.add(call).outcome
      env.check(outcome.procedureError?.kind == .rateExceeded, "\(outcome)")
      env.check(outcome.procedureError?.retryAfter == .seconds(1), "\(outcome)")
      try await queue.run(
        call.retry(.immediate) { error, _ in
          (error as? ProcedureError)?.retryAfter.map { .retryAfter($0) } ?? .stop
        })
      env.check(env.elapsed == .seconds(1))
      await queue.shutDown()
    }
  }

  @Test("A fallback executes if the first procedure fails or is ignored, but not if it is cancelled")
  func fallback() async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      let queue = env.makeQueue()
      let other = ProcedureTask { (number: Int) in -number }
      let failing = ProcedureTask { (_: Int) async throws -> Int in throw Reason() }
      env.check(try await queue.run(failing.fallback(to: other), input: 7) == -7)
      let ignored = env.sleeper(for: .zero).condition("never") { false }
      env.check(try await queue.run(ignored.fallback(to: other), input: 7) == -7)
      env.check(try await queue.run(env.sleeper(for: .zero).fallback(to: other), input: 7) == 7)
      let handle = queue.add(env.sleeper(for: .seconds(9)).fallback(to: other), input: 7)
      await env.settle()
      handle.cancel()
      env.check(await handle.outcome.isCancelled)
      await queue.shutDown()
    }
  }

  @Test(
    "Of two copies, the first success counts, and the other is cancelled and awaited", arguments: [false, true])
  func hedged(isRun: Bool) async throws {
    try await exploreRace("first", "second", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 2)
      let (copies, cancelled) = (Locked(0), Locked(0))
      let body = ProcedureTask {
        let copy = copies {
          $0 += 1
          return $0
        }
        do {
          try await env.clock.sleep(until: .init(offset: .seconds(2)))
          await pause(env, upTo: 3)
          try Task.checkCancellation()
        } catch {
          env.check(ProcedureContext.current?.isCancelled ?? false)
          cancelled { $0 += 1 }
          throw error
        }
        return copy
      }
      let hedged = body.hedged(after: .seconds(1))
      let value = try await isRun ? queue.run(hedged) : queue.add(hedged).value
      env.check(copies.value == 2 && cancelled.value <= 1 && env.elapsed == .seconds(2) && !Task.isCancelled)
      env.tally(value == 1 ? "first" : "second")
      env.check(env.clock.sleeperCount == 0 && queue.snapshot().slotsInUse == 0)
      await queue.shutDown()
    }
  }

  @Test("A fast run has no second copy; if one copy fails, the other decides; if both fail, the run fails")
  func hedgedFailures() async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      let queue = env.makeQueue()
      let flaky = Flaky(env)
      env.check(await queue.add(flaky.hedged(after: .seconds(1))).outcome.error as? Flaw == Flaw(number: 1))
      env.check(flaky.starts.value.count == 1)
      func copies(failing: Set<Int>) -> ProcedureTask<Void, Int> {
        let copies = Locked(0)
        return ProcedureTask {
          let copy = copies {
            $0 += 1
            return $0
          }
          try await env.clock.sleep(for: .seconds(5))
          if failing.contains(copy) { throw Flaw(number: copy) }
          return copy
        }.hedged(after: .seconds(1))
      }
      env.check(try await queue.run(copies(failing: [1])) == 2)
      env.check(try await queue.run(copies(failing: [2])) == 1)
      env.check(await queue.add(copies(failing: [1, 2])).outcome.error as? Flaw == Flaw(number: 2))
      env.check(env.elapsed == .seconds(6 + 5 + 6))
      await queue.shutDown()
    }
  }

  @Test("Cancelling a hedged run cancels both copies, and starts none", arguments: [0, 1, 2])
  func hedgedCancelled(way: Int) async throws {
    var explorer = ScheduleExplorer(schedules: TestDepth.count(2_000))
    explorer.expectedOutcomes = ["one", "two"]
    try await explorer.explore { env in
      let queue = env.makeQueue()
      let (copies, ends) = (Locked(0), Locked(0))
      let body = ProcedureTask {
        copies { $0 += 1 }
        defer { ends { $0 += 1 } }
        try await env.clock.sleep(for: .seconds(10))
      }.hedged(after: .seconds(1)).retry(.immediate)
      await withTaskGroup(of: Void.self) { group in
        let handle = way == 0 ? queue.add(body) : nil
        if way > 0 { group.addTask { _ = try? await queue.run(body) } }
        let moment = Duration.milliseconds(500 * (1 + env.random.below(3)))
        await env.wait(until: moment)
        await pause(env, upTo: 3)
        switch way {
        case 0: handle?.cancel()
        case 1: group.cancelAll()
        default: queue.cancelAll()
        }
        _ = await handle?.outcome
        await group.waitForAll()
        env.check(env.elapsed == moment)
      }
      env.check(copies.value == ends.value)
      env.tally(copies.value == 1 ? "one" : "two")
      await env.settle()
      env.check(env.clock.sleeperCount == 0)
      await queue.shutDown()
    }
  }
}
