import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite("Rule R1: what the levels of a procedure release in a pause", .timeLimit(.atDepth))
struct RetakeTests {
  @Test(
    "Nested levels that pause reacquire all their resources together, and do not deadlock",
    arguments: 0..<5)
  func nested(way: Int) async throws {
    try await exploreSchedules(TestDepth.count(1_000)) { env in
      let queue = env.makeQueue(isSuspended: true)
      let (monitor, order) = (ConcurrencyMonitor(), Locked(""))
      let pace = Schedule.constant(.microseconds(20))
      let resource = Resource("r", capacity: 3)
      let limiter = RateLimiter(1, per: .microseconds(50), clock: env.clock)
      func work(_ number: Int) -> ProcedureTask<Void, Void> {
        let x = ProcedureTask("x") {
          order { $0 += "\(number)" }
          monitor.enter()
          await pause(env, upTo: 1)
          monitor.leave()
        }
        return switch way {
        case 0: x.repeating(pace, maxCount: 3).exclusive("b").repeating(pace, maxCount: 2).exclusive("c")
        case 1:
          x.repeating(pace, maxCount: 3).exclusive("b").map { $0 }.exclusive("c").repeating(pace, maxCount: 2)
            .exclusive("d", "a")
        case 2: x.repeating(pace, maxCount: 3).shared("b").map { $0 }.exclusive("b").map { $0 }.exclusive("a")
        case 3:
          x.exclusive("b").repeating(pace, maxCount: 3).uses(resource, units: 3).map { $0 }.uses(resource, units: 2)
        default:
          x.rateLimited(limiter).exclusive("b").map { $0 }.exclusive("c")
        }
      }
      let handles = (0..<3).map { queue.add(work($0)) }
      queue.resume()
      for handle in handles { try await handle.value }
      env.check(monitor.most == 1, "\(monitor.most) bodies together")
      // In its first pause, a run has released its resources to the next one.
      env.check(order.value.hasPrefix("012") && order.value.count == [18, 18, 9, 9, 3][way], "\(order.value)")
      await queue.shutDown()
      env.check(env.resources.count == 0, "\(env.resources.count) are held")
    }
  }

  @Test(
    "A pause of an inner level releases the resources of all levels, and other procedures have them in the meantime")
  func releasesAll() async throws {
    try await exploreSchedules(TestDepth.count(500)) { env in
      let queue = env.makeQueue()
      let order = Locked<[String]>([])
      let work = ProcedureTask("work") { order { $0.append("work") } }
        .repeating(.constant(.seconds(1)), maxCount: 2).exclusive("a").map { $0 }.exclusive("b").map { $0 }.exclusive(
          "c")
      let first = queue.add(work)
      try await env.clock.sleep(for: .milliseconds(500))
      let others = ["a", "b", "c"].map { name in
        queue.add(ProcedureTask(name) { order { $0.append(name) } }.exclusive(name))
      }
      for other in others { try await other.value }
      try await first.value
      env.check(order.value.first == "work" && order.value.last == "work" && order.value.count == 5, "\(order.value)")
      await queue.shutDown()
      env.check(env.resources.count == 0)
    }
  }

  @Test(
    "A run that is cancelled during a pause, or while it is waiting for its resources, leaves nothing behind")
  func cancelled() async throws {
    try await exploreRace("pausing", "waiting", "cancelled", "finished", schedules: TestDepth.count(1_000)) { env in
      let queue = env.makeQueue(isSuspended: true)
      let pace = Schedule.constant(.microseconds(20))
      let work = ProcedureTask("x") { await pause(env, upTo: 1) }
        .repeating(pace, maxCount: 3).exclusive("b").repeating(pace, maxCount: 2).exclusive("c")
      let handles = (0..<3).map { _ in queue.add(work) }
      queue.resume()
      if env.random.below(2) == 0 { await env.wait(until: .microseconds(env.random.below(200))) }
      await pause(env, upTo: 20)
      env.tally("\(handles[1].state)")
      handles[1].cancel()
      env.tally(await handles[1].outcome.label)
      for handle in [handles[0], handles[2]] { env.check(await handle.outcome.isFinished) }
      await queue.shutDown()
      env.check(env.resources.count == 0, "\(env.resources.count) are held")
    }
  }

