import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

/// The rules about the things that a body gets from its queue and its caller: a slot, a state, an executor, and task-local values.
extension Rule {
  static let queues = [
    Rule(id: "L1", sentence: "the state follows the run, which finishes once", ways: Way.handled) { stage in
      let (isEvaluated, satisfied) = (stage.signal(), stage.signal())
      let subject = stage.waitingSubject().condition("slow") {
        isEvaluated.set()
        await satisfied.wait()
        return true
      }
      let running = stage.start(subject)
      await isEvaluated.wait()
      try await eventually { stage.ownHandle(running) != nil }
      let handle = try #require(stage.ownHandle(running))
      #expect(handle.state == .evaluating)
      satisfied.set()
      await stage.started.wait()
      #expect(handle.state == .executing)
      stage.release.set()
      #expect(try await handle.value == 1)
      #expect(handle.state == .finished)
      handle.cancel()
      #expect(await handle.allEvents().count { $0.kind == .didFinish } == 1)
      #expect(await handle.outcome.value == 1)
    },
    Rule(id: "L4 slot", sentence: "the slot is free when the outcome can be read", ways: Way.queued) { stage in
      for number in 0..<20 {
        let subject = ProcedureTask<Void, Int>("subject") {
          if number % 2 == 1 { throw TestError(code: number) }
          return number
        }
        let result = await stage.result(of: subject)
        #expect(result.value == number || result.failure as? TestError == TestError(code: number), "\(result)")
        #expect(stage.queue.snapshot().slotsInUse == 0)
      }
    },
    Rule(
      id: "Q3", sentence: "a body that waits for others on its queue of width one releases its slot", ways: Way.queued
    ) { stage in
      let leaf = ProcedureTask("leaf") { (number: Int) in number }
      let graph = ProcedureGraph("graph") { (g, number: Node<Int>) in
        let nodes = (0..<3).map { offset in
          g.add(
            ProcedureTask { (number: Int) in try await stage.queue.run(leaf, input: number + offset) }, from: number)
        }
        return g.add(ProcedureTask { (all: [Int]) in all.reduce(0, +) }, from: nodes)
      }
      let subject = ProcedureTask<Void, Int>("subject") {
        let run = try await stage.queue.run(leaf, input: 1)
        let added = try await stage.queue.add(leaf, input: 2).value
        let outcome = await stage.queue.add(leaf, input: 3).outcome.value ?? 0
        async let left = stage.queue.run(leaf, input: 4)
        async let right = stage.queue.run(leaf, input: 5)
        let both = try await left + right
        return try await run + added + outcome + both + stage.queue.run(graph, input: 4) + graph.execute(5)
      }
      #expect(await stage.result(of: subject).value == 48)
    },
    Rule(
      id: "Q5", sentence: "a body that `run` executes has the task-local values of the caller",
      ways: Way.withoutElements.filter { !Way.handled.contains($0) }
    ) { stage in
      let subject = ProcedureTask<Void, Int>("subject") { Self.number }
      let running = Self.$number.withValue(1) { stage.start(subject) }
      #expect(await running.result.value == 1)
    },
    Rule(id: "Q6", sentence: "the body executes on the queue's executor, even after a suspension", ways: Way.queued) {
      stage in
      let subject = ProcedureTask<Void, Int>("subject") {
        let before = CountingExecutor.isCurrent
        await Task.yield()
        return [before, CountingExecutor.isCurrent].count { $0 }
      }
      #expect(await stage.result(of: subject).value == (stage.variant == .onExecutor ? 2 : 0))
    },
    Rule(id: "Q6 actor", sentence: "neither the body nor a condition executes on the actor that calls") { stage in
      let look: @Sendable () -> Void = { stage.note(isOnMainActor() ? "on the actor" : "elsewhere") }
      let subject = ProcedureTask<Void, Int>("subject") {
        look()
        return 1
      }.condition(
        Condition("looks") {
          look()
        } evaluate: {
          look()
          return true
        })
      let calling = Task { @MainActor in await stage.way.outcome(of: subject, on: stage.queue) }
      #expect(await calling.value.value == 1)
      stage.expect(["elsewhere", "elsewhere", "elsewhere"])
    },
  ]

  @TaskLocal private static var number = 0
}
