import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite("Ageing of low priorities", .timeLimit(.atDepth))
struct AgeingTests {
  /// Returns a queue with one slot, on which a stream of procedures of high priority never ends before `end`: each of them takes a second,
  /// and adds the next two when it starts.
  private func makeBusyQueue(
    _ env: ExplorationEnvironment, ageingInterval: Duration?, until end: Duration, isSuspended: Bool = false,
    _ change: (inout ProcedureQueue.Configuration) -> Void = { _ in }
  ) -> ProcedureQueue {
    var configuration = ProcedureQueue.Configuration("busy", maxConcurrentProcedures: 1, isSuspended: isSuspended)
    configuration.ageingInterval = ageingInterval
    change(&configuration)
    let queue = env.makeQueue(configuration)
    @Sendable func stream() -> ProcedureTask<Void, Void> {
      ProcedureTask("urgent", priority: .high) {
        let now = env.clock.now.offset
        if now < end { for _ in 0..<(queue.snapshot().procedures.count < 5 ? 2 : 1) { queue.add(stream()) } }
        try? await env.clock.sleep(for: .seconds(1))
      }
    }
    queue.add(stream())
    return queue
  }

  @Test(
    "A low-priority procedure starts after a bounded time, however it is run and however many urgent procedures arrive",
    arguments: Way.queued)
  func bound(way: Way) async throws {
    try await exploreSchedules(TestDepth.count(50, least: 5)) { env in
      let end = Duration.seconds(100)
      for interval in [nil, Duration.seconds(10)] {
        let began = env.clock.now.offset
        let queue = makeBusyQueue(env, ageingInterval: interval, until: began + end)
        try await env.clock.sleep(for: .milliseconds(1_500))
        let added = env.clock.now.offset
        let start = Box<Duration?>(nil)
        let subject = ProcedureTask("subject") {
          start.update { $0 = env.clock.now.offset }
          return 1
        }
        // The priority is that of the outermost procedure. The others are parts of its body.
        let whole = way.whole(subject).priority(.background)
        let value = try await way == .add ? queue.add(whole).value : queue.run(whole)
        let wait = try env.require(start.value) - added
        // It rises to the level of the others in three intervals, and then starts as soon as a slot is free. A child, or a second attempt,
        // waits for a slot after its parent, or the first attempt, has had one.
        let limit = [.child, .secondAttempt, .element, .unorderedElement].contains(way) ? 80 : 40
        let isExpected = interval == nil ? wait > .seconds(90) : wait >= .seconds(30) && wait < .seconds(limit)
        env.check(value == 1 && isExpected, "\(wait)")
        queue.cancelAll()
        await queue.shutDown()
      }
    }
  }

