import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

/// Retries and pauses count wherever a modifier stands: totals, metrics, states and snapshots agree with the events.
@Suite(.timeLimit(.minutes(10))) struct LayeredMetricsTests {
  /// A way to put modifiers around a procedure that fails twice, and is retried after 5 s each time.
  struct Stack: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let wrap: @Sendable (ProcedureTask<Void, Int>) -> ProcedureTask<Void, Int>
    /// The seconds of the pauses other than those of the retry.
    var otherPauses = 0

    init(
      _ name: String, otherPauses: Int = 0,
      _ wrap: @escaping @Sendable (ProcedureTask<Void, Int>) -> ProcedureTask<Void, Int>
    ) {
      (testDescription, self.wrap, self.otherPauses) = (name, wrap, otherPauses)
    }
  }

  static let stacks = [
    Stack("nothing") { $0 },
    Stack("map") { $0.map { $0 } },
    Stack("two maps") { $0.map { $0 }.map { $0 } },
    Stack("then") { $0.then(ProcedureTask("next") { (value: Int) in value }) },
    Stack("second of then") { task in ProcedureTask("first") {}.then(task) },
    Stack("recover") { $0.recover { _ in 0 } },
    Stack("fallback") { $0.fallback(to: ProcedureTask { 0 }) },
    Stack("timeout") { $0.map { $0 }.timeout(.seconds(3_600)) },
    Stack("exclusive") { $0.map { $0 }.exclusive("layered") },
    Stack("condition") { $0.map { $0 }.condition("yes") { true } },
    Stack("hedged") { $0.hedged(after: .seconds(3_600)) },
    Stack("delay", otherPauses: 7) { $0.map { $0 }.delay(.seconds(7)) },
    Stack("inner delay", otherPauses: 7) { $0.delay(.seconds(7)).map { $0 } },
    Stack("repeating once") { $0.repeating(.constant(.seconds(9)), maxCount: 1).map { $0 } },
    Stack("repeating twice", otherPauses: 9) { $0.repeating(.constant(.seconds(9)), maxCount: 2).map { $0 } },
    Stack("retry around") { $0.map { $0 }.retry(.constant(.seconds(1)), maxAttempts: 2) },
    Stack("configured") { $0.configured { _, procedure in procedure.map { $0 } } },
    Stack("coalesced") { $0.coalesced(by: "layered") },
    Stack("optional") { $0.replacingErrorsWithNil().map { $0 ?? 0 } },
    Stack("as a result") { $0.catchingErrors().map { try $0.get() } },
    Stack("without errors") { $0.ignoringErrors().map { 1 } },
    Stack("reusing") { $0.map { $0 }.reusing("none") { _ in nil } },
    Stack("breaker") { $0.circuitBreaker(CircuitBreaker("layered")) },
    Stack("limiter") { $0.rateLimited(RateLimiter(100, per: .seconds(1))) },
    Stack("deadline") { $0.map { $0 }.deadline(.now.advanced(by: .seconds(1_000_000))) },
    Stack("key") { $0.map { $0 }.keyed(by: "layered") },
    Stack("interceptor") { $0.map { $0 }.intercepted { _, next in try await next() } },
    Stack("hooks") { $0.onWillExecute { _ in }.onDidExecute { _ in }.onDidFinish { _ in }.map { $0 } },
    Stack("shared") { $0.map { $0 }.shared("layered, shared").uses(Resource("layered units", capacity: 2)) },
    Stack("a call in a body") { task in ProcedureTask("outer") { try await task() } },
    Stack("a call in a call") { task in
      let inner = ProcedureTask("inner") { try await task() }
      return ProcedureTask("outer") { try await inner() }
    },
  ]

  private let clock = VirtualClock()
  private let queue: ProcedureQueue

  init() { queue = Self.makeQueue("layered", width: 1, clock) }

  private static func makeQueue(_ name: String, width: Int, _ clock: VirtualClock) -> ProcedureQueue {
    var configuration = ProcedureQueue.Configuration(name, maxConcurrentProcedures: width)
    configuration.clock = clock
    configuration.executor = clock.executor
    configuration.collectsTotals = true
    return ProcedureQueue(configuration)
  }

  private func flaky() -> ProcedureTask<Void, Int> {
    let failures = Box(2)
    return ProcedureTask("flaky") { [clock] in
      try await clock.sleep(for: .seconds(1))
      if failures.update({ left in
        left -= 1
        return left >= 0
      }) {
        throw TestError()
      }
      return 1
    }.retry(.constant(.seconds(5)), maxAttempts: 3)
  }

  /// Advances the clock second by second until the run has ended, and collects the states in between, with the waits of the run.
  private func advance(
    _ handle: ProcedureHandle<Int>, _ queue: ProcedureQueue? = nil
  ) async throws -> [(ProcedureState, QueueSnapshot.Wait?)] {
    var seen: [(ProcedureState, QueueSnapshot.Wait?)] = []
    try await clock.waitUntilQuiet()
    while let entry = (queue ?? self.queue).snapshot().procedures.first {
      #expect(entry.state == handle.state)
      seen.append((entry.state, entry.wait))
      try await clock.run(for: .seconds(1))
    }
    return seen
  }

  @Test(
    "Totals and metrics count the same retries and pauses as the events, wherever a modifier is placed",
    arguments: stacks)
  func numbers(_ stack: Stack) async throws {
    let handle = queue.add(stack.wrap(flaky()))
    let events = handle.events
    let states = try await advance(handle)
    #expect(try await handle.value == 1)
    var retries = 0
    var metrics: ProcedureMetrics?
    for await event in events {
      if event.kind == .retrying { retries += 1 }
      if event.kind == .didFinish { metrics = event.metrics }
    }
    #expect(retries == 2)
    let totals = try #require(queue.snapshot().totals)
    #expect(totals.retryCount == retries)
    #expect(totals.times == metrics)
    #expect(metrics?.attempts == 1 + retries)
    #expect(metrics?.paused == .seconds(10 + stack.otherPauses))
    let executions = stack.testDescription == "repeating twice" ? 4 : 3
    #expect(metrics?.executing == .seconds(executions))
    #expect(metrics?.total == .seconds(10 + stack.otherPauses + executions))
    #expect(states.count { $0.0 == .pausing } == 10 + stack.otherPauses)
    #expect(states.count { $0.0 == .executing } == executions)
    for (state, wait) in states {
      if case .pause = wait { #expect(state == .pausing) } else { #expect(state == .executing) }
    }
  }

  /// The positions of a procedure that waits for a rate limiter.
  enum Limited: CaseIterable {
    case outermost, mapped, retried, delayedInside, exclusive, called, node, nodeInside, child
  }

  @Test("A wait for a rate limiter is a pause, wherever the modifier is placed", arguments: Limited.allCases)
  func limited(_ place: Limited) async throws {
    let limiter = RateLimiter(1, per: .seconds(5), clock: clock)
    try await ProcedureQueue("other").run(ProcedureTask {}.rateLimited(limiter))
    let body = ProcedureTask("limited") { [clock] in
      try await clock.sleep(for: .seconds(2))
      return 1
    }
    let limited = body.rateLimited(limiter)
    let whole: ProcedureTask<Void, Int> =
      switch place {
      case .outermost: limited
      case .mapped: limited.map { $0 }
      case .retried: limited.retry(.constant(.seconds(1)), maxAttempts: 2).map { $0 }
      case .delayedInside: body.delay(.seconds(3)).rateLimited(limiter).map { $0 }
      case .exclusive: limited.map { $0 }.exclusive("limited")
      case .called: ProcedureTask("outer") { try await limited() }
      case .node: ProcedureGraph("graph") { g in g.add(limited) }.procedureTask
      case .nodeInside: ProcedureGraph("graph") { g in g.add(limited.map { $0 }) }.procedureTask
      case .child: ProcedureTask("parent") { try await ProcedureContext.current?.produce(limited).value ?? 0 }
      }
    let reader = queue.events
    let handle = queue.add(whole)
    var states: [ProcedureState] = []
    var waits: [QueueSnapshot.Wait] = []
    try await clock.waitUntilQuiet()
    while !handle.state.isFinished {
      let entry = try #require(queue.snapshot().procedures.last)
      states.append(entry.state)
      if let wait = entry.wait { waits.append(wait) }
      try await clock.run(for: .seconds(1))
    }
    #expect(try await handle.value == 1)
    await queue.shutDown()
    let (_, metrics) = await read(reader)
    let name = place == .called ? "outer" : "limited"
    let delay = place == .delayedInside ? 3 : 0
    #expect(metrics[name] == ProcedureMetrics(executing: .seconds(2), paused: .seconds(5 + delay), attempts: 1))
    // The snapshot shows a plain node as executing.
    guard place != .node, place != .nodeInside else { return }
    #expect(states == Array(repeating: .pausing, count: 5 + delay) + [.executing, .executing], "\(states)")
    #expect(waits.count { $0 == .rateLimit } == 5, "\(waits)")
  }

  @Test("A run executes while at least one of its copies executes, and pauses while all of them are pausing")
  func copies() async throws {
    let queue = Self.makeQueue("wide", width: 2, clock)
    let number = Box(0)
    // The first copy fails at 0 s, pauses until 10 s; the second starts at 2 s, and executes until 5 s.
    let task = ProcedureTask("copy") { [clock] in
      let copy = number.update { number in
        number += 1
        return number
      }
      if copy == 1 { throw TestError() }
      try await clock.sleep(for: .seconds(3))
      return copy
    }.retry(.constant(.seconds(10)), maxAttempts: 2).hedged(after: .seconds(2))
    let handle = queue.add(task)
    _ = try await advance(handle, queue)
    #expect(try await handle.value == 2)
    let times = try #require(queue.snapshot().totals).times
    #expect(times.paused == .seconds(2) && times.executing == .seconds(3))
  }

  @Test("The retries of nodes count in the totals, and in the metrics of the node")
  func nodes() async throws {
    let task = flaky()
    let reader = queue.events
    let handle = queue.add(ProcedureGraph("graph") { g in g.add(task.map { $0 }) })
    try await clock.run(for: .seconds(13))
    #expect(try await handle.value == 1)
    await queue.shutDown()
    var retries = 0
    var metrics: [String: ProcedureMetrics] = [:]
    for await event in reader {
      if event.kind == .retrying { retries += 1 }
      if event.kind == .didFinish { metrics[event.name] = event.metrics }
    }
    #expect(queue.snapshot().totals?.retryCount == 2 && retries == 2)
    #expect(metrics["flaky"] == ProcedureMetrics(executing: .seconds(3), paused: .seconds(10), attempts: 3))
  }

  /// Returns the number of retries, and the metrics for each name, from the events of a run's queue.
  private func read(_ reader: AsyncStream<ProcedureEvent>) async -> (retries: Int, metrics: [String: ProcedureMetrics])
  {
    var retries = 0
    var metrics: [String: ProcedureMetrics] = [:]
    for await event in reader {
      if event.kind == .retrying { retries += 1 }
      if event.kind == .didFinish { metrics[event.name] = event.metrics }
    }
    return (retries, metrics)
  }

  @Test(
    "The retries of a procedure that the body of a plain node calls count in the totals, and in the metrics of the node"
  )
  func bodyOnlyNode() async throws {
    let task = flaky()
    let reader = queue.events
    let handle = queue.add(ProcedureGraph("graph") { g in g.add(ProcedureTask("bare") { try await task() }) })
    let states = try await advance(handle)
    #expect(try await handle.value == 1)
    await queue.shutDown()
    let (retries, metrics) = await read(reader)
    #expect(retries == 2 && queue.snapshot().totals?.retryCount == 2)
    #expect(metrics["bare"] == ProcedureMetrics(executing: .seconds(3), paused: .seconds(10), attempts: 3))
    #expect(queue.snapshot().totals?.times == metrics["graph"])
    #expect(states.count == 13)
  }

  @Test("The retries of a produced child count in the totals, and in the metrics of the child alone")
  func child() async throws {
    let task = flaky()
    let reader = queue.events
    let handle = queue.add(
      ProcedureTask("parent") { try await ProcedureContext.current?.produce(task.map { $0 }).value ?? 0 })
    try await clock.run(for: .seconds(13))
    #expect(try await handle.value == 1)
    await queue.shutDown()
    let (retries, metrics) = await read(reader)
    #expect(retries == 2 && queue.snapshot().totals?.retryCount == 2)
    #expect(metrics["flaky"] == ProcedureMetrics(executing: .seconds(3), paused: .seconds(10), attempts: 3))
    #expect(metrics["parent"]?.attempts == 1 && metrics["parent"]?.total == .seconds(13))
    var sum = ProcedureMetrics()
    for part in metrics.values { sum += part }
    #expect(queue.snapshot().totals?.times == sum)
  }

  @Test("The retries of both copies of a hedge count, and the run pauses while both copies do")
  func retryingCopies() async throws {
    let queue = Self.makeQueue("wide", width: 2, clock)
    // The second copy starts half a second after the first one, and is in its third attempt when the first one succeeds.
    let task = ProcedureTask("copy") { [clock] in
      let attempt = ProcedureContext.current?.attempt ?? 0
      try await clock.sleep(for: .seconds(1))
      if attempt < 3 { throw TestError() }
      return attempt
    }.retry(.constant(.seconds(5)), maxAttempts: 3).hedged(after: .milliseconds(500))
    let reader = queue.events
    let handle = queue.add(task)
    let states = try await advance(handle, queue)
    #expect(try await handle.value == 3)
    await queue.shutDown()
    let (retries, metrics) = await read(reader)
    let totals = try #require(queue.snapshot().totals)
    #expect(retries == 4 && totals.retryCount == 4 && totals.times == metrics["copy"])
    #expect(totals.times == ProcedureMetrics(executing: .seconds(4), paused: .seconds(9), attempts: 5))
    #expect(states.contains { $0.0 == .pausing } && states.contains { $0.0 == .executing })
  }

  @Test("A retry that is cancelled during its pause has not started")
  func cancelledPause() async throws {
    let handle = queue.add(flaky().map { $0 })
    try await clock.run(for: .seconds(2))
    #expect(handle.state == .pausing)
    handle.cancel()
    _ = await handle.outcome
    #expect(queue.snapshot().totals?.retryCount == 0)
    #expect(queue.snapshot().totals?.times.attempts == 1)
  }

  @Test("End hooks count as finishing, and not as executing, even for a body that never ran")
  func finishing() async throws {
    let task = ProcedureTask("task") { 1 }.onWillFinish { [clock] _ in try await clock.sleep(for: .seconds(4)) }
    for (procedure, attempts) in [(task, 1), (task.condition("no") { false }, 0)] {
      let handle = queue.add(procedure)
      let events = handle.events
      try await clock.run(for: .seconds(4))
      var metrics: ProcedureMetrics?
      for await event in events { metrics = event.metrics ?? metrics }
      #expect(metrics == ProcedureMetrics(finishing: .seconds(4), attempts: attempts))
    }
  }
}