  @Test("R4: a run that reacquires can be in a wait cycle with a procedure that awaits it")
  func cycles() async throws {
    try await exploreSchedules(TestDepth.count(1_000)) { env in
      let queue = env.makeQueue()
      let box = Locked<ProcedureHandle<Void>?>(nil)
      let probe = env.makeQueue("probe")
      let work = ProcedureTask("retakes") { await pause(env, upTo: 1) }
        .repeating(.constant(.seconds(1)), maxCount: 2).exclusive("a").map { $0 }.exclusive("b")
      let retaking = queue.add(work)
      box { $0 = retaking }
      try await env.clock.sleep(for: .milliseconds(500))
      let holder = probe.add(ProcedureTask("holder") { try await box.value?.value }.exclusive("a"))
      let error = await retaking.outcome.error(as: ProcedureError.self)
      env.check(error?.kind == .exclusionDeadlock, "\(String(describing: error))")
      env.check(await holder.outcome.procedureError?.kind == .exclusionDeadlock)
      for queue in [queue, probe] { await queue.shutDown() }
      env.check(env.resources.count == 0)
    }
  }

  @Test("Q1: if the resources cannot be claimed again after a pause, the error is handled within the queue's limit")
  func refusedClaim() async throws {
    try await exploreSchedules(TestDepth.count(500)) { env in
      let (queue, probe, monitor) = (
        env.makeQueue(maxConcurrentProcedures: 1), env.makeQueue("probe"), ConcurrencyMonitor()
      )
      let box = Locked<ProcedureHandle<Void>?>(nil)
      let work = ProcedureTask("work") { await pause(env, upTo: 1) }
        .repeating(.constant(.seconds(1)), maxCount: 2).timeout(.milliseconds(100))
        .recover { error in
          env.check((error as? ProcedureError)?.kind == .exclusionDeadlock, "\(error)")
          await monitor.during { await pause(env, upTo: 2) }
        }
        .exclusive("a")
      let handle = queue.add(work)
      box { $0 = handle }
      try await env.clock.sleep(for: .milliseconds(50))
      // The procedure is pausing. Another one takes its resource and waits for it, and a third one takes its slot.
      let holder = probe.add(ProcedureTask("holder") { try await box.value?.value }.exclusive("a"))
      let third = queue.add(
        ProcedureTask("third") { try await monitor.during { try await env.clock.sleep(for: .milliseconds(200)) } })
      for handle in [handle, third] { try await handle.value }
      env.check(await holder.outcome.isFinished)
      env.check(monitor.most == 1 && monitor.total == 2, "\(monitor.most) of \(monitor.total) bodies together")
      for queue in [queue, probe] { await queue.shutDown() }
      env.check(env.resources.count == 0)
    }
  }
}

@Suite("Rules R1, R4: nested claims that outlive a pause", .timeLimit(.atDepth))
struct OutlivingClaimTests {
  enum Kind: CaseIterable {
    case exclusive
    case shared
    case units

    func claim<Output>(_ task: ProcedureTask<Void, Output>) -> ProcedureTask<Void, Output> {
      switch self {
      case .exclusive: task.exclusive("a")
      case .shared: task.shared("a")
      case .units: task.uses(Resource("a", capacity: 3), units: 2)
      }
    }

    /// Returns a procedure with a claim that excludes the holders of this kind.
    func claimAlone(_ task: ProcedureTask<Void, Void>) -> ProcedureTask<Void, Void> {
      self == .units ? task.uses(Resource("a", capacity: 3), units: 3) : task.exclusive("a")
    }
  }

  /// The tasks that outlive their bodies. A queue does not wait for them.
  private typealias Tasks = Locked<[Task<Void, Never>]>

  /// Returns a procedure that pauses twice within its claim. Its first body starts a task with a nested claim that outlives the body.
  private func work(
    _ kind: Kind, levels: Int, in env: ExplorationEnvironment, _ queue: ProcedureQueue, _ monitor: ConcurrencyMonitor,
    _ tasks: Tasks, then last: @escaping @Sendable () async throws -> Void = {}
  ) -> ProcedureTask<Void, Void> {
    let (starts, isNestedStarted, hasNestedEnded) = (Locked(0), Locked(false), Locked(false))
    let nested = kind.claim(
      ProcedureTask("nested") {
        await monitor.during("nested") {
          isNestedStarted { $0 = true }
          await pause(env, upTo: 4)
          await env.wait(until: env.elapsed + .microseconds(env.random.below(4) * 10))
        }
        hasNestedEnded { $0 = true }
      })
    let body = ProcedureTask("work") {
      let start = starts { count -> Int in
        count += 1
        return count
      }
      if start == 1 {
        // Intentionally unstructured: the nested claim outlives the body and its pause.
        let task = Task(executorPreference: env.executor) { _ = try? await queue.run(nested) }
        tasks { $0.append(task) }
        try await eventually { isNestedStarted.value || ProcedureContext.current?.isCancelled == true }
      }
      if start == 3 {
        env.tally(hasNestedEnded.value ? "the nested claim has ended" : "the nested claim continues")
        try await last()
      }
    }
    let claiming = kind.claim(body.repeating(.constant(.microseconds(10)), maxCount: 3))
    switch levels {
    case 1: return claiming
    case 2: return claiming.map { $0 }
    case 3: return claiming.map { $0 }.exclusive("outer")
    default:
      return kind.claim(claiming.map { $0 }.exclusive("middle").repeating(.constant(.microseconds(10)), maxCount: 2))
        .map { $0 }
    }
  }

