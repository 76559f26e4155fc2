import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite("Queue limits and shared executions under every order", .timeLimit(.atDepth))
struct QueueLimitTests {
  @Test("Callers of enqueue wait for room in FIFO order, the limit holds, and no run is lost")
  func enqueue() async throws {
    try await exploreRace("admitted late", "admitted early", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue("limited", maxConcurrentProcedures: 1, maxWaitingProcedures: 2)
      let order = Locked<[Int]>([])
      try await withThrowingTaskGroup { group in
        for number in 0..<2 {
          group.addTask {
            for step in 0..<4 {
              let waiting = queue.snapshot().procedures.count { $0.state <= .waiting }
              env.check(waiting <= 2, "\(waiting) wait")
              try await queue.enqueue(ProcedureTask { order { $0.append(number * 10 + step) } })
            }
          }
        }
        try await group.waitForAll()
      }
      if queue.snapshot().procedures.count < 2 { env.tally("admitted early") } else { env.tally("admitted late") }
      await queue.shutDown()
      env.check(order.value.filter { $0 < 10 } == [0, 1, 2, 3] && order.value.filter { $0 >= 10 } == [10, 11, 12, 13])
    }
  }

  @Test("Callers wait for room for their keys, in FIFO order for each key, and no room is lost")
  func enqueueByKey() async throws {
    try await exploreRace("cancelled", "all added", schedules: TestDepth.count(2_000)) { env in
      var configuration = ProcedureQueue.Configuration("keyed", maxConcurrentProcedures: 2)
      configuration.maxWaitingProcedures = 3
      configuration.maxWaitingProceduresPerKey = 1 + env.random.below(2)
      configuration.maxConcurrentProceduresPerKey = 1
      configuration.fairness = env.random.below(2) == 0 ? .byKey : .admissionOrder
      let limit = configuration.maxWaitingProceduresPerKey
      let queue = env.makeQueue(configuration)
      let (order, executing) = (Locked<[Int]>([]), Locked<[Int: Int]>([:]))
      let callers = (0..<3).map { key in
        Task(executorPreference: env.executor) {
          for step in 0..<4 {
            let names = queue.snapshot().procedures.filter { $0.state <= .waiting }.map(\.procedure.name)
            env.check(names.count <= 3 && names.count { $0 == "\(key)" } <= limit, "\(names)")
            try await queue.enqueue(
              ProcedureTask("\(key)") {
                executing { $0[key, default: 0] += 1 }
                env.check(executing.value[key] == 1)
                order { $0.append(key * 10 + step) }
                await pause(env, upTo: 3)
                executing { $0[key, default: 0] -= 1 }
              }.keyed(by: key == 2 ? 0 : key))
          }
        }
      }
      await pause(env, upTo: 8)
      if env.random.below(2) == 0 { callers[env.random.below(3)].cancel() }
      var isCancelled = false
      for caller in callers {
        if case .failure = await caller.result { isCancelled = true }
      }
      env.tally(isCancelled ? "cancelled" : "all added")
      await queue.shutDown()
      for key in 0..<3 {
        let steps = order.value.filter { $0 / 10 == key }.map { $0 % 10 }
        env.check(steps == Array(0..<steps.count) && (isCancelled || steps.count == 4), "\(order.value)")
      }
    }
  }

  @Test(
    "Fairness: keys with weights 1 and 3 start one run and three runs in turn, whichever waiting runs are cancelled")
  func weights() async throws {
    try await exploreRace("all started", "cancelled", schedules: TestDepth.count(2_000)) { env in
      var configuration = ProcedureQueue.Configuration("weighted", maxConcurrentProcedures: 1)
      configuration.fairness = .byKey
      let queue = env.makeQueue(configuration)
      let (blocker, order) = (ProbeProcedure("blocker"), Locked<[String]>([]))
      queue.add(blocker)
      try await blocker.waitUntilStarted()
      let handles = await withTaskGroup(of: [ProcedureHandle<Void>].self) { group in
        for (key, weight, count) in [("a", 1, 4), ("b", 3, 12)] {
          group.addTask {
            var handles: [ProcedureHandle<Void>] = []
            for _ in 0..<count {
              await pause(env, upTo: 1)
              handles.append(queue.add(ProcedureTask { order { $0.append(key) } }.keyed(by: key, weight: weight)))
            }
            return handles
          }
        }
        return await group.reduce([], +)
      }
      async let cancellation: Void = {
        for _ in 0..<3 {
          await pause(env, upTo: 6)
          handles[env.random.below(handles.count)].cancel()
        }
      }()
      blocker.finish()
      await cancellation
      await queue.waitUntilIdle()
      let starts = order.value
      env.tally(starts.count == handles.count ? "all started" : "cancelled")
      // Between two starts of a, all runs of b's turn start, provided that b still has waiting runs after that.
      let places = starts.indices.filter { starts[$0] == "a" }
      for (place, next) in zip(places, places.dropFirst()) {
        let count = next - place - 1
        env.check(count == 3 || count < 3 && !starts[next...].contains("b"), "\(starts)")
      }
      env.check(places.first ?? 0 <= 3, "\(starts)")
      await queue.shutDown()
    }
  }

