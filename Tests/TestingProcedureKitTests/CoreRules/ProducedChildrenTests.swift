import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite("Produced children under every order", .timeLimit(.atDepth))
struct ProducedChildrenTests {
  @Test("A parent finishes after all its descendants, on a queue of width one")
  func parentFinishesLast() async throws {
    try await exploreSchedules(TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let order = Locked<[String]>([])
      let parent = ProcedureTask("parent") {
        ProcedureContext.current?.produce(
          ProcedureTask("child") {
            await pause(env, upTo: 2)
            ProcedureContext.current?.produce(
              ProcedureTask("grandchild") {
                await pause(env, upTo: 2)
                order { $0.append("grandchild") }
              })
          }.map { order { $0.append("child") } })
        await pause(env, upTo: 2)
        order { $0.append("parent") }
      }
      let way = env.random.below(4)
      switch way {
      case 0: try await queue.add(parent).value
      case 1: try await queue.run(parent)
      case 2: try await queue.run(ProcedureGraph("graph") { $0.add(parent) })
      default: try await queue.run(ProcedureTask("outer") { try await parent.execute() })
      }
      env.check(order.value.count == 3, "\(order.value)")
      await queue.shutDown()
    }
  }

  @Test("A failed child cancels its siblings and the body, and fails the parent; with `collect`, all continue")
  func failure() async throws {
    try await exploreRace(
      "fail fast", "continue", "sibling cancelled", "sibling finished", schedules: TestDepth.count(2_000)
    ) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 2)
      let continues = env.random.below(2) == 0
      let sibling = Locked<ProcedureHandle<Void>?>(nil)
      let parent = ProcedureTask("parent") {
        let context = ProcedureContext.current
        sibling { $0 = context?.produce(ProcedureTask("sibling") { await pause(env, upTo: 3) }) }
        context?.produce(ProcedureTask("failing") { () throws in throw Reason() })
        await pause(env, upTo: 3)
      }.onFailure(continues ? .collect : .failFast)
      do {
        if env.random.below(2) == 0 { try await queue.run(parent) } else { try await queue.add(parent).value }
        env.check(false, "it did not fail")
      } catch let error as ProcedureError {
        env.check(continues && error.kind == .childrenFailed, "\(error)")
        env.tally("continue")
      } catch {
        env.check(!continues && error is Reason, "\(error)")
        env.tally("fail fast")
      }
      if let outcome = await sibling.value?.outcome {
        env.check(!continues || outcome.isFinished)
        env.tally("sibling \(outcome.label)")
      }
      await queue.shutDown()
    }
  }

  @Test("Cancelling a parent cancels its children, for every way of cancelling and every wait of the body")
  func cancellation() async throws {
    try await exploreRace("cancelled", "finished", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 2)
      let children = Locked<[ProcedureHandle<Void>]>([])
      let waits = env.random.below(2) == 0
      let parent = ProcedureTask("parent") {
        for number in 0..<2 {
          guard let child = ProcedureContext.current?.produce(ProcedureTask("\(number)") { await pause(env, upTo: 4) })
          else {
            continue
          }
          children { $0.append(child) }
          if waits { _ = await child.outcome }
        }
      }
      let way = env.random.below(3)
      let task = Task(executorPreference: env.executor) { () -> Bool in
        guard way > 0 else {
          let handle = queue.add(parent)
          await pause(env)
          handle.cancel(Reason())
          return await handle.outcome.isCancelled
        }
        do {
          try await queue.run(parent)
          return false
        } catch {
          return true
        }
      }
      await pause(env)
      if way == 1 { task.cancel() }
      if way == 2 { queue.cancelAll(Reason()) }
      env.tally(await task.value ? "cancelled" : "finished")
      for child in children.value { env.check(child.state == .finished, "a child is left") }
      await queue.shutDown()
    }
  }

  @Test("R4: children can claim what their parent holds, one at a time, and no outsider gets the claim in between")
  func nestedExclusion() async throws {
    try await exploreSchedules(TestDepth.count(2_000)) { env in
      let queue = env.makeQueue()
      let monitor = ConcurrencyMonitor()
      let body = ProcedureTask("child") {
        monitor.enter(["a"])
        await pause(env, upTo: 2)
        monitor.leave(["a"])
      }.exclusive("a")
      let parent = queue.add(
        ProcedureTask("parent") {
          for _ in 0..<3 { ProcedureContext.current?.produce(body) }
        }.exclusive("a"))
      let outsider = queue.add(body)
      try await parent.value
      try await outsider.value
      env.check(monitor.most(in: "a") == 1)
      await queue.shutDown()
      env.check(env.resources.count == 0)
    }
  }

  @Test("Events and snapshots show children, and no child is produced after the parent has ended")
  func visibility() async throws {
    let queue = ProcedureQueue("q")
    let probe = ProbeProcedure<Void, Void>("child")
    let escaped = Locked<ProcedureContext?>(nil)
    let parent = queue.add(
      ProcedureTask("parent") {
        escaped { $0 = ProcedureContext.current }
        ProcedureContext.current?.produce(probe)
      })
    let events = parent.events
    try await probe.waitUntilStarted()
    // The child ends after the parent's body, so the parent has to await it.
    for await event in parent.events where event.kind == .didExecute { break }
    let child = try #require(queue.snapshot().procedures.last)
    #expect(child.parent == parent.identity)
    probe.finish(())
    try await parent.value
    var kinds: [String] = []
    for await event in events { kinds.append("\(event.kind)".prefix { $0 != "(" }.description) }
    #expect(
      kinds == [
        "didAttach", "willExecute", "willProduce", "didProduce", "didExecute", "didAwait", "willFinish", "didFinish",
      ])
    let late = try #require(escaped.value).produce(ProcedureTask("late") {})
    let error = await late.outcome.error(as: ProcedureError.self)
    #expect(error?.kind == .producerFinished)
  }
}

@Suite("Produced children of nodes", .timeLimit(.atDepth))
struct ProducedChildrenOfNodesTests {
  private final class Value: Sendable {
    private let alive: Locked<Int>

    init(_ alive: Locked<Int>) {
      self.alive = alive
      alive { $0 += 1 }
    }

    deinit { alive { $0 -= 1 } }
  }

  @Test(
    "D1, D3: a node whose child fails has failed, regardless of what its body returned, and its value is released once")
  func failingChild() async throws {
    for policy in [FailurePolicy.failFast, .collect] {
      let alive = Locked(0)
      let consumed = Locked(false)
      let graph = ProcedureGraph("graph", returning: Void.self) { g in
        let value = g.add(
          ProcedureTask("parent") { () -> Value in
            ProcedureContext.current?.produce(ProcedureTask("child") { () throws in throw Reason() })
            return Value(alive)
          })
        let other = g.add("other") { Value(alive) }
        g.add("consumer", from: value, other) { _, _ in consumed { $0 = true } }
      }.onFailure(policy)
      let queue = ProcedureQueue("q")
      await #expect(throws: (any Error).self) { try await queue.run(graph) }
      #expect(!consumed.value)
      #expect(alive.value == 0)
      await queue.shutDown()
    }
  }
}