  @Test("The levels release all their resources when the procedure ends", arguments: Kind.allCases, 1...4)
  func released(kind: Kind, levels: Int) async throws {
    try await exploreRace(
      "the nested claim has ended", "the nested claim continues", schedules: TestDepth.count(600, least: 30)
    ) { env in
      let (queue, monitor, tasks) = (env.makeQueue(), ConcurrencyMonitor(), Tasks([]))
      let first = queue.add(work(kind, levels: levels, in: env, queue, monitor, tasks))
      let alone = kind.claimAlone(
        ProcedureTask("alone") { await monitor.during("nested") { await pause(env, upTo: 2) } })
      let others = (0..<2).map { _ in queue.add(alone) }
      let outcome = await first.outcome
      env.check(outcome.isFinished, "\(outcome)")
      for other in others { try await other.value }
      for task in tasks.value { await task.value }
      await queue.shutDown()
      env.check(monitor.most(in: "nested") == 1, "\(monitor.most(in: "nested")) together")
      env.check(env.resources.count == 0, "\(env.resources.count) are held")
    }
  }

  @Test("A cancellation at any time leaves nothing behind", arguments: Kind.allCases, 1...4)
  func cancelled(kind: Kind, levels: Int) async throws {
    try await exploreRace("finished", "cancelled", schedules: TestDepth.count(600, least: 30)) { env in
      let (queue, monitor, tasks) = (env.makeQueue(), ConcurrencyMonitor(), Tasks([]))
      let handles = (0..<2).map { _ in queue.add(work(kind, levels: levels, in: env, queue, monitor, tasks)) }
      if env.random.below(2) == 0 { await env.wait(until: .microseconds(env.random.below(60))) }
      await pause(env, upTo: 20)
      handles[0].cancel()
      env.tally(await handles[0].outcome.label)
      env.check(await handles[1].outcome.isFinished)
      try await queue.add(kind.claimAlone(ProcedureTask("alone") {})).value
      for task in tasks.value { await task.value }
      await queue.shutDown()
      env.check(env.resources.count == 0, "\(env.resources.count) are held")
    }
  }

  @Test("A cycle through a claim that was kept during a pause is found", arguments: Kind.allCases, 1...3)
  func cycle(kind: Kind, levels: Int) async throws {
    try await exploreRace(
      "the nested claim has ended", "the nested claim continues", schedules: TestDepth.count(600, least: 30)
    ) { env in
      let (queue, monitor, tasks) = (env.makeQueue(), ConcurrencyMonitor(), Tasks([]))
      let work = work(kind, levels: levels, in: env, queue, monitor, tasks) {
        try await queue.add(kind.claimAlone(ProcedureTask("wanted") {})).value
      }
      let error = await queue.add(work).outcome.error(as: ProcedureError.self)
      env.check(error?.kind == .exclusionDeadlock, "\(String(describing: error))")
      for task in tasks.value { await task.value }
      await queue.shutDown()
      env.check(env.resources.count == 0, "\(env.resources.count) are held")
    }
  }
}

@Suite("Rule R2: calls outside the body of a procedure do not affect its resources", .timeLimit(.atDepth))
struct CallsAndClaimsTests {
  enum Place: CaseIterable {
    case condition
    case preparation
    case delayedCondition
    case innerCondition
    case willExecute
    case didExecute
    case willFinish
    case didFinish
    case didCancel
    case decision
    case whileClosure
    case reusing
    case leftBehind
    case leftBehindNext
  }

