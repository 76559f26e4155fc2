import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

extension ProcedureContext {
  /// Yields until the current procedure is cancelled, in any way.
  fileprivate static func yieldUntilCancelled() async {
    try? await eventually { current?.isCancelled == true }
  }
}

@Suite("Rules C3, Q1: the procedures that a cancelled body calls to clean up", .timeLimit(.atDepth))
struct CleanUpCallTests {
  /// The way in which the body is cancelled. Only the first two cancel its task.
  enum Way: CaseIterable {
    case handle
    case caller
    case queue
    case timeout
  }

  enum Call: CaseIterable {
    case retry
    case recover
    case fallback
    case optional
    case breaker
    case breakerSuccess
    case coalesced
    case hedged
    case repeating
    case delay
    case rateLimited
    case timeout
    case context
    case handler
    case graph
    case children
    case nested
  }

  /// Returns a check to perform when the run has ended.
  private func clean(_ call: Call, in env: ExplorationEnvironment, _ queue: ProcedureQueue) -> (
    call: @Sendable () async throws -> Int, expected: Int
  ) {
    let failing = ProcedureTask("failing") { () async throws -> Int in throw Reason() }
    let starts = Locked(0)
    let count: @Sendable () -> Int = {
      starts { count -> Int in
        count += 1
        return count
      }
    }
    switch call {
    case .retry: return ({ try await Flaky(failing: 2, env).retry(.constant(.seconds(1)))() }, 3)
    case .recover: return ({ try await failing.recover { _ in 1 }() }, 1)
    case .fallback: return ({ try await failing.fallback(to: ProcedureTask { 1 })() }, 1)
    case .optional: return ({ try await failing.replacingErrorsWithNil()() ?? 1 }, 1)
    case .breaker:
      let breaker = CircuitBreaker(failureRatio: 1, minimumCalls: 1, clock: env.clock)
      return (
        {
          _ = try? await failing.circuitBreaker(breaker)()
          return breaker.state == .open ? 1 : 0
        }, 1
      )
    case .breakerSuccess:
      let breaker = CircuitBreaker(failureRatio: 1, minimumCalls: 1, cooldown: .seconds(1), clock: env.clock)
      return (
        {
          _ = try? await failing.circuitBreaker(breaker)()
          _ = try await ProcedureTask {}.delay(.seconds(2))()
          _ = try await ProcedureTask {}.circuitBreaker(breaker)()
          return breaker.state == .closed ? 1 : 0
        }, 1
      )
    case .coalesced:
      let isFollowed: @Sendable () -> Bool = {
        queue.snapshot().procedures.contains { entry in
          guard entry.procedure.name == "shared", case .resources(let waits)? = entry.wait else { return false }
          return !waits.isEmpty
        }
      }
      let shared = ProcedureTask("shared") {
        let number = count()
        if number == 1 {
          let follower = queue.add(ProcedureTask("shared") { count() }.coalesced(by: "k"))
          try await eventually { isFollowed() }
          withExtendedLifetime(follower) {}
        }
        return number
      }.coalesced(by: "k")
      return (
        {
          let value = try await shared()
          // Only the run of the body itself remains.
          try await eventually { queue.snapshot().procedures.count <= 1 }
          return value + starts.value
        }, 2
      )
    case .hedged:
      let copies = ProcedureTask("copy") { () -> Int in
        let number = count()
        if number == 1 { await ProcedureContext.yieldUntilCancelled() }
        return number
      }
      return ({ try await copies.hedged(after: .zero)() }, 2)
    case .repeating:
      return ({ try await ProcedureTask { count() }.repeating(.constant(.seconds(1)), maxCount: 3)() }, 3)
    case .delay: return ({ try await ProcedureTask { count() }.delay(.seconds(1))() }, 1)
    case .rateLimited:
      let limiter = RateLimiter(1, per: .seconds(1), clock: env.clock)
      return (
        { try await ProcedureTask { count() }.rateLimited(limiter).map { $0 }.rateLimited(limiter)() }, 1
      )
    case .timeout:
      let late = ProcedureTask { () -> Int in
        while ProcedureContext.current?.isCancelled != true { try? await ProcedureTask {}.delay(.seconds(1))() }
        return 0
      }.timeout(.seconds(2))
      return ({ try await late.recover { ($0 as? ProcedureError)?.kind == .timedOut ? 1 : 2 }() }, 1)
    case .context:
      return (
        {
          try await ProcedureTask { ProcedureContext.current?.isCancelled == false ? 1 : 0 }.map { value in
            value + (ProcedureContext.current?.isCancelled == false ? 1 : 0)
          }()
        }, 2
      )
    case .handler:
      return (
        {
          try await ProcedureTask {
            await ProcedureContext.withCancellationHandler {
              await pause(env, upTo: 4)
            } onCancel: {
              _ = count()
            }
            return starts.value
          }()
        }, 0
      )
    case .graph:
      let graph = ProcedureGraph("graph") { g in
        let numbers = g.add(ProcedureTask("numbers") { [1, 2, 3] })
        let isCancelled = g.add(ProcedureTask("asks") { ProcedureContext.current?.isCancelled == true ? 100 : 0 })
        let doubled = g.map(numbers, with: ProcedureTask("element") { (number: Int) in 2 * number }.retry(.immediate))
        let sum = g.reduce(doubled, 0) { $0 + $1 }
        return g.add("add", from: sum, isCancelled) { $0 + $1 }
      }
      return ({ try await graph() }, 12)
    case .children:
      let child = ProcedureTask("child") {
        await pause(env, upTo: 4)
        if ProcedureContext.current?.isCancelled == false { _ = count() }
      }
      return (
        {
          try await ProcedureTask { _ = ProcedureContext.current?.produce(child) }()
          return starts.value
        }, 1
      )
    case .nested:
      let inner = Flaky(failing: 1, env).retry(.constant(.seconds(1)))
      return ({ try await ProcedureTask { try await inner() }.map { $0 }() }, 2)
    }
  }

