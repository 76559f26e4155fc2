import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

/// A capability of one schedule. Its type counts the concurrent prompts.
private final class Lock: Capability {
  struct Status: AuthorizationStatus {
    var level: Int
    func meets(_ requirement: Int) -> Bool { level >= requirement }
  }

  let name = "lock"
  let monitor = ConcurrencyMonitor()
  private let level = Locked(0)
  private let asked = Locked(0)
  private let ask: @Sendable (Int) async throws -> Int

  /// - Parameter ask: A function that returns the granted amount.
  init(ask: @escaping @Sendable (Int) async throws -> Int) {
    self.ask = ask
  }

  var requestCount: Int { asked.value }

  func isAvailable() async -> Bool { true }

  func authorizationStatus() async -> Status { Status(level: level.value) }

  func requestAuthorization(_ requirement: Int) async throws {
    asked { $0 += 1 }
    monitor.enter()
    defer { monitor.leave() }
    let answer = try await ask(requirement)
    level { $0 = max($0, answer) }
  }
}

/// Each exploration has its own table and capabilities. Prompts, however, are serialized in the whole process, so these explorations run
/// one at a time.
@Suite("Capabilities under every order", .serialized, .timeLimit(.atDepth))
struct CapabilityRuleTests {
  private enum Category {}

  @Test("Concurrent requests for one capability share one prompt and its answer")
  func oneAsk() async throws {
    try await exploreRace("granted", "refused", "asked once", "asked again", schedules: TestDepth.count(2_000)) { env in
      let queues = [env.makeQueue(maxConcurrentProcedures: 1), env.makeQueue()]
      let grants = env.random.below(2) == 0
      let lock = Lock { _ in
        await pause(env, upTo: 12)
        return grants ? 1 : 0
      }
      let handles = (0..<4).map { number in
        queues[number % 2].add(
          number < 2 ? Authorize(lock, 1).map { _ in } : ProcedureTask {}.condition(.authorized(for: lock, 1)))
      }
      for handle in handles {
        let outcome = await handle.outcome
        env.check(outcome.label == (grants ? "finished" : "failed"), "\(outcome)")
        env.check(grants || [.capabilityUnauthorized, .conditionFailed].contains(outcome.procedureError?.kind))
      }
      env.check(lock.monitor.most == 1, "\(lock.monitor.most) at once")
      env.check(!grants || lock.requestCount == 1, "\(lock.requestCount) requests although it was granted")
      env.tally(grants ? "granted" : "refused")
      env.tally(lock.requestCount == 1 ? "asked once" : "asked again")
      for queue in queues { await queue.shutDown() }
    }
  }

  @Test("A request that arrives during a prompt does not prompt again, regardless of the answer")
  func joining() async throws {
    try await exploreRace("granted", "refused", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue()
      let grants = env.random.below(2) == 0
      let everybody = ProbeProcedure()
      everybody.finishAll()
      let lock = Lock { _ in
        // All requests have arrived: each has checked the status once, and the prompting request has checked it again in its turn.
        try await everybody.waitUntilStarted(4)
        await pause(env)
        return grants ? 1 : 0
      }
      let counted = Counted(lock: lock, looks: everybody)
      let handles = (0..<3).map { _ in queue.add(Authorize(counted, 1)) }
      for handle in handles {
        let outcome = await handle.outcome
        env.check(outcome.isFinished == grants, "\(outcome)")
      }
      env.check(lock.requestCount == 1, "\(lock.requestCount) requests")
      env.tally(grants ? "granted" : "refused")
      await queue.shutDown()
    }
  }

  /// A capability that records which requests have checked the status, and have therefore started a prompt.
  private struct Counted: Capability, Equatable {
    let lock: Lock
    let looks: ProbeProcedure<Void, Void>

    static func == (one: Counted, other: Counted) -> Bool { one.lock === other.lock }

    func isAvailable() async -> Bool { true }

    func authorizationStatus() async throws -> Lock.Status {
      try await looks.execute()
      return await lock.authorizationStatus()
    }

    func requestAuthorization(_ requirement: Int) async throws { try await lock.requestAuthorization(requirement) }
  }

