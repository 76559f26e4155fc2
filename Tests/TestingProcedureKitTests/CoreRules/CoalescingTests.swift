import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

extension ProcedureQueue {
  /// Whether a procedure is waiting for an execution that another run leads.
  fileprivate nonisolated var waitsForExecution: Bool {
    snapshot().procedures.contains { entry in
      if case .resources(let waits)? = entry.wait { !waits.isEmpty } else { false }
    }
  }
}

@Suite("Coalesced procedures: one execution, its key, its pauses and its cycles", .timeLimit(.atDepth))
struct CoalescingTests {
  private func deadlock(_ outcome: ProcedureOutcome<some Sendable>) -> ProcedureError? {
    guard let error = outcome.error(as: ProcedureError.self), error.kind == .exclusionDeadlock else { return nil }
    return error
  }

  private func names(_ error: ProcedureError?) -> Set<String> {
    Set(error?.waits.flatMap { [$0.procedure.name, $0.holder.name] } ?? [])
  }

  @Test("A key applies within a procedure's name and queue, and a scope shares across both")
  func keys() async throws {
    try await exploreSchedules(TestDepth.count(500)) { env in
      let (first, second) = (env.makeQueue("first"), env.makeQueue("second"))
      let executions = Locked<[String]>([])
      func work(_ name: String) -> ProcedureTask<Void, String> {
        ProcedureTask(name) {
          executions { $0.append(name) }
          await pause(env, upTo: 2)
          return name
        }.coalesced(by: "k")
      }
      let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}")
      let (a, b, c) = (first.add(work("a")), first.add(work("b")), second.add(work("a")))
      let (d, e) = (first.add(work(composed)), first.add(work(decomposed)))
      let renamed = first.add(work("a").named("renamed"))
      let values = try await [a.value, b.value, c.value, d.value, e.value, renamed.value]
      env.check(Array(values[0...2]) == ["a", "b", "a"] && values[5] == "a", "\(values)")
      env.check(values[3].utf8.count == composed.utf8.count && values[4].utf8.count == decomposed.utf8.count)
      env.check(executions.value.count == 6, "\(executions.value)")
      for queue in [first, second] { await queue.shutDown() }
    }
  }

  @Test("A key that is computed from the input shares an execution among equal inputs only")
  func keyOfInput() async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let (queue, count, release) = (env.makeQueue(maxConcurrentProcedures: 1), Locked(0), Promise<Void>())
      let load = ProcedureTask("load") { (name: String) in
        count { $0 += 1 }
        try await release()
        return "value of \(name)"
      }.coalesced { $0 }
      let handles = ["a", "b", "a"].map { queue.add(load, input: $0) }
      // The queue of width one starts this procedure when all others are waiting.
      queue.add(ProcedureTask("last") { _ = release.finish(returning: ()) })
      var values: [String] = []
      for handle in handles { values.append(try await handle.value) }
      env.check(values == ["value of a", "value of b", "value of a"])
      env.check(count.value == 2, "\(count.value) executions")
      await queue.shutDown()
    }
  }

  @Test("A key path is the function that computes the key from the input, however it is written", arguments: 0..<6)
  func keyPathOfInput(way: Int) async throws {
    struct Photo: Sendable {
      var id: Int
      var name: String
    }
    let path: any KeyPath<Photo, Int> & Sendable = \.id
    let writablePath: any WritableKeyPath<Photo, Int> & Sendable = \.id
    try await exploreSchedules(TestDepth.count(20)) { env in
      let (queue, count, release) = (env.makeQueue(maxConcurrentProcedures: 1), Locked(0), Promise<Void>())
      let task = ProcedureTask("load") { (photo: Photo) in
        count { $0 += 1 }
        try await release()
        return photo.id
      }
      let scope = CoalescingScope()
      let load =
        switch way {
        case 0: task.coalesced(by: \.id)
        case 1: task.coalesced(by: \Photo.id)
        case 2: task.coalesced(by: path, in: scope)
        case 3: task.coalesced(by: writablePath)
        case 4: task.coalesced(in: scope, by: \Photo.id)
        default: task.coalesced(by: \Photo.id, in: scope)
        }
      let inputs = [Photo(id: 1, name: "a"), Photo(id: 2, name: "b"), Photo(id: 1, name: "c")]
      let handles = inputs.map { queue.add(load, input: $0) }
      // The queue of width one starts this procedure when all others are waiting.
      queue.add(ProcedureTask("last") { _ = release.finish(returning: ()) })
      var values: [Int] = []
      for handle in handles { values.append(try await handle.value) }
      env.check(values == [1, 2, 1], "\(values)")
      env.check(count.value == 2, "\(count.value) executions")
      await queue.shutDown()
    }
  }

  @Test("A key path of another type than the input is a constant key")
  func keyPathOfAnotherType() async throws {
    struct Settings: Sendable {
      var theme: String
    }
    try await exploreSchedules(TestDepth.count(20)) { env in
      let (queue, release) = (env.makeQueue(maxConcurrentProcedures: 1), Promise<Void>())
      let load = ProcedureTask("load") { (number: Int) in
        try await release()
        return number
      }.coalesced(by: \Settings.theme)
      let handles = [1, 2].map { queue.add(load, input: $0) }
      queue.add(ProcedureTask("last") { _ = release.finish(returning: ()) })
      let values = [try await handles[0].value, try await handles[1].value]
      env.check(values[0] == values[1], "\(values)")
      await queue.shutDown()
    }
  }

  @Test("A scope shares executions between names and queues, by key and type of value")
  func scope() async throws {
    let (first, second, closed) = (
      ProcedureQueue("first"), ProcedureQueue("second"), ProcedureQueue("closed", isSuspended: true)
    )
    let scope = CoalescingScope()
    let opening = closed.add(ProcedureTask("opening") {})
    let leader = first.add(
      ProcedureTask("leader") {
        try await opening.value
        return "leader"
      }.coalesced(by: "k", in: scope))
    try await eventually { scope.count > 0 }
    #expect(try await second.run(ProcedureTask("number") { 1 }.coalesced(by: "k", in: scope)) == 1)
    #expect(
      try await second.run(ProcedureTask("other") { "other" }.coalesced(by: "k", in: CoalescingScope())) == "other")
    let follower = second.add(ProcedureTask("follower") { "follower" }.coalesced(by: "k", in: scope))
    try await eventually { second.waitsForExecution }
    closed.resume()
    #expect(try await [leader.value, follower.value] == ["leader", "leader"])
    #expect(scope.count == 0)
  }

  @Test("A call without a queue belongs to the queue of the surrounding body")
  func withoutQueue() async throws {
    let (queue, closed) = (ProcedureQueue("q"), ProcedureQueue("closed", isSuspended: true))
    let opening = closed.add(ProcedureTask("opening") {})
    let executions = Locked(0)
    let work = ProcedureTask("work") { () -> Int in
      let number = executions { count -> Int in
        count += 1
        return count
      }
      try await opening.value
      return number
    }.coalesced(by: "k")
    async let outside = work()
    try await eventually { executions.value == 1 }
    let inside = queue.add(ProcedureTask("body") { try await work() })
    try await eventually { executions.value == 2 }
    let follower = queue.add(work)
    try await eventually { queue.waitsForExecution }
    closed.resume()
    #expect(try await [outside, inside.value, follower.value] == [1, 2, 2])
  }

  @Test("Pauses of an execution do not end it: all runs receive one value", arguments: 0..<4)
  func pauses(way: Int) async throws {
    try await exploreSchedules(TestDepth.count(1_000)) { env in
      let queue = env.makeQueue(isSuspended: true)
      let (attempts, ends) = (Locked(0), Locked(0))
      let limiter = RateLimiter(1, per: .seconds(1), clock: env.clock)
      let body = ProcedureTask("token") { () throws -> Int in
        let number = attempts { count -> Int in
          count += 1
          return count
        }
        await pause(env, upTo: 2)
        if way == 0, number % 3 != 0 { throw Reason() }
        return ends { count -> Int in
          count += 1
          return count
        }
      }
      let schedule = Schedule.constant(.milliseconds(5))
      let work =
        switch way {
        case 0: body.retry(schedule).coalesced(by: "k")
        case 1: body.repeating(schedule, maxCount: 3).coalesced(by: "k")
        case 2: body.rateLimited(limiter).map { $0 }.rateLimited(limiter).coalesced(by: "k")
        default:
          body.repeating(schedule, maxCount: 3).exclusive("inner").coalesced(by: "k").map { $0 }.exclusive("outer")
        }
      let handles = (0..<3).map { _ in queue.add(work) }
      queue.resume()
      var values: [Int] = []
      for handle in handles { values.append(try await handle.value) }
      env.check(Set(values).count == 1, "\(values) after \(attempts.value) attempts")
      await queue.shutDown()
      env.check(env.resources.count == 0)
    }
  }

  @Test("An execution that needs itself throws an error that names the cycle", arguments: 0..<5)
  func itself(way: Int) async throws {
    let queue = ProcedureQueue("q")
    let count = Locked(0)
    let box = Locked<[ProcedureTask<Void, Void>]>([])
    @Sendable func call(_ number: Int) -> ProcedureTask<Void, Void> {
      ProcedureTask("\(number)") {
        count { $0 += 1 }
        let next = box.value[(number + 1) % box.value.count]
        switch way {
        case 0: try await next()
        case 1: try await queue.run(next)
        case 2: try await ProcedureContext.current?.produce(next).value
        case 3: try await queue.run(ProcedureGraph("graph") { g in g.add(next) })
        default: try await queue.add(next).value
        }
      }.coalesced(by: "k")
    }
    for size in 1...3 {
      box { $0 = (0..<size).map(call) }
      count { $0 = 0 }
      let error = deadlock(await queue.add(box.value[0]).outcome)
      let expected = Set((0..<size).map { "\($0)" })
      #expect(expected.isSubset(of: names(error)), "\(size): \(String(describing: error))")
      #expect(error?.waits.contains { $0.resource == "the execution of k" } == true)
      #expect(count.value == size, "\(count.value) bodies executed")
    }
  }

  @Test(
    "In a scope, a procedure of any name or queue that needs the surrounding execution throws an error with the cycle")
  func itselfInScope() async throws {
    let (first, second, scope) = (ProcedureQueue("first"), ProcedureQueue("second"), CoalescingScope())
    let inner = ProcedureTask("inner") {}.coalesced(by: "k", in: scope)
    let calls: [@Sendable () async throws -> Void] = [
      { try await inner() }, { try await second.run(inner) }, { try await second.add(inner).value },
      { try await second.run(ProcedureGraph("graph") { g in g.add(inner) }) },
    ]
    for call in calls {
      let outer = ProcedureTask("outer") { try await call() }.coalesced(by: "k", in: scope)
      let error = deadlock(await first.add(outer).outcome)
      #expect(Set(["outer", "inner"]).isSubset(of: names(error)), "\(String(describing: error))")
      #expect(scope.count == 0)
    }
  }

  @Test("A procedure that coalesces twice by one key throws an error that names it")
  func twice() async throws {
    let queue = ProcedureQueue("q")
    let layers = ProcedureTask("x") {}.coalesced(by: "k").map { $0 }
    for task in [layers.coalesced(by: "k"), layers.exclusive("e").coalesced(by: "k").map { $0 }] {
      for handle in [queue.add(task), queue.add(task)] {
        let error = deadlock(await handle.outcome)
        #expect(names(error) == ["x"], "\(String(describing: error))")
      }
    }
  }

  @Test(
    "Two parts of one procedure with one key do not share an execution: those of a fallback, and those of `then`",
    arguments: 0..<2)
  func parts(way: Int) async throws {
    try await exploreSchedules(TestDepth.count(500)) { env in
      let queue = env.makeQueue()
      let second = ProcedureTask("second") { () -> Int in
        await pause(env, upTo: 3)
        return 2
      }.coalesced(by: "k")
      let first = ProcedureTask("first") { () throws -> Int in
        await pause(env, upTo: 3)
        if way == 0 { throw Reason() }
        return 1
      }.coalesced(by: "k")
      let work = way == 0 ? first.fallback(to: second) : first.map { _ in }.then(second)
      for handle in (0..<3).map({ _ in queue.add(work) }) {
        let value = try await handle.value
        env.check(value == 2, "\(value)")
      }
      await queue.shutDown()
    }
  }

  @Test("A run that times out does not end the execution for the others, whether it leads or follows")
  func timeouts() async throws {
    try await exploreRace("the leader", "a follower", schedules: TestDepth.count(1_000)) { env in
      let queue = env.makeQueue(isSuspended: true)
      let starts = Locked(0)
      let work = ProcedureTask("work") { () throws -> Int in
        let start = starts { count -> Int in
          count += 1
          return count
        }
        try await env.clock.sleep(for: .milliseconds(10))
        return start
      }.coalesced(by: "k")
      let leads = env.random.below(2) == 0
      let first = queue.add(leads ? work.timeout(.milliseconds(5)) : work)
      let second = queue.add(leads ? work : work.timeout(.milliseconds(5)))
      let (impatient, patient) = (
        leads ? first : second, [leads ? second : first, queue.add(work.timeout(.seconds(1)).map { $0 })]
      )
      queue.resume()
      var values: [Int] = []
      for handle in patient { values.append(try await handle.value) }
      let error = await impatient.outcome.error(as: ProcedureError.self)
      env.check(error?.kind == .timedOut, "\(String(describing: error))")
      env.check(Set(values).count == 1 && values[0] == starts.value, "\(values) of \(starts.value)")
      env.tally(starts.value == 2 ? "the leader" : "a follower")
      await queue.shutDown()
      env.check(env.resources.count == 0)
    }
  }

  @Test("The failure of a produced child is the error of all runs")
  func failingChild() async throws {
    let (queue, closed) = (ProcedureQueue("q"), ProcedureQueue("closed", isSuspended: true))
    let opening = closed.add(ProcedureTask("opening") {})
    let executions = Locked(0)
    let work = ProcedureTask("work") {
      executions { $0 += 1 }
      try await opening.value
      ProcedureContext.current?.produce(ProcedureTask("child") { throw Reason() })
    }.coalesced(by: "k")
    let first = queue.add(work)
    try await eventually { executions.value > 0 }
    let others = [queue.add(work), queue.add(work)]
    try await eventually {
      queue.snapshot().procedures.count { if case .resources? = $0.wait { true } else { false } } == 2
    }
    closed.resume()
    for handle in [first] + others { #expect(await handle.outcome.error(as: Reason.self) != nil) }
    #expect(executions.value == 1)
  }

  @Test("Two executions that need each other: one is refused, and all runs end")
  func eachOther() async throws {
    try await exploreRace("0 waits first", "1 waits first", schedules: TestDepth.count(1_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1 + env.random.below(2))
      let (box, order) = (Locked<[ProcedureTask<Void, Void>]>([]), Locked<[Int]>([]))
      box {
        $0 = (0..<2).map { number in
          ProcedureTask("\(number)") {
            await pause(env, upTo: 3)
            order { $0.append(number) }
            try await queue.run(box.value[1 - number])
          }.coalesced(by: "k")
        }
      }
      for handle in (0..<4).map({ queue.add(box.value[$0 % 2]) }) {
        let outcome = await handle.outcome
        env.check(names(deadlock(outcome)) == ["0", "1"], "\(outcome)")
      }
      env.tally("\(order.value[0]) waits first")
      await queue.shutDown()
    }
  }

  @Test("A follower holds nothing that the leader reacquires, even in copies of one run", arguments: 0..<4)
  func copies(way: Int) async throws {
    try await exploreSchedules(TestDepth.count(1_000)) { env in
      let queue = env.makeQueue(isSuspended: true)
      let starts = Locked(0)
      let body = ProcedureTask("x") {
        starts { $0 += 1 }
        await pause(env, upTo: 2)
      }
      let schedule = Schedule.constant(.microseconds(20))
      let x =
        switch way {
        case 0, 1: body.repeating(schedule, maxCount: 2).exclusive("e").delay(.microseconds(10)).coalesced(by: "k")
        case 2: body.repeating(schedule, maxCount: 2).coalesced(by: "k").map { $0 }.exclusive("e")
        default: body.repeating(schedule, maxCount: 2).exclusive("e").coalesced(by: "k").map { $0 }.exclusive("f")
        }
      let outer = ProcedureTask("outer") { try await x() }.hedged(after: way == 1 ? .microseconds(15) : .zero)
      let handles = (0..<2).map { _ in queue.add(outer) } + [queue.add(x)]
      queue.resume()
      for handle in handles { try await handle.value }
      // Both starts are those of one execution.
      env.check(starts.value == 2, "\(starts.value) starts")
      await queue.shutDown()
      env.check(env.resources.count == 0)
    }
  }

  @Test(
    "With copies, pauses, resources and cancellations, each run has a value or is cancelled, and nothing stays held",
    arguments: 0..<6)
  func hedgedAndCancelled(way: Int) async throws {
    try await exploreRace("finished", "cancelled", schedules: TestDepth.count(600)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1 + env.random.below(3))
      let monitor = ConcurrencyMonitor()
      let schedule = Schedule.constant(.microseconds(20))
      let body = ProcedureTask("x") { await monitor.during("x") { await pause(env, upTo: 2) } }
      let repeated = body.repeating(schedule, maxCount: 2)
      let work =
        switch way {
        case 0: repeated.exclusive("e").coalesced(by: "k").hedged(after: .microseconds(10))
        case 1: repeated.exclusive("e").coalesced(by: "k").hedged(after: .zero).map { $0 }.exclusive("f")
        case 2: repeated.exclusive("e").hedged(after: .zero).coalesced(by: "k").map { $0 }.exclusive("f")
        case 3: repeated.coalesced(by: "k").map { $0 }.exclusive("e").hedged(after: .microseconds(30)).map { $0 }
        case 4: repeated.exclusive("e").coalesced(by: "k").hedged(after: .zero).coalesced(by: "outer")
        default:
          body.exclusive("e").hedged(after: .zero).repeating(schedule, maxCount: 2).exclusive("f").coalesced(by: "k")
        }
      let handles = (0..<3).map { _ in queue.add(work) }
      let other = queue.add(body.exclusive("e", "f"))
      if env.random.below(2) == 0 { await env.wait(until: .microseconds(env.random.below(60))) }
      await pause(env, upTo: 12)
      let victim = handles[env.random.below(3)]
      victim.cancel()
      for handle in handles {
        let outcome = await handle.outcome
        env.check(outcome.isFinished || handle == victim && outcome.isCancelled, "\(outcome)")
      }
      env.tally(await victim.outcome.label)
      try await other.value
      env.check(monitor.most(in: "x") == 1, "\(monitor.most(in: "x")) together")
      await queue.shutDown()
      env.check(env.resources.count == 0, "\(env.resources.count) are held")
    }
  }

  @Test("Q7: a run that takes over an execution has the highest priority among the runs that are waiting for it")
  func priorityOfNextLeader() async throws {
    let (queue, closed) = (ProcedureQueue("q", maxConcurrentProcedures: 1), ProcedureQueue("closed", isSuspended: true))
    // A suspended queue without a reference resumes.
    defer { withExtendedLifetime(closed) {} }
    let opening = closed.add(ProcedureTask("opening") {})
    let (order, executions) = (Locked<[String]>([]), Locked(0))
    let (permission, mayProduce) = AsyncStream.makeStream(of: Void.self)
    let work = ProcedureTask("work") {
      let isFirst = executions { count in
        count += 1
        return count == 1
      }
      if isFirst { return try await opening.value }
      for await _ in permission {}
      try await ProcedureContext.current!.produce(ProcedureTask("part") { order { $0.append("part") } }).value
    }.coalesced(by: "k")
    // Each run waits in its place before the next one is added, because a run that is waiting for its slot could be overtaken.
    func isFollowing(_ handle: ProcedureHandle<Void>) -> Bool {
      let entry = queue.snapshot().procedures.first { $0.procedure == handle.identity }
      if case .resources? = entry?.wait { return true }
      return false
    }
    let first = queue.add(work.priority(.low))
    try await eventually { queue.snapshot().procedures.first?.wait == .procedures([opening.identity]) }
    let low = queue.add(work.priority(.low))
    try await eventually { isFollowing(low) }
    let high = queue.add(work.priority(.high))
    try await eventually { isFollowing(high) }
    first.cancel()
    _ = await first.outcome
    try await eventually { executions.value == 2 }
    // The next run now has the only slot, and releases it for its child.
    let others = (0..<3).map { number in
      queue.add(ProcedureTask("other", priority: .medium) { order { $0.append("other \(number)") } })
    }
    mayProduce.finish()
    try await low.value
    try await high.value
    for other in others { try await other.value }
    #expect(order.value == ["part", "other 0", "other 1", "other 2"])
    opening.cancel()
  }

  @Test("The next run takes over the execution of a cancelled run, even during a pause")
  func takesOver() async throws {
    try await exploreRace("executing", "pausing", schedules: TestDepth.count(1_000)) { env in
      let queue = env.makeQueue(isSuspended: true)
      let starts = Locked(0)
      let work = ProcedureTask("work") { () -> Int in
        await pause(env, upTo: 2)
        return starts { count -> Int in
          count += 1
          return count
        }
      }.repeating(.constant(.milliseconds(1)), maxCount: 2).coalesced(by: "k").map { $0 }.exclusive("e")
      let handles = (0..<4).map { _ in queue.add(work) }
      queue.resume()
      await pause(env, upTo: 12)
      let state = handles[0].state
      env.tally("\(state)")
      for handle in [handles[0], handles[2]] { handle.cancel() }
      let values = try await [handles[1].value, handles[3].value]
      env.check(values == [3, 3] || state != .pausing && values == [2, 2], "\(values), cancelled when \(state)")
      for handle in [handles[0], handles[2]] { env.check(await handle.outcome.isCancelled) }
      await queue.shutDown()
      env.check(env.resources.count == 0)
    }
  }

  @Test("A coalesced run among ten times as many costs about as much, in one group and in groups of 100")
  func linear() async throws {
    /// Returns the processor time per run.
    func cost(runs: Int, groups: Int) async throws -> Duration {
      let executor = MeteredExecutor()
      let (queue, closed) = (ProcedureQueue("q", executor: executor), ProcedureQueue("closed", isSuspended: true))
      let opening = closed.add(ProcedureTask("opening") {})
      let (starts, executions) = (Locked(0), Locked(0))
      let work = ProcedureTask("work") {
        executions { $0 += 1 }
        try await opening.value
      }
      let handles = (0..<runs).map { number in
        queue.add(work.coalesced(by: number % groups).onWillExecute { starts { $0 += 1 } })
      }
      // Each leader waits until all runs, except possibly the last, follow.
      try await eventually { starts.value == runs }
      closed.resume()
      for handle in handles { try await handle.value }
      await queue.shutDown()
      #expect((groups...groups + 1).contains(executions.value))
      return executor.processorTime / runs
    }
    let runs = TestDepth.isAtLeastGate ? 4_000 : 200
    for isOneGroup in [true, false] {
      let small = try await cost(runs: runs, groups: isOneGroup ? 1 : runs / 100)
      let large = try await cost(runs: 10 * runs, groups: isOneGroup ? 1 : runs / 10)
      #expect(large < small * 4, "\(small) and \(large) for each run")
    }
  }
}
