import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite("Rule R4 under every order: cycles through queues that bodies wait for", .timeLimit(.atDepth))
struct QueueCircleTests {
  private typealias Work = ProcedureTask<Void, Void>

  /// Returns the cycle that led to the refusal of a run; `nil` if the run was not refused.
  private func circle(of handle: ProcedureHandle<Void>) async -> [ExclusionWait]? {
    let error = await handle.outcome.error(as: ProcedureError.self)
    return error?.kind == .exclusionDeadlock ? error?.waits : nil
  }

  @Test(
    "R4: a run that a body adds to a queue before waiting for that queue is refused the body's claims", arguments: 0..<5
  )
  func scope(way: Int) async throws {
    try await exploreSchedules(TestDepth.count(2_000)) { env in
      let queue = env.makeQueue("outer", maxConcurrentProcedures: 1)
      let inner = Work("inner") { await pause(env, upTo: 2) }.exclusive("a")
      let added = Locked<[ProcedureHandle<Void>]>([])
      let outer = Work("outer") {
        switch way {
        case 0:
          let other = env.makeQueue("other", maxConcurrentProcedures: 1)
          added { $0.append(other.add(inner)) }
          await pause(env, upTo: 2)
          await other.shutDown()
        case 1:
          // It is added only after the wait has begun.
          let other = env.makeQueue("other")
          other.add(
            Work("first") {
              await pause(env, upTo: 4)
              added { $0.append(other.add(inner)) }
            })
          await other.waitUntilIdle()
        case 2:
          // The cycle leads through a dependency of a run on the queue.
          let (other, third) = (env.makeQueue("other"), env.makeQueue("third"))
          added { $0.append(third.add(inner)) }
          other.add(Work("dependent") {}, after: added.value)
          await other.waitUntilIdle()
        case 3:
          // The cycle leads through a dependent that is added when both bodies are already waiting.
          let (other, third) = (env.makeQueue("other"), env.makeQueue("third"))
          let waiting = third.add(inner)
          added { $0.append(waiting) }
          other.add(
            Work("first") {
              await pause(env, upTo: 4)
              other.add(Work("dependent") {}, after: [waiting])
            })
          await other.waitUntilIdle()
        default:
          // The body's own queue does not wait for the body itself.
          added { $0.append(queue.add(inner)) }
          await queue.waitUntilIdle()
        }
      }.exclusive("a")
      env.check(await queue.add(outer).outcome.isFinished, "the outer body was refused")
      let refused = try env.require(added.value.first)
      let circle = await circle(of: refused)
      env.check(
        circle?.first?.resource == "a" && circle?.first?.holder.name == "outer", "\(String(describing: circle))")
      await queue.shutDown()
      env.check(env.resources.count == 0)
    }
  }

  @Test("R4: a cycle can lead through the idleness of two queues")
  func twoQueues() async throws {
    try await exploreRace("refused", "finished", schedules: TestDepth.count(2_000)) { env in
      let queues = [env.makeQueue("a"), env.makeQueue("b")]
      let body = { @Sendable (own: Int) in
        Work("\(own)") {
          await pause(env, upTo: 3)
          queues[own].add(Work("inner") { await pause(env) }.exclusive(1 - own))
          await queues[own].waitUntilIdle()
        }.exclusive(own)
      }
      let outer = env.makeQueue("outer")
      let recorder = Locked<Int>(0)
      let events = queues.map { env.recordEvents(of: $0) }
      for handle in [outer.add(body(0)), outer.add(body(1))] {
        env.check(await handle.outcome.isFinished, "a body was refused")
      }
      for queue in queues { await queue.shutDown() }
      for events in events {
        for event in events.events {
          if event.kind == .didFinish, event.error != nil { recorder { $0 += 1 } }
        }
      }
      env.check(recorder.value <= 1, "both were refused")
      env.tally(recorder.value == 0 ? "finished" : "refused")
      await outer.shutDown()
      env.check(env.resources.count == 0)
    }
  }

  @Test("R4: a cycle can lead through descendants of a nested run on another queue", arguments: 1...2)
  func producedByPart(generations: Int) async throws {
    try await exploreRace("refused", "finished", schedules: TestDepth.count(2_000)) { env in
      let (queue, other) = (env.makeQueue("queue"), env.makeQueue("other"))
      let added = Locked<[ProcedureHandle<Void>]>([])
      let child = Work("child") {
        let inner = other.add(Work("inner") {}.exclusive("a"))
        added { $0.append(inner) }
        _ = await inner.outcome
      }
      let descendant = generations == 1 ? child : Work("parent") { ProcedureContext.current?.produce(child) }
      let part = Work("part") { ProcedureContext.current?.produce(descendant) }
      let runner = queue.add(Work("runner") { try await other.run(part) })
      // Without this pause, the holder would always hold the resource that the inner run needs.
      await pause(env, upTo: 16)
      let holder = queue.add(
        Work("holder") {
          await pause(env, upTo: 3)
          await queue.waitUntilIdle()
        }.exclusive("a"))
      for handle in [runner, holder] { env.check(await handle.outcome.isFinished, "a body was refused") }
      for handle in added.value { env.tally(await circle(of: handle) == nil ? "finished" : "refused") }
      await queue.shutDown()
      await other.shutDown()
      env.check(env.resources.count == 0)
    }
  }