  @Test("A request for more than was granted prompts in turn; a request for less does not prompt")
  func moreThanGranted() async throws {
    try await exploreRace("1 asked", "2 asked", "3 asked", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 2)
      let lock = Lock { needed in
        await pause(env, upTo: 6)
        return needed
      }
      let handles = [1, 3, 2].map { needed in
        queue.add(
          ProcedureTask {
            await pause(env, upTo: 3)
            _ = try await Authorize(lock, needed).execute()
          })
      }
      for handle in handles { env.check(await handle.outcome.isFinished) }
      env.check(lock.monitor.most == 1, "\(lock.monitor.most) at once")
      env.tally("\(lock.requestCount) asked")
      await queue.shutDown()
    }
  }

  @Test("Q3: a prompt holds no slot, so a queue of width one continues during a prompt")
  func noSlot() async throws {
    try await exploreRace("condition asked", "procedure asked", "body asked", schedules: TestDepth.count(2_000)) {
      env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let others = ProbeProcedure()
      others.finishAll()
      let asking = env.random.below(3)
      let lock = Lock { _ in
        // The prompt is answered after the others have executed in the only slot.
        try await others.waitUntilStarted(3)
        return 1
      }
      let handle =
        switch asking {
        case 0: queue.add(ProcedureTask {}.condition(.authorized(for: lock, 1)))
        case 1: queue.add(Authorize(lock, 1).map { _ in })
        default: queue.add(ProcedureTask { _ = try await queue.run(Authorize(lock, 1)) }.exclusive("a"))
        }
      for _ in 0..<3 { queue.add(others) }
      env.check(await handle.outcome.isFinished)
      env.check(lock.requestCount == 1)
      env.tally(["condition asked", "procedure asked", "body asked"][asking])
      await queue.shutDown()
      env.check(env.resources.count == 0)
    }
  }

  @Test("R4: a prompt cannot deadlock with the procedure that waits for it, even if both claim the same category")
  func exclusivePrompt() async throws {
    try await exploreRace("condition", "procedure", "body", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let monitor = ConcurrencyMonitor()
      let asking = env.random.below(3)
      let lock = Lock { _ in
        // The prompt runs a procedure with the category of the procedures that wait for it.
        try await queue.run(
          ProcedureTask("prompt") {
            await monitor.during("prompt") { await pause(env, upTo: 3) }
          }.exclusive("a"))
        return 1
      }
      let body = ProcedureTask("body") { await monitor.during("body") { await pause(env, upTo: 3) } }
      let handle =
        switch asking {
        case 0: queue.add(body.condition(.authorized(for: lock, 1)).exclusive("a"))
        case 1: queue.add(Authorize(lock, 1).map { _ in }.exclusive("a"))
        default:
          queue.add(
            ProcedureTask {
              _ = try await Authorize(lock, 1).execute()
              try await queue.run(body.condition(.authorized(for: lock, 1)).exclusive("a"))
            }.exclusive("a"))
        }
      let other = queue.add(body.exclusive("a"))
      let outcome = await handle.outcome
      env.check(outcome.isFinished, "\(outcome)")
      env.check(await other.outcome.isFinished)
      env.check(monitor.most == 1, "they overlap")
      env.tally(["condition", "procedure", "body"][asking])
      await queue.shutDown()
      env.check(env.resources.count == 0)
    }
  }

  @Test(
    "R4: of the current prompt and the holder of a resource that it needs, one is refused, and no request waits forever"
  )
  func promptOfAnother() async throws {
    try await exploreRace("all finished", "holder refused", "prompt refused", schedules: TestDepth.count(2_000)) {
      env in
      // This is the table of the process, in which prompts are serialized. The cycle leads through both tables.
      let queue = env.makeQueue(resources: .shared)
      let lock = Lock { _ in
        await pause(env, upTo: 3)
        try await queue.run(ProcedureTask("prompt") { await pause(env, upTo: 3) }.exclusive(with: Category.self))
        return 1
      }
      let asking = ProcedureTask("asker") {}.condition(.authorized(for: lock, 1))
      let holding = ProcedureTask("holder") {
        await pause(env, upTo: 3)
        _ = try await queue.run(Authorize(lock, 1))
      }.exclusive(with: Category.self)
      let early = env.random.below(2) == 0 ? queue.add(asking) : nil
      await pause(env)
      let holder = queue.add(holding)
      await pause(env)
      let asker = early ?? queue.add(asking)
      let (asked, held) = (await asker.outcome, await holder.outcome)
      if let error = held.procedureError {
        env.check(error.kind == .exclusionDeadlock && error.description.contains("prompts of Lock"), "\(error)")
        env.tally("holder refused")
      } else if let error = asked.procedureError {
        let underlying = error.underlying as? ProcedureError
        env.check(underlying?.kind == .exclusionDeadlock, "\(error)")
        env.tally("prompt refused")
      } else {
        env.tally("all finished")
      }
      env.check(asked.isFinished || held.isFinished, "\(asked), \(held)")
      await queue.shutDown()
    }
  }

  @Test("A prompt that needs another authorization of its type asks for that without waiting for itself")
  func promptInsideOfPrompt() async throws {
    try await exploreRace("outer first", "inner first", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let order = Locked<[String]>([])
      let inner = Lock { _ in
        order { $0.append("inner") }
        await pause(env, upTo: 3)
        return 1
      }
      let outer = Lock { _ in
        order { $0.append("outer") }
        _ = try await queue.run(Authorize(inner, 1))
        return 1
      }
      let handles = [queue.add(Authorize(outer, 1)), queue.add(Authorize(inner, 1)), queue.add(Authorize(outer, 1))]
      for handle in handles {
        let outcome = await handle.outcome
        env.check(outcome.isFinished, "\(outcome)")
      }
      env.check(outer.requestCount == 1 && inner.requestCount == 1)
      env.tally("\(order.value[0]) first")
      await queue.shutDown()
    }
  }

  @Test(
    "C2, C6: cancelling a run that prompts does not affect the answer for others, and a waiting run ends immediately")
  func cancelAsker() async throws {
    try await exploreRace(
      "cancelled while asking", "cancelled while waiting", "finished before", schedules: TestDepth.count(2_000)
    ) { env in
      let queue = env.makeQueue()
      let lock = Lock { _ in
        await pause(env, upTo: 6)
        try Task.checkCancellation()
        return 1
      }
      let handles = (0..<3).map { number in
        number == 1
          ? queue.add(Authorize(lock, 1).map { _ in })
          : queue.add(ProcedureTask {}.condition(.authorized(for: lock, 1)))
      }
      await pause(env, upTo: 12)
      let victim = handles[env.random.below(3)]
      victim.cancel(Reason())
      for handle in handles {
        let outcome = await handle.outcome
        if handle == victim, outcome.isCancelled {
          env.check(outcome.cancellationReason(as: Reason.self) != nil)
        } else {
          env.check(outcome.isFinished, "\(outcome)")
          if handle == victim { env.tally("finished before") }
        }
      }
      if await victim.outcome.isCancelled {
        env.tally(lock.requestCount == 2 ? "cancelled while asking" : "cancelled while waiting")
      }
      env.check(lock.requestCount <= 2 && lock.monitor.most == 1)
      await queue.shutDown()
    }
  }

  @Test("C3: a prompt that ends unanswered because of a cancellation does not refuse the others")
  func cancelIsNoAnswer() async throws {
    try await exploreRace("asked again", "asked once", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue()
      let lock = Lock { _ in
        await pause(env, upTo: 6)
        return Task.isCancelled ? 0 : 1
      }
      let handles = (0..<3).map { _ in queue.add(Authorize(lock, 1)) }
      await pause(env, upTo: 12)
      handles[0].cancel()
      for handle in handles[1...] {
        let outcome = await handle.outcome
        env.check(outcome.isFinished, "\(outcome)")
      }
      env.tally(lock.requestCount == 1 ? "asked once" : "asked again")
      await queue.shutDown()
    }
  }

  @Test("A snapshot shows whose prompt a body is waiting for, even on a queue with its own table")
  func snapshot() async throws {
    try await exploreRace("waits for a prompt", "asks or is done", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 2)
      let locks = (0..<2).map { _ in
        Lock { _ in
          await pause(env)
          return 1
        }
      }
      let handles = locks.map { queue.add(Authorize($0, 1)) }
      await pause(env)
      let waits = queue.snapshot().procedures.compactMap { $0.wait.map { "\($0)" } }
      let prompts = waits.filter { $0.hasPrefix("\"prompts of Lock\", which \"authorize lock\"") }
      env.check(prompts.count <= 1, "\(waits)")
      env.tally(prompts.isEmpty ? "asks or is done" : "waits for a prompt")
      for handle in handles { env.check(await handle.outcome.isFinished) }
      await queue.shutDown()
    }
  }

  @Test("User confirmations are shown one at a time and hold no slot, and each run receives its own answer")
  func confirmations() async throws {
    try await exploreRace("agreed", "not agreed", "cancelled", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let (monitor, others) = (ConcurrencyMonitor(), ProbeProcedure())
      others.finishAll()
      let answers = (0..<3).map { _ in env.random.below(2) == 0 }
      let handles = answers.map { answer in
        queue.add(
          ProcedureTask {}.condition(
            .userConfirmation {
              await monitor.during { await pause(env, upTo: 4) }
              // The only slot is free.
              try await others.waitUntilStarted()
              return answer
            }))
      }
      queue.add(others)
      await pause(env, upTo: 12)
      handles[1].cancel()
      for (number, (handle, answer)) in zip(handles, answers).enumerated() {
        let outcome = await handle.outcome
        env.check(
          outcome.isCancelled ? number == 1 : answer ? outcome.isFinished : outcome.isIgnored, "\(answer): \(outcome)")
        env.tally(outcome.isCancelled ? "cancelled" : answer ? "agreed" : "not agreed")
      }
      env.check(monitor.most == 1, "\(monitor.most) at once")
      await queue.shutDown()
    }
  }
}