  @Test(
    "A task group cancels the calls of its child tasks, in a body and in a call of a cancelled body",
    arguments: [false, true])
  func taskGroup(isCancelled: Bool) async throws {
    try await exploreRace("called", "cancelled before the call", schedules: TestDepth.count(600)) { env in
      let (queue, never) = (env.makeQueue(), env.makeQueue(isSuspended: true))
      let opening = never.add(ProcedureTask("opening") {})
      let (isStarted, isCalled, hasEnded) = (Locked(false), Locked(false), Locked(false))
      let waits = ProcedureTask("waits") {
        isCalled { $0 = true }
        try await opening.value
      }.map { $0 }
      let race = ProcedureTask("race") {
        await withTaskGroup(of: Void.self) { group in
          group.addTask { try? await waits() }
          await pause(env, upTo: 3)
          group.cancelAll()
        }
      }
      let body = ProcedureTask("body") {
        isStarted { $0 = true }
        if isCancelled { await ProcedureContext.yieldUntilCancelled() }
        try await race()
        hasEnded { $0 = true }
      }
      let end = Task(executorPreference: env.executor) { try await queue.run(body) }
      if isCancelled {
        try await eventually { isStarted.value }
        queue.cancelAll()
      }
      do {
        try await end.value
        env.check(!isCancelled, "the run was not cancelled")
      } catch {
        env.check(isCancelled && error is CancellationError, "\(error)")
      }
      env.check(hasEnded.value, "the body has not cleaned up")
      env.tally(isCalled.value ? "called" : "cancelled before the call")
      opening.cancel()
      await queue.waitUntilIdle()
      withExtendedLifetime(never) {}
    }
  }