  @Test("A procedure rises by one level for each interval, and those of one level start in order of admission")
  func steps() async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      var configuration = ProcedureQueue.Configuration("steps", maxConcurrentProcedures: 1)
      configuration.ageingInterval = .seconds(10)
      let queue = env.makeQueue(configuration)
      let (blocker, order) = (ProbeProcedure<Void, Void>("blocker"), Box<[String]>([]))
      queue.add(blocker)
      try await blocker.waitUntilStarted()
      func add(_ name: String, _ priority: TaskPriority) -> ProcedureHandle<Void> {
        queue.add(ProcedureTask(name, priority: priority) { order.update { $0.append(name) } })
      }
      _ = add("background", .background)
      let lowered = add("lowered", .medium)
      try await env.clock.sleep(for: .seconds(9))
      // Changing the priority begins the interval again.
      queue.setPriority(.background, of: lowered.id)
      try await env.clock.sleep(for: .seconds(12))
      _ = (add("low", .low), add("medium", .medium), add("high", .high))
      // No timer is needed.
      env.check(env.clock.sleeperCount == 0)
      // The first one has risen by two levels to medium, before the one that was added later. The other one has risen by one, to low.
      blocker.finish(())
      await queue.waitUntilIdle()
      env.check(order.value == ["high", "background", "medium", "lowered", "low"], "\(order.value)")
      await queue.shutDown()
    }
  }

  @Test("Ageing does not override turns, limits of keys, a suspension, or a cancellation, in any order")
  func races() async throws {
    try await exploreRace("started", "cancelled", "suspended", schedules: TestDepth.count(500)) { env in
      let (executing, ends) = (Box<[String: Int]>([:]), Box(0))
      let isSuspended = Box(false)
      let queue = makeBusyQueue(env, ageingInterval: .seconds(2), until: .seconds(20)) {
        ($0.fairness, $0.maxConcurrentProceduresPerKey) = (.byKey, 1)
        $0.maxConcurrentProcedures = 2
      }
      let handles = (0..<4).map { number in
        let key = number < 2 ? "a" : "b"
        return queue.add(
          ProcedureTask("\(number)", priority: .low) {
            env.check(!isSuspended.value, "\(number) has started on a suspended queue")
            executing.update { $0[key, default: 0] += 1 }
            env.check(executing.value[key] == 1, "two procedures of \(key) execute")
            try? await env.clock.sleep(for: .seconds(1))
            executing.update { $0[key, default: 0] -= 1 }
            ends.update { $0 += 1 }
          }.keyed(by: key))
      }
      try await env.clock.sleep(for: .milliseconds(500 * (1 + env.random.below(10))))
      switch env.random.below(3) {
      case 0:
        handles[env.random.below(4)].cancel()
        env.tally("cancelled")
      case 1:
        queue.suspend()
        // Procedures that had their slots have started before time passes.
        try await env.clock.sleep(for: .nanoseconds(1))
        isSuspended.update { $0 = true }
        try await env.clock.sleep(for: .seconds(5))
        isSuspended.update { $0 = false }
        queue.resume()
        env.tally("suspended")
      default:
        queue.setPriority(.background, of: handles[3].id)
        env.tally("started")
      }
      for handle in handles {
        let outcome = await handle.outcome
        env.check(outcome.isFinished || outcome.isCancelled, "\(outcome)")
      }
      // All of them rise to the level of the stream in two intervals, and their keys take turns with it.
      env.check(env.clock.now.offset < .seconds(20), "\(env.clock.now.offset)")
      await queue.shutDown()
    }
  }

  @Test("A body that continues after a wait rises in priority, too, so that urgent bodies cannot keep it waiting")
  func resumption() async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      for interval in [nil, Duration.seconds(5)] {
        var configuration = ProcedureQueue.Configuration("resuming", maxConcurrentProcedures: 1)
        configuration.ageingInterval = interval
        let queue = env.makeQueue(configuration)
        let began = env.clock.now.offset
        let (isWaiting, haveStarted, isOver) = (Signal(), [Signal(), Signal()], Box(false))
        let low = queue.add(
          ProcedureTask("low", priority: .low) {
            await ProcedureContext.withSlotReleased(waitingFor: "a response") {
              isWaiting.set()
              for signal in haveStarted { await signal.wait() }
              try? await env.clock.sleep(for: .milliseconds(1_500))
            }
            isOver.update { $0 = true }
          })
        await isWaiting.wait()
        // Two urgent bodies take the slot in turn, because each of them releases it for a moment.
        let urgent = (0..<2).map { number in
          queue.add(
            ProcedureTask("urgent \(number)", priority: .high) {
              haveStarted[number].set()
              await ProcedureContext.withSlotReleased(waitingFor: "the other one") {
                await haveStarted[1 - number].wait()
              }
              for _ in 0..<50 where !isOver.value {
                try? await env.clock.sleep(for: .seconds(1))
                await ProcedureContext.withSlotReleased(waitingFor: "a moment") { await Task.yield() }
              }
            })
        }
        try await low.value
        let elapsed = env.clock.now.offset - began
        env.check(interval == nil ? elapsed > .seconds(90) : elapsed < .seconds(20), "\(elapsed)")
        for handle in urgent { try await handle.value }
        await queue.shutDown()
      }
    }
  }

  @Test("A procedure that has risen passes its own priority to its children")
  func ownPriority() async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      var configuration = ProcedureQueue.Configuration("own", maxConcurrentProcedures: 1)
      configuration.ageingInterval = .seconds(10)
      let queue = env.makeQueue(configuration)
      let (blocker, order) = (ProbeProcedure<Void, Void>("blocker"), Box<[String]>([]))
      queue.add(blocker)
      try await blocker.waitUntilStarted()
      @Sendable func add(_ name: String, _ priority: TaskPriority) {
        queue.add(ProcedureTask(name, priority: priority) { order.update { $0.append(name) } })
      }
      queue.add(
        ProcedureTask("parent", priority: .background) {
          order.update { $0.append("parent") }
          add("low", .low)
          let context = try env.require(ProcedureContext.current)
          context.produce(ProcedureTask("child", priority: .background) { order.update { $0.append("child") } })
        })
      try await env.clock.sleep(for: .seconds(25))
      add("medium", .medium)
      blocker.finish(())
      await queue.waitUntilIdle()
      // The parent has risen to `medium`, and starts first, since it was added first. Its child has not.
      env.check(order.value == ["parent", "medium", "low", "child"], "\(order.value)")
      await queue.shutDown()
    }
  }

  @Test("Time during which the queue is suspended does not count", arguments: [false, true])
  func suspension(isSuspendedFirst: Bool) async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      var configuration = ProcedureQueue.Configuration(
        "suspended", maxConcurrentProcedures: 1, isSuspended: isSuspendedFirst)
      configuration.ageingInterval = .seconds(10)
      let queue = env.makeQueue(configuration)
      let order = Box<[String]>([])
      func add(_ name: String, _ priority: TaskPriority) {
        queue.add(ProcedureTask(name, priority: priority) { order.update { $0.append(name) } })
      }
      let blocker = ProbeProcedure<Void, Void>("blocker")
      queue.add(blocker.priority(.high))
      if !isSuspendedFirst {
        try await blocker.waitUntilStarted()
        queue.suspend()
      }
      add("low", .low)
      try await env.clock.sleep(for: .seconds(100))
      queue.resume()
      try await blocker.waitUntilStarted()
      try await env.clock.sleep(for: .seconds(9))
      add("medium", .medium)
      blocker.finish(())
      await queue.waitUntilIdle()
      env.check(order.value == ["medium", "low"], "\(order.value)")
      await queue.shutDown()
    }
  }

  @Test("An ageing interval of zero or less traps, with a message that names the queue", arguments: [0, -1])
  func mistakes(seconds: Int) async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      [seconds = seconds as Int] in
      var configuration = ProcedureQueue.Configuration("aged")
      configuration.ageingInterval = .seconds(seconds)
      _ = ProcedureQueue(configuration)
    }
    let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(message.contains("ProcedureQueue \"aged\": ageingInterval must be positive, got \(seconds).0 seconds"))
  }
}
