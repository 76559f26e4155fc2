import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite("Rules R1 to R4 under every order: resources", .timeLimit(.atDepth))
struct ResourceRuleTests {
  /// Returns a procedure that enters and leaves `monitor`, with a few yields in between.
  private func work(
    _ env: ExplorationEnvironment, _ monitor: ConcurrencyMonitor, _ categories: String..., named name: String = "work"
  ) -> ProcedureTask<Void, Void> {
    ProcedureTask(name) {
      monitor.enter(categories)
      await pause(env, upTo: 3)
      monitor.leave(categories)
    }
  }

  @Test("R1: procedures of one category execute one at a time, however they are started and on any queue")
  func exclusive() async throws {
    try await exploreRace("by one queue", "by the other", schedules: TestDepth.count(2_000)) { env in
      let queues = [
        env.makeQueue(maxConcurrentProcedures: 3), env.makeQueue(),
      ]
      let monitor = ConcurrencyMonitor()
      let order = Locked<[Int]>([])
      let exclusive = { @Sendable (number: Int) in
        work(env, monitor, named: "\(number)").map { order { $0.append(number) } }.exclusive("a")
      }
      let handles = (0..<4).map { queues[$0 % 2].add(exclusive($0)) }
      async let ran: Void = queues[0].run(exclusive(4))
      async let inside: Void = queues[1].run(ProcedureTask { try await exclusive(5).execute() })
      _ = try await (ran, inside)
      for handle in handles { try await handle.value }
      env.check(order.value.count == 6)
      env.tally(order.value.last.map { $0 % 2 } == 0 ? "by one queue" : "by the other")
      for queue in queues { await queue.shutDown() }
      env.check(monitor.most == 1, "\(monitor.most) at once")
      env.check(env.resources.count == 0, "\(env.resources.count) keys are left")
    }
  }

  @Test("R1: readers share, and a writer is alone and is not overtaken by later readers")
  func readersAndWriters() async throws {
    try await exploreRace("readers together", "readers apart", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue()
      let (readers, writers) = (ConcurrencyMonitor(), ConcurrencyMonitor())
      let order = Locked<[String]>([])
      let read = { @Sendable (name: String) in
        ProcedureTask(name) {
          readers.enter()
          order { $0.append(name) }
          env.check(writers.current == 0, "a reader beside a writer")
          await pause(env, upTo: 3)
          readers.leave()
        }.shared("a")
      }
      let write = ProcedureTask("write") {
        writers.enter()
        order { $0.append("write") }
        env.check(writers.current == 1 && readers.current == 0, "a writer beside others")
        await pause(env, upTo: 3)
        writers.leave()
      }.exclusive("a")
      let first = queue.add(read("r1"))
      let second = queue.add(write)
      let handles = [first, second, queue.add(read("r2")), queue.add(read("r3")), queue.add(write)]
      for handle in handles { try await handle.value }
      env.check(Set(order.value.prefix(2)) == ["r1", "write"], "\(order.value)")
      env.tally(readers.most > 1 ? "readers together" : "readers apart")
      await queue.shutDown()
    }
  }