  @Test("C7: graphs and hedges that a cancelled body calls need no slot", arguments: [Call.graph, .hedged])
  func withoutSlot(call: Call) async throws {
    try await exploreSchedules(TestDepth.count(600)) { env in
      let (queue, other) = (env.makeQueue(maxConcurrentProcedures: 1), env.makeQueue())
      let (isStarted, result, holder) = (Locked(false), Locked<Int?>(nil), ProbeProcedure("holds the slot"))
      let (clean, expected) = clean(call, in: env, queue)
      let body = ProcedureTask("body") {
        isStarted { $0 = true }
        await ProcedureContext.yieldUntilCancelled()
        // The body releases its slot for this wait, and continues without one.
        try? await other.run(ProcedureTask {})
        try? await holder.waitUntilStarted()
        let value = try? await clean()
        result { $0 = value }
        holder.finish()
      }
      let handle = queue.add(body)
      try await eventually { isStarted.value }
      queue.add(holder)
      handle.cancel()
      _ = await handle.outcome
      await queue.waitUntilIdle()
      env.check(result.value == expected, "\(String(describing: result.value)), not \(expected)")
    }
  }

  @Test(
    "A node that is cancelled because another one failed can clean up, even in a cancelled body",
    arguments: [false, true])
  func nodeCleansUp(isCancelled: Bool) async throws {
    try await exploreSchedules(TestDepth.count(600)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 2)
      let (isStarted, begun, result) = (Locked(false), Locked(false), Locked<Result<Void, any Error>?>(nil))
      let graph = ProcedureGraph("graph", returning: Void.self) { g in
        g.add("fails") {
          try await eventually { begun.value }
          throw Reason()
        }
        g.add("cleans up") {
          begun { $0 = true }
          await ProcedureContext.yieldUntilCancelled()
          do {
            try await ProcedureTask("cleanup") {}()
            result { $0 = .success(()) }
          } catch {
            result { $0 = .failure(error) }
          }
        }
      }
      let body = ProcedureTask("body") {
        isStarted { $0 = true }
        if isCancelled { await ProcedureContext.yieldUntilCancelled() }
        try? await graph()
      }
      let end = Task(executorPreference: env.executor) { try await queue.run(body) }
      if isCancelled {
        try await eventually { isStarted.value }
        queue.cancelAll()
      }
      _ = await end.result
      if case .success? = result.value {} else { env.check(false, "\(String(describing: result.value))") }
    }
  }

  @Test(
    "Modifiers, contexts and handlers see only the cancellation of the call itself", arguments: Call.allCases,
    Way.allCases)
  func calls(call: Call, way: Way) async throws {
    try await exploreSchedules(TestDepth.count(60)) { env in
      let queue = env.makeQueue()
      let (isStarted, value) = (Locked(false), Locked<Result<Int, any Error>?>(nil))
      let (clean, expected) = clean(call, in: env, queue)
      let body = ProcedureTask("body") {
        isStarted { $0 = true }
        // Lets virtual time pass.
        if way == .timeout { try? await env.clock.sleep(for: .seconds(60)) }
        await ProcedureContext.yieldUntilCancelled()
        do {
          let result = try await clean()
          value { $0 = .success(result) }
        } catch {
          value { $0 = .failure(error) }
        }
      }
      let outer = way == .timeout ? body.timeout(.nanoseconds(1)) : body
      let end: Task<Void, any Error>?
      let handle: ProcedureHandle<Void>?
      if way == .handle || way == .timeout {
        (handle, end) = (queue.add(outer), nil)
      } else {
        (handle, end) = (nil, Task(executorPreference: env.executor) { try await queue.run(outer) })
      }
      if way != .timeout {
        try await eventually { isStarted.value }
        switch way {
        case .handle: handle?.cancel()
        case .caller: end?.cancel()
        case .queue, .timeout: queue.cancelAll()
        }
      } else {
        await env.settle()
      }
      _ = await handle?.outcome
      _ = await end?.result
      await queue.waitUntilIdle()
      env.check((try? value.value?.get()) == expected, "\(String(describing: value.value)), not \(expected)")
      await queue.shutDown()
      env.check(env.resources.count == 0)
    }
  }
}