  enum Call: CaseIterable {
    case called
    case pausing
    case claiming
    case ran
    case graph
    case failing
    case stopped
    case stoppedGraph
  }

  private func call(_ call: Call, in env: ExplorationEnvironment, _ queue: ProcedureQueue)
    -> @Sendable () async throws
    -> Void
  {
    let helper = ProcedureTask("helper") { await pause(env, upTo: 2) }
    return switch call {
    case .called: { try await helper() }
    case .pausing: { try await helper.repeating(.constant(.microseconds(10)), maxCount: 2)() }
    case .claiming:
      { try await helper.repeating(.constant(.microseconds(10)), maxCount: 2).exclusive("own").map { $0 }() }
    case .ran: { try await queue.run(helper) }
    // After a failure, possibly during a pause, the surrounding body reacquires the resources that the pause released.
    case .failing: { try? await ProcedureTask { throw Reason() }() }
    case .stopped:
      {
        try? await helper.repeating(.constant(.seconds(60))).timeout(.microseconds(15)).exclusive("own").map { $0 }()
      }
    case .stoppedGraph:
      {
        let stopped = helper.repeating(.constant(.seconds(60))).timeout(.microseconds(15)).exclusive("own")
        try? await ProcedureGraph("graph") { g in g.add(stopped) }()
      }
    case .graph:
      {
        try await ProcedureGraph("graph") { g in
          let first = g.add(helper)
          return g.add(helper.exclusive("own"), after: [first])
        }()
      }
    }
  }

  @Test(
    "After two concurrent calls of `next` that pause or are stopped in a pause, the procedure reacquires and ends",
    arguments: OutlivingClaimTests.Kind.allCases, [false, true])
  func bothNext(kind: OutlivingClaimTests.Kind, isStopped: Bool) async throws {
    try await exploreSchedules(TestDepth.count(600, least: 30)) { env in
      let (queue, monitor, order) = (env.makeQueue(), ConcurrencyMonitor(), Locked<[String]>([]))
      let stopped = ProcedureTask { () throws -> Void in throw Reason() }
        .retry(.constant(.seconds(60))).timeout(.microseconds(20))
      let paused = ProcedureTask { await pause(env, upTo: 2) }.repeating(.constant(.microseconds(10)), maxCount: 3)
      let both = (isStopped ? stopped : paused).intercepted { _, next in
        async let first: Void = next()
        async let second: Void = next()
        _ = try? await first
        _ = try? await second
        order { $0.append("rest") }
        await monitor.during("a") { await pause(env, upTo: 2) }
      }
      let other = ProcedureTask("other") {
        order { $0.append("other") }
        await monitor.during("a") { await env.wait(until: .microseconds(30)) }
      }
      let handles = [
        queue.add(kind.claim(both).map { $0 }.exclusive("b")), queue.add(kind.claimAlone(other)),
        queue.add(kind.claimAlone(other).map { $0 }.exclusive("b")),
      ]
      for handle in handles { try await handle.value }
      env.check(monitor.most(in: "a") == 1, "\(monitor.most(in: "a")) together")
      // The calls have released the resources to the waiting procedures.
      env.check(order.value == ["other", "other", "rest"], "\(order.value)")
      await queue.shutDown()
      env.check(env.resources.count == 0, "\(env.resources.count) are held")
    }
  }

  @Test(
    "R1: two concurrent calls of `next` that wait for the same resources after a pause both continue", arguments: 0..<3)
  func bothWait(way: Int) async throws {
    try await exploreSchedules(TestDepth.count(600, least: 30)) { env in
      let (queue, monitor) = (env.makeQueue(), ConcurrencyMonitor())
      let paused = ProcedureTask("paused") { await pause(env, upTo: 1) }
        .repeating(.constant(.microseconds(10)), maxCount: 2)
      let both = (way == 1 ? paused.exclusive("own").map { $0 } : paused).intercepted { _, next in
        async let first: Void = next()
        async let second: Void = next()
        _ = try? await first
        _ = try? await second
      }
      let other = ProcedureTask("other") { await monitor.during("a") { await env.wait(until: .microseconds(30)) } }
      let handle = queue.add(both.exclusive("a").map { $0 }.exclusive("b"))
      let others = [
        queue.add(other.exclusive("a")), queue.add(other.exclusive("a", "own")), queue.add(other.exclusive("a", "b")),
      ]
      if way == 2 {
        await env.wait(until: .microseconds(10 + 10 * env.random.below(3)))
        await pause(env, upTo: 8)
        handle.cancel()
      }
      let outcome = await handle.outcome
      env.check(outcome.isFinished || way == 2 && outcome.isCancelled, "\(outcome)")
      for other in others { try await other.value }
      env.check(monitor.most(in: "a") == 1, "\(monitor.most(in: "a")) together")
      await queue.shutDown()
      env.check(env.resources.count == 0, "\(env.resources.count) are held")
    }
  }

