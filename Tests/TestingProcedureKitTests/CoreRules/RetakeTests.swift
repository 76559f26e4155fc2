import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite("Rule R1: what the levels of a procedure release in a pause", .timeLimit(.atDepth))
struct RetakeTests {
  @Test(
    "Levels that pause inside and around each other retake all their resources together, and do not deadlock",
    arguments: 0..<5)
  func nested(way: Int) async throws {
    try await exploreRace("finished", schedules: TestDepth.count(1_000)) { env in
      let queue = env.makeQueue(isSuspended: true)
      let monitor = ConcurrencyMonitor()
      let pace = Schedule.constant(.microseconds(20))
      let x = ProcedureTask("x") {
        monitor.enter()
        await pause(env, upTo: 1)
        monitor.leave()
      }
      let resource = Resource("r", capacity: 3)
      let work =
        switch way {
        case 0: x.repeating(pace, maxCount: 3).exclusive("b").repeating(pace, maxCount: 2).exclusive("c")
        case 1:
          x.repeating(pace, maxCount: 3).exclusive("b").map { $0 }.exclusive("c").repeating(pace, maxCount: 2)
            .exclusive("d", "a")
        case 2: x.repeating(pace, maxCount: 3).shared("b").map { $0 }.exclusive("b").map { $0 }.exclusive("a")
        case 3:
          x.exclusive("b").repeating(pace, maxCount: 3).uses(resource, units: 3).map { $0 }.uses(resource, units: 2)
        default:
          x.rateLimited(RateLimiter(1, per: .microseconds(50), clock: env.clock)).exclusive("b").map { $0 }.exclusive(
            "c")
        }
      let handles = (0..<3).map { _ in queue.add(work) }
      await queue.resume()
      for handle in handles { try await handle.value }
      env.check(monitor.most == 1, "\(monitor.most) bodies together")
      env.tally("finished")
      await queue.shutDown()
      env.check(env.resources.count == 0, "\(env.resources.count) are held")
    }
  }

  @Test(
    "A pause of an inner level releases the resources of all levels, and other procedures have them in the meantime")
  func releasesAll() async throws {
    try await exploreRace("finished", schedules: TestDepth.count(500)) { env in
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
      env.tally("finished")
      await queue.shutDown()
      env.check(env.resources.count == 0)
    }
  }

  @Test("A run that is cancelled, or whose deadlock is found, while it retakes leaves nothing behind")
  func cancelled() async throws {
    try await exploreRace("finished", "cancelled", schedules: TestDepth.count(1_000)) { env in
      let queue = env.makeQueue(isSuspended: true)
      let pace = Schedule.constant(.microseconds(20))
      let work = ProcedureTask("x") { await pause(env, upTo: 1) }
        .repeating(pace, maxCount: 3).exclusive("b").repeating(pace, maxCount: 2).exclusive("c")
      let handles = (0..<3).map { _ in queue.add(work) }
      await queue.resume()
      await pause(env, upTo: 20)
      handles[1].cancel()
      for handle in handles { env.tally(await handle.outcome.isCancelled ? "cancelled" : "finished") }
      env.check(await handles[0].outcome.isFinished)
      await queue.shutDown()
      env.check(env.resources.count == 0, "\(env.resources.count) are held")
    }
  }

  @Test("R4: a run that retakes stands in wait cycles: with an awaited procedure, and in two copies of one run")
  func cycles() async throws {
    try await exploreRace("refused", schedules: TestDepth.count(1_000)) { env in
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
      env.check(await holder.outcome.isFailed)
      env.tally("refused")
      for queue in [queue, probe] { await queue.shutDown() }
      env.check(env.resources.count == 0)
    }
  }
}