  @Test("R1, Q1: all readers that waited for a writer execute concurrently if there are slots")
  func readersAfterWriter() async throws {
    try await exploreSchedules(TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 4)
      let (written, allCame, come) = (AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream(), Locked(0))
      // Each body continues only when all have arrived, and none releases its slot in the meantime.
      let meet = ProcedureTask {
        if come({
          $0 += 1
          return $0
        }) == 3 {
          allCame.continuation.finish()
        }
        for await _ in allCame.stream {}
      }
      let writer = queue.add(ProcedureTask { for await _ in written.stream {} }.exclusive("a"))
      let readers = (0..<3).map { _ in queue.add(meet.shared("a")) }
      await pause(env)
      written.continuation.finish()
      for handle in [writer] + readers { try await handle.value }
      await queue.shutDown()
    }
  }

  @Test(
    "R1: all resources of a level are acquired together, so the order in which they are named cannot cause a deadlock")
  func together() async throws {
    try await exploreRace("apart", "together", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue()
      let monitor = ConcurrencyMonitor()
      let handles = [
        queue.add(work(env, monitor, "a", "b").exclusive("a", "b")),
        queue.add(work(env, monitor, "b", "a").exclusive("b").exclusive("a")),
        queue.add(work(env, monitor, "c").exclusive("c")),
        queue.add(work(env, monitor, "a", "c").exclusive("c", "a")),
        queue.add(work(env, monitor, "b").exclusive("b")),
      ]
      for handle in handles { try await handle.value }
      for category in ["a", "b", "c"] { env.check(monitor.most(in: category) == 1, category) }
      env.tally(monitor.most > 1 ? "together" : "apart")
      await queue.shutDown()
    }
  }

  @Test("R1: a resource is never used beyond its units, and large claims are not overtaken forever")
  func units() async throws {
    try await exploreRace("1 beside 3", "3 alone", schedules: TestDepth.count(2_000)) { env in
      let gpu = Resource("gpu", capacity: 4)
      let queue = env.makeQueue()
      let (used, isBeside) = (Locked((now: 0, most: 0)), Locked(false))
      let order = Locked<[Int]>([])
      let handles = [1, 2, 4, 1, 3, 2].map { units in
        queue.add(
          ProcedureTask {
            order { $0.append(units) }
            used { ($0.now, $0.most) = ($0.now + units, max($0.most, $0.now + units)) }
            if units == 3 { isBeside { [used = used.value.now] in $0 = used == 4 } }
            env.check(used.value.now <= 4, "\(used.value.now) units are used")
            await pause(env, upTo: 3)
            used { $0.now -= units }
          }.uses(gpu, units: units))
      }
      for handle in handles { try await handle.value }
      // Nothing overtook the largest claim.
      env.check(order.value.firstIndex(of: 4) == 2, "\(order.value)")
      env.tally(isBeside.value ? "1 beside 3" : "3 alone")
      await queue.shutDown()
      env.check(env.resources.count == 0)
    }
  }

  @Test("R3: a cancelled waiter affects no other run, and a suspended one does not affect the holder")
  func cancelledWaiter() async throws {
    try await exploreRace(
      "first cancelled", "first finished", "second cancelled", "second finished", schedules: TestDepth.count(2_000)
    ) { env in
      let queue = env.makeQueue()
      let other = env.makeQueue(isSuspended: env.random.below(2) == 0)
      let monitor = ConcurrencyMonitor()
      let holder = queue.add(work(env, monitor, named: "holder").exclusive("a"))
      let waiters = (0..<3).map {
        (env.random.below(2) == 0 ? queue : other).add(work(env, monitor, named: "\($0)").exclusive("a"))
      }
      let last = queue.add(work(env, monitor, named: "last").exclusive("a"))
      await pause(env)
      waiters[1].cancel()
      await pause(env)
      other.suspend()
      await pause(env)
      waiters[0].cancel()
      other.resume()
      try await holder.value
      try await last.value
      try await waiters[2].value
      env.tally("first \(await waiters[0].outcome.label)")
      env.tally("second \(await waiters[1].outcome.label)")
      env.check(monitor.most == 1, "two held it")
      await queue.shutDown()
      await other.shutDown()
      env.check(env.resources.count == 0, "\(env.resources.count) keys are left")
    }
  }

  @Test("R3: cancelled runs release their claims and withdraw their requests, even in the caller's task")
  func cancelledRuns() async throws {
    try await exploreRace("cancelled", "finished", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 2)
      let monitor = ConcurrencyMonitor()
      let labels = await withTaskGroup(of: String.self) { group in
        for number in 0..<4 {
          group.addTask {
            do {
              let procedure = work(env, monitor, "a", named: "\(number)").exclusive("a")
              if number == 3 {
                try await queue.run(ProcedureTask("outer") { try await procedure.execute() })
              } else {
                try await queue.run(procedure)
              }
              return "finished"
            } catch {
              env.check(error is CancellationError, "\(error)")
              return "cancelled"
            }
          }
        }
        group.addTask {
          await pause(env)
          queue.cancelAll()
          return "all"
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      for label in labels { env.tally(label) }
      env.check(monitor.most(in: "a") == 1)
      try await queue.run(work(env, monitor, "a").exclusive("a"))
      await queue.shutDown()
      env.check(env.resources.count == 0)
    }
  }

  @Test("R4: a graph and its nodes of one category finish, without overlaps among the nodes or with an outsider")
  func nested() async throws {
    try await exploreRace("one first", "two first", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 2)
      let monitor = ConcurrencyMonitor()
      let order = Locked<[String]>([])
      let child = { @Sendable (name: String) in
        work(env, monitor, "a", named: name).map { order { $0.append(name) } }.exclusive("a")
      }
      let group = ProcedureGraph("group", returning: Void.self) { g in
        let (one, two) = (g.add(child("one")), g.add(child("two")))
        g.add("both", from: one, two) { _, _ in try await queue.run(child("inner")) }
      }
      let outsider = queue.add(child("outsider"))
      let handle = queue.add(group.exclusive("a"))
      let late = queue.add(child("late"))
      for handle in [outsider, handle, late] { try await handle.value }
      env.check(monitor.most(in: "a") == 1, "\(order.value)")
      let isOneFirst = order.value.dropFirst().first == "one"
      let nodes = isOneFirst ? ["one", "two"] : ["two", "one"]
      env.check(order.value == ["outsider"] + nodes + ["inner", "late"], "\(order.value)")
      env.tally(isOneFirst ? "one first" : "two first")
      await queue.shutDown()
      env.check(env.resources.count == 0)
    }
  }

  @Test("R4: of two runs that each hold the resource that the other needs next, one is refused, and both end")
  func circle() async throws {
    try await exploreRace("both finished", "one refused", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue()
      let nested = { @Sendable (outer: String, inner: String) in
        ProcedureTask("\(outer) then \(inner)") {
          await pause(env, upTo: 2)
          try await queue.run(ProcedureTask(inner) { await pause(env, upTo: 2) }.exclusive(inner))
        }.exclusive(outer)
      }
      let first = queue.add(nested("a", "b"))
      // A run holds its resources as soon as it lacks only a slot.
      await pause(env, upTo: 12)
      var refused = 0
      for handle in [first, queue.add(nested("b", "a"))] {
        if let error = await handle.outcome.error(as: ProcedureError.self) {
          env.check(error.kind == .exclusionDeadlock, "\(error)")
          env.check(error.waits.count == 2 && Set(error.waits.map(\.resource)) == ["a", "b"], "\(error)")
          refused += 1
        }
      }
      env.check(refused <= 1, "both were refused")
      env.tally(refused == 0 ? "both finished" : "one refused")
      await queue.shutDown()
      env.check(env.resources.count == 0)
    }
  }

  @Test("R4: a cycle is found through awaited runs that hold resources themselves")
  func circleThroughHoldersThatWait() async throws {
    try await exploreSchedules(TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let inner = ProcedureTask("inner") { await pause(env, upTo: 2) }.exclusive("a")
      let middle = ProcedureTask("middle") { try await queue.add(inner).value }.exclusive("b")
      let outer = ProcedureTask("outer") { try await queue.add(middle).value }.exclusive("a")
      let error = await queue.add(outer).outcome.error(as: ProcedureError.self)
      env.check(error?.kind == .exclusionDeadlock, "\(String(describing: error))")
      await queue.shutDown()
      env.check(env.resources.count == 0)
    }
  }

  @Test("A dependent and its dependency of one category, added in the wrong order, both finish")
  func dependencyOfOneCategory() async throws {
    try await exploreSchedules(TestDepth.count(2_000)) { env in
      let queue = env.makeQueue()
      queue.suspend()
      let monitor = ConcurrencyMonitor()
      let first = env.makeQueue(isSuspended: true)
      let dependency = first.add(work(env, monitor).exclusive("a"))
      let dependent = queue.add(work(env, monitor).exclusive("a"), after: [dependency])
      queue.resume()
      await pause(env)
      first.resume()
      try await dependent.value
      env.check(monitor.most == 1)
      await queue.shutDown()
      await first.shutDown()
    }
  }

  @Test("L4: when `didFinish` is published, the resources of the procedure are free")
  func freeWhenFinished() async throws {
    try await exploreSchedules(TestDepth.count(2_000)) { env in
      let queue = env.makeQueue()
      let events = queue.events
      let handle = queue.add(work(env, ConcurrencyMonitor()).exclusive("a"))
      for await event in events {
        if event.kind == .didFinish { break }
      }
      env.check(env.resources.count == 0)
      env.check(handle.state == .finished)
      await queue.shutDown()
    }
  }

  @Test(
    "R1, Q1: a call that gets its resource while an added procedure waits for the only slot starts before the procedure",
    arguments: ["earlier", "urgent"], ["a caller", "a worker"])
  func callBesideAdded(_ reason: String, _ executor: String) async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1, resources: ResourceTable())
    let (holding, order) = (ProbeProcedure("holding"), Box<[String]>([]))
    let waiting = ProcedureTask("waiting") { order.update { $0.append("call") } }.exclusive("a")
    async let first: Void =
      executor == "a caller" ? queue.run(holding.exclusive("a")) : queue.add(holding.exclusive("a")).value
    try await holding.waitUntilStarted()
    let addsFirst = reason == "urgent"
    if addsFirst { queue.add(ProcedureTask("added") { order.update { $0.append("added") } }) }
    async let second: Void = queue.run(addsFirst ? waiting.priority(.userInitiated) : waiting.priority(.low))
    try await eventually { queue.snapshot().procedures.count == (addsFirst ? 3 : 2) }
    if !addsFirst { queue.add(ProcedureTask("added") { order.update { $0.append("added") } }.priority(.low)) }
    holding.finish()
    try await eventually { order.value.count == 2 }
    #expect(order.value == ["call", "added"])
    _ = try await (first, second)
  }
}