  @Test("A caller that waits for room continues as soon as a run starts, and not only when no run waits")
  func roomAfterEachStart() async throws {
    try await exploreRace("there was room", "waited for room", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue("limited", maxConcurrentProcedures: 1, maxWaitingProcedures: 2)
      let (first, second) = (ProbeProcedure<Void, Void>("first"), ProbeProcedure<Void, Void>("second"))
      queue.add(first)
      await pause(env, upTo: 8)
      queue.add(second)
      queue.add(ProcedureTask("third") {})
      async let enqueued = queue.enqueue(ProcedureTask("fourth") {})
      await pause(env, upTo: 8)
      let isThere = queue.snapshot().procedures.contains { $0.procedure.name == "fourth" }
      env.tally(isThere ? "there was room" : "waited for room")
      first.finish(())
      _ = try await enqueued
      second.finish(())
      await queue.shutDown()
    }
  }

  @Test("A procedure whose caller is cancelled while it waits for room is not added, and the next caller gets the room")
  func cancelledEnqueue() async throws {
    try await exploreRace("cancelled", "added", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue("limited", maxConcurrentProcedures: 1, isSuspended: true, maxWaitingProcedures: 1)
      let first = queue.add(ProcedureTask("first") {})
      let tasks = (0..<2).map { number in
        Task(executorPreference: env.executor) { () -> ProcedureHandle<Int> in
          try await queue.enqueue(ProcedureTask("\(number)") { number })
        }
      }
      await pause(env)
      tasks[0].cancel()
      await pause(env)
      queue.resume()
      try await first.value
      env.check(try await tasks[1].value.value == 1)
      switch await tasks[0].result {
      case .success(let handle):
        env.tally("added")
        env.check(try await handle.value == 0)
      case .failure(let error):
        env.tally("cancelled")
        env.check(error is CancellationError)
      }
      await queue.shutDown()
    }
  }

  @Test("A full queue refuses a procedure, or replaces the oldest or the newest one with the same key")
  func overflow() async throws {
    for overflow in [QueueOverflow.refuse, .replaceOldest, .replaceNewest] {
      let queue = ProcedureQueue("full", isSuspended: true, maxWaitingProcedures: 3, overflow: overflow)
      let task = { (name: String) in ProcedureTask(name) { name } }
      let handles = [
        queue.add(task("a").keyed(by: 1)), queue.add(task("b").keyed(by: 2)), queue.add(task("c").keyed(by: 1)),
        queue.add(task("d").keyed(by: 1)), queue.add(task("e").keyed(by: 3)),
      ]
      queue.resume()
      var words: [String] = []
      for handle in handles {
        switch await handle.outcome {
        case .finished(let name): words.append(name)
        case .failed(let error as ProcedureError): words.append("\(error.kind)")
        case .cancelled(let reason as ProcedureError): words.append("\(reason.kind) \(reason.procedure.name)")
        default: words.append("?")
        }
      }
      switch overflow {
      case .refuse: #expect(words == ["a", "b", "c", "queueFull", "queueFull"])
      case .replaceOldest: #expect(words == ["replaced a", "b", "c", "d", "queueFull"])
      case .replaceNewest: #expect(words == ["a", "b", "replaced c", "d", "queueFull"])
      }
    }
  }

  @Test("Ten thousand consecutive replacements have equal costs, and leave no waiting run")
  func manyReplacements() async throws {
    let queue = ProcedureQueue("latest", isSuspended: true, maxWaitingProcedures: 1, overflow: .replaceOldest)
    let handles = (0..<10_000).map { number in queue.add(ProcedureTask { number }) }
    #expect(queue.snapshot().procedures.count <= 1)
    queue.resume()
    #expect(try await handles[9_999].value == 9_999)
    #expect(await handles[5_000].outcome.isCancelled)
  }

  @Test("Runs with one key share an execution, its value and its error; a cancellation affects no other run")
  func coalesced() async throws {
    try await exploreRace("once", "twice", "cancelled", "failed", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 2)
      let executions = Locked(0)
      let fails = env.random.below(4) == 0
      let work = ProcedureTask("work") { () throws -> Int in
        executions { $0 += 1 }
        await pause(env, upTo: 3)
        try Task.checkCancellation()
        if fails { throw Reason() }
        return executions.value
      }.coalesced(by: "key")
      let handles = (0..<3).map { _ in queue.add(work) }
      await pause(env)
      handles[0].cancel()
      for handle in handles {
        let outcome = await handle.outcome
        env.tally(outcome.label)
        if case .failed(let error) = outcome { env.check(fails && error is Reason, "\(error)") }
      }
      env.check(!fails || executions.value <= 3)
      for handle in handles.dropFirst() {
        let isCancelled = await handle.outcome.isCancelled
        env.check(!isCancelled)
      }
      env.tally(executions.value == 1 ? "once" : executions.value == 2 ? "twice" : "thrice")
      await queue.shutDown()
      env.check(env.resources.count == 0, "\(env.resources.count) keys are left")
    }
  }

  @Test("Shared work that runs itself does not wait for itself, and keys of different types identify different work")
  func coalescedInside() async throws {
    let queue = ProcedureQueue("q", resources: ResourceTable())
    let inner = ProcedureTask("inner") { 1 }.coalesced(by: "key")
    let outer = ProcedureTask("outer") { try await queue.run(inner) + 1 }.coalesced(by: "key")
    #expect(try await queue.run(outer) == 2)
    async let text = queue.run(ProcedureTask("text") { "text" }.coalesced(by: "key"))
    async let number = queue.run(outer)
    #expect(try await (text, number) == ("text", 2))
  }
}