  @Test("R4: waiting for a queue is not a cycle if the body holds none of the resources that the queue's runs claim")
  func noCircle() async throws {
    try await exploreSchedules(TestDepth.count(2_000)) { env in
      let (queue, other) = (env.makeQueue(maxConcurrentProcedures: 2), env.makeQueue("other"))
      let work = { @Sendable (name: String) in Work(name) { await pause(env, upTo: 3) } }
      let handles = Locked<[ProcedureHandle<Void>]>([])
      let outer = Work("outer") {
        handles { $0.append(other.add(work("inner").exclusive("b"))) }
        // The body runs a procedure within itself and its claim.
        async let part: Void = other.run(work("part").exclusive("a"))
        await other.waitUntilIdle()
        try await part
      }.exclusive("a")
      handles { $0.append(queue.add(work("holder").exclusive("b"))) }
      handles { $0.append(queue.add(outer)) }
      handles { $0.append(queue.add(work("third").exclusive("a", "b"))) }
      for handle in handles.value { try await handle.value }
      await queue.shutDown()
      for handle in handles.value { try await handle.value }
      env.check(env.resources.count == 0)
    }
  }

  @Test("R4: bodies that wait for their own queue do not wait for each other, regardless of their claims")
  func idleTogether() async throws {
    try await exploreSchedules(TestDepth.count(2_000)) { env in
      let queue = env.makeQueue()
      let body = { @Sendable (own: Int) in
        Work("\(own)") {
          async let idle: Void = queue.waitUntilIdle()
          await pause(env, upTo: 2)
          await idle
        }.exclusive(own)
      }
      let handles = [queue.add(body(0)), queue.add(body(1)), queue.add(Work("other") { await pause(env) }.shared(2))]
      for handle in handles { try await handle.value }
      await queue.shutDown()
    }
  }

  @Test("Q4: a child that waits for its queue to be idle waits for other runs, but not for itself or its parent")
  func idleChild() async throws {
    try await exploreSchedules(TestDepth.count(2_000)) { env in
      // The queue is suspended, so that all runs are added before the child waits.
      let queue = env.makeQueue(isSuspended: true)
      let hasEnded = Locked(false)
      let child = Work("child") {
        // Two concurrent waits count as one.
        async let first: Void = queue.waitUntilIdle()
        async let second: Void = queue.waitUntilIdle()
        _ = await (first, second)
        env.check(hasEnded.value, "another one executes")
      }
      let parent = queue.add(Work("parent") { ProcedureContext.current?.produce(child) })
      queue.add(
        Work("other") {
          await pause(env, upTo: 6)
          hasEnded { $0 = true }
        })
      queue.resume()
      try await parent.value
      await queue.shutDown()
    }
  }

  @Test(
    "R4: waiting for room is not a cycle while any run can start; if none can, one wait is refused",
    arguments: [1, 2])
  func room(limit: Int) async throws {
    try await exploreRace("refused", "finished", schedules: TestDepth.count(2_000)) { env in
      let outer = env.makeQueue("outer")
      let queue = env.makeQueue("full", maxConcurrentProcedures: 3, maxWaitingProcedures: limit)
      let refusals = Locked(0)
      let isStuck = env.random.below(2) == 0
      let body = Work("body") {
        var handles: [ProcedureHandle<Void>] = []
        for number in 0...limit {
          let wants = isStuck || number > 0 ? "a" : "b"
          handles.append(try await queue.enqueue(Work("\(number)") { await pause(env, upTo: 2) }.exclusive(wants)))
        }
        for handle in handles.prefix(1) where await handle.outcome.isFailed { refusals { $0 += 1 } }
      }.exclusive("a")
      let holder = outer.add(Work("holder") { await pause(env) }.exclusive("b"))
      env.check(await outer.add(body).outcome.isFinished, "the body was refused")
      try await holder.value
      await queue.waitUntilIdle()
      env.check(refusals.value == (isStuck ? 1 : 0), "\(refusals.value) refused")
      env.tally(isStuck ? "refused" : "finished")
      await queue.shutDown()
      await outer.shutDown()
      env.check(env.resources.count == 0)
    }
  }

  @Test("R4: a cycle through two tables is found")
  func twoTables() async throws {
    try await exploreRace("refused", "finished", schedules: TestDepth.count(2_000)) { env in
      let queues = [env.makeQueue("own"), env.makeQueue("other", resources: ResourceTable())]
      let body = { @Sendable (own: Int) in
        Work("\(own)") {
          await pause(env, upTo: 2)
          try await queues[1 - own].add(Work("inner") { await pause(env, upTo: 2) }.exclusive("a")).value
        }.exclusive("a")
      }
      var refused = 0
      let first = queues[0].add(body(0))
      await pause(env, upTo: 12)
      for handle in [first, queues[1].add(body(1))] {
        guard let circle = await circle(of: handle) else { continue }
        env.check(circle.count == 4, "\(circle)")
        refused += 1
      }
      env.check(refused <= 1)
      env.tally(refused == 0 ? "finished" : "refused")
      for queue in queues { await queue.shutDown() }
    }
  }
}
