import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

private enum Trace {
  @TaskLocal static var id = "none"
}

@Suite(.timeLimit(.atDepth)) struct ContextTests {
  @Test("A body that run executes has the priority of the caller")
  func runInherits() async throws {
    let queue = ProcedureQueue("q")
    // The test reads the base priority, because it raises the current priority when it awaits the task.
    let priority = try await Task(priority: .low) { try await queue.run(ProcedureTask { Task.basePriority }) }.value
    #expect(priority == .low)
  }

  @Test("`add` passes on the values that the carriers capture during the call, and no others")
  func addCarries() async throws {
    let carrying = ProcedureQueue("carrying", contextCarriers: [ContextCarrier(Trace.$id)])
    let plain = ProcedureQueue("plain")
    let task = ProcedureTask { Trace.id }
    let handles = Trace.$id.withValue("caller") { (carrying.add(task), plain.add(task)) }
    #expect(try await handles.0.value == "caller")
    #expect(try await handles.1.value == "none")
    #expect(try await carrying.add(task).value == "none")
  }

  @Test("A retry that is cancelled during its pause calls onDidExecute with its context and the carried values")
  func hookInPause() async throws {
    let (clock, otherClock) = (VirtualClock(), VirtualClock())
    let queue = ProcedureQueue("q", clock: clock, contextCarriers: [ContextCarrier(Trace.$id)])
    let other = ProcedureQueue("other", clock: otherClock, contextCarriers: [ContextCarrier(Trace.$id)])
    let seen = Box<[String]>([])
    let failing = ProcedureTask("failing") { throw TestError(code: 1) }.retry(.constant(.seconds(3600)))
      .onDidExecute { _ in
        let line = "\(ProcedureContext.current?.name ?? "no context"), \(Trace.id)"
        seen.update { $0.append(line) }
      }
    let handle = Trace.$id.withValue("caller") { queue.add(failing) }
    try await clock.nextSleep()
    handle.cancel()
    #expect(await handle.outcome.isCancelled)
    let caller = Trace.$id.withValue("caller") { Task { try await other.run(failing) } }
    try await otherClock.nextSleep()
    caller.cancel()
    await #expect(throws: CancellationError.self) { try await caller.value }
    #expect(seen.value == ["failing, caller", "failing, caller"])
  }

  @Test("The context has the ID, name, attempt and queue of a body, and outside bodies there is no context")
  func context() async throws {
    #expect(ProcedureContext.current == nil)
    let queue = ProcedureQueue("q")
    let task = ProcedureTask("named") {
      let context = try #require(ProcedureContext.current)
      #expect(context.name == "named" && context.attempt == 1 && !context.isCancelled)
      #expect(context.cancellationReason == nil)
      return (context.id, context.queue.map(ObjectIdentifier.init))
    }
    let handle = queue.add(task.map { Pair(id: $0.0, queue: $0.1) })
    let seen = try await handle.value
    #expect(seen.id == handle.id && seen.queue == ObjectIdentifier(queue))
    let direct = try await task.map { Pair(id: $0.0, queue: $0.1) }.execute()
    #expect(direct.queue == nil)
    let names = ProcedureGraph("g") { g in
      g.add(from: (0..<3).map { i in g.add(ProcedureTask("node \(i)") { ProcedureContext.current?.name }) })
    }
    #expect(try await queue.run(names) == ["node 0", "node 1", "node 2"])
  }

  private struct Pair {
    var id: ProcedureID
    var queue: ObjectIdentifier?
  }

  private struct WhereItIs: Procedure {
    func execute(_ input: Bool) async throws -> Bool { input || isOnMainActor() }
  }

  @Test("No closure of a procedure executes on the main actor unless it names that actor") @MainActor
  func offTheMainActorInAllWays() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 2)
    let plain = ProcedureTask { isOnMainActor() }
    let condition = Condition("c", prepare: { #expect(!isOnMainActor()) }, evaluate: { !isOnMainActor() })
    let graph = ProcedureGraph("g") { g in
      g.add("or", from: g.add(plain), g.add(plain.condition(condition))) { a, b in a || b || isOnMainActor() }
    }
    let failing = ProcedureTask<Void, Bool> { throw TestError() }
    let tasks: [ProcedureTask<Void, Bool>] = [
      plain, plain.condition(condition), plain.map { $0 || isOnMainActor() }, plain.then(WhereItIs()),
      failing.recover { _ in isOnMainActor() }, graph.procedureTask,
      ProcedureTask { false }.map { $0 }.then(WhereItIs().condition(condition)).recover { _ in true },
    ]
    for _ in 0..<100 {
      for (index, task) in tasks.enumerated() {
        #expect(try await queue.run(task) == false, "\(index)")
        #expect(try await queue.add(task).value == false, "\(index)")
        #expect(try await task.execute() == false, "\(index)")
      }
      #expect(try await queue.run(WhereItIs(), input: false) == false)
      #expect(try await queue.add(WhereItIs(), input: false).value == false)
      #expect(try await graph.execute() == false)
    }
    #expect(try await queue.run(ProcedureTask { @MainActor in isOnMainActor() }))
  }

  @Test("A queue's executor executes the bodies that an actor runs, or a body that has left the executor")
  func executor() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 2, executor: CountingExecutor())
    let task = ProcedureTask { CountingExecutor.isCurrent }
    #expect(try await Caller().run(task, on: queue))
    let outer = ProcedureTask {
      try await withTaskExecutorPreference(globalConcurrentExecutor) { try await queue.run(task) }
    }
    #expect(try await queue.run(outer))
  }

  @Test("A run in a task that outlives its body belongs to the nearest unfinished ancestor")
  func contextOfLeftTask() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let (ended, names) = (Signal(), Box<[String]>([]))
    let late = ProcedureTask("late") {
      let runs = ProcedureContext.current.map { Array($0.run.ancestors) } ?? []
      names.update { $0 = runs.map(\.name) }
    }
    let inner = ProcedureTask("inner") {
      Task {
        await ended.wait()
        try await queue.run(late)
      }
    }
    try await queue.run(
      ProcedureTask("outer") {
        let task = try await queue.run(inner)
        ended.set()
        try await task.value
      })
    #expect(names.value == ["late", "outer"])
  }

  @Test("A task that outlives its node keeps that node's context, and cannot cancel the next node")
  func contextOfLeftNode() async throws {
    let (isNext, hasLooked) = (Signal(), Signal())
    let seen = Box<String?>(nil)
    let graph = ProcedureGraph("graph") { g in
      let first = g.add("first") {
        // The task intentionally outlives its node, and ends after the signal of the next node.
        Task {
          await isNext.wait()
          let context = ProcedureContext.current
          seen.update { $0 = context?.name }
          context?.cancel(TestError(code: 1))
          hasLooked.set()
        }
        return 1
      }
      return g.add("second", from: first) { value in
        isNext.set()
        await hasLooked.wait()
        return value
      }
    }
    #expect(try await ProcedureQueue("q", maxConcurrentProcedures: 1).run(graph) == 1)
    #expect(seen.value == "first")
  }
}

private actor Caller {
  func run(_ task: ProcedureTask<Void, Bool>, on queue: ProcedureQueue) async throws -> Bool {
    try await queue.run(task)
  }
}