@Suite("Rule R4 under every order: cycles through runs that bodies wait for", .timeLimit(.atDepth))
struct ExclusionCircleTests {
  private func outcome(of handle: ProcedureHandle<Void>, _ env: ExplorationEnvironment) async {
    if let error = await handle.outcome.error(as: ProcedureError.self) {
      env.check([.exclusionDeadlock, .dependencyFailed].contains(error.kind), "\(error)")
      env.tally("refused")
    } else {
      env.tally("finished")
    }
  }

  @Test("R4: a cycle is found if a body waits for an added run that needs a resource of the body")
  func addedRun() async throws {
    try await exploreSchedules(TestDepth.count(2_000)) { env in
      let queue = env.makeQueue()
      let holder = queue.add(
        ProcedureTask("holder") {
          await pause(env, upTo: 3)
          try await queue.add(ProcedureTask("added") {}.exclusive("a")).value
        }.exclusive("a"))
      let error = await holder.outcome.error(as: ProcedureError.self)
      env.check(error?.kind == .exclusionDeadlock, "\(String(describing: error))")
      await queue.shutDown()
      env.check(env.resources.count == 0)
    }
  }

  @Test("R4: a cycle is found through a dependency of the added run, which was added first")
  func dependency() async throws {
    try await exploreRace("refused", "finished", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue()
      // If the queue were not suspended, the first run would claim its resource when it is added.
      queue.suspend()
      let first = queue.add(ProcedureTask("first") { await pause(env, upTo: 3) }.exclusive("a"))
      let second = queue.add(ProcedureTask("second") {}, after: [first])
      let holder = queue.add(
        ProcedureTask("holder") {
          await pause(env, upTo: 3)
          try await second.value
        }.exclusive("a").priority(env.random.below(2) == 0 ? .high : .low))
      queue.resume()
      await outcome(of: holder, env)
      await queue.shutDown()
      env.check(env.resources.count == 0)
    }
  }

  @Test("R4: a cycle is found through bodies that hold nothing and wait for each other, in any order")
  func chainOfWaits() async throws {
    try await exploreRace("refused", "finished", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue()
      let last = queue.add(
        ProcedureTask("last") {
          await pause(env, upTo: 3)
          try await queue.run(ProcedureTask("inside") { await pause(env, upTo: 2) }.exclusive("a"))
        })
      let middle = queue.add(
        ProcedureTask("middle") {
          await pause(env, upTo: 3)
          try await last.value
        })
      // Without this pause, the holder would always hold the resource that the last run needs.
      await pause(env, upTo: 12)
      let holder = queue.add(
        ProcedureTask("holder") {
          await pause(env, upTo: 3)
          try await middle.value
        }.exclusive("a"))
      await outcome(of: holder, env)
      await queue.shutDown()
      env.check(env.resources.count == 0)
    }
  }
}