  @Test(
    "Calls by conditions, hooks, decisions and outliving tasks do not affect the resources of the body",
    arguments: Place.allCases, Call.allCases)
  func calls(place: Place, call: Call) async throws {
    try await exploreSchedules(TestDepth.count(120)) { env in
      let (queue, monitor) = (env.makeQueue(), ConcurrencyMonitor())
      let helper = self.call(call, in: env, queue)
      let tasks = Locked<[Task<Void, Never>]>([])
      let starts = Locked(0)
      let body = ProcedureTask("work") { () async throws -> Int in
        try await monitor.during("a") {
          await pause(env, upTo: 2)
          if place == .didCancel { ProcedureContext.current?.cancel() }
          let start = starts { count -> Int in
            count += 1
            return count
          }
          if place == .decision, start % 2 == 1 { throw Reason() }
          return start
        }
      }
      let pace = Schedule.constant(.microseconds(10))
      let paused = body.repeating(pace, maxCount: 2)
      let inner =
        switch place {
        case .condition:
          paused.condition("calls") {
            try await helper()
            return true
          }
        case .preparation: paused.condition(Condition("calls", prepare: { try await helper() }) { true })
        case .delayedCondition:
          paused.delay(.microseconds(10)).condition("calls") {
            try await helper()
            return true
          }
        case .innerCondition:
          paused.condition("calls") {
            try await helper()
            return true
          }.exclusive("a").map { $0 }
        case .willExecute: paused.onWillExecute { try await helper() }
        case .didExecute: paused.onDidExecute { _ in try await helper() }
        case .willFinish: paused.onWillFinish { _ in try await helper() }
        case .didFinish: paused.onDidFinish { _ in try? await helper() }
        case .didCancel: paused.onDidCancel { _ in try? await helper() }
        case .decision:
          body.retry(pace) { _, _ in
            try? await helper()
            return .retry
          }
        case .whileClosure:
          body.repeating(pace, maxCount: 3) { _ in
            try? await helper()
            return true
          }
        case .reusing:
          paused.reusing("none") { _ -> Int? in
            try await helper()
            return nil
          }
        case .leftBehind:
          ProcedureTask("leaves") {
            // Intentionally unstructured: the task makes its calls while the procedure pauses, reacquires and ends.
            let task = Task(executorPreference: env.executor) {
              for _ in 0..<3 {
                try? await helper()
                await pause(env, upTo: 2)
              }
            }
            tasks { $0.append(task) }
            return try await body()
          }.repeating(pace, maxCount: 3)
        case .leftBehindNext:
          ProcedureTask("helps") { try await helper() }.repeating(pace, maxCount: 2).intercepted { _, next in
            // Intentionally unstructured, as above.
            let task = Task(executorPreference: env.executor) { _ = try? await next() }
            tasks { $0.append(task) }
          }.then(paused)
        }
      let claiming = inner.exclusive("a").map { $0 }.exclusive("b")
      let leavesTasks = place == .leftBehind || place == .leftBehindNext
      // A call by a task that outlives its body belongs to the body around it.
      let around = ProcedureTask("around") {
        let value = try await claiming()
        for task in tasks.value { await task.value }
        return value
      }
      let work = leavesTasks ? around : claiming
      let other = ProcedureTask("other") { await monitor.during("a") { await pause(env, upTo: 2) } }.exclusive("b", "a")
      let (first, second) = (queue.add(work), queue.add(work))
      let others = (0..<2).map { _ in queue.add(other) }
      for handle in [first, second] {
        let outcome = await handle.outcome
        env.check(place == .didCancel ? outcome.isCancelled : outcome.isFinished, "\(outcome)")
      }
      for other in others { try await other.value }
      // A call of `next` that the interceptor does not await releases the surrounding resources in a pause.
      if place != .leftBehindNext {
        env.check(monitor.most(in: "a") == 1, "\(monitor.most(in: "a")) together")
      }
      await queue.shutDown()
      env.check(env.resources.count == 0, "\(env.resources.count) are held")
    }
  }
}
