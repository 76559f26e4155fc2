/// Rules Q5 and Q6: the context and the executor of bodies.
extension ConformanceTrial {
  @TaskLocal private static var word = "nothing"

  func callersContext() async throws {
    let queue = queue(width: 1)
    let task = ProcedureTask { (word: Self.word, priority: Task.currentPriority) }
    let seen = try await reach("run returns") {
      try await Self.$word.withValue("something") { try await queue.run(task) }
    }
    try expect(seen.word, is: "something", "a task-local value of the caller")
    try expect(seen.priority, is: Task.currentPriority, "the priority of the caller")
  }

  func queueExecutor() async throws {
    let queue = queue(width: 1)
    let isRight = isOnQueueExecutor
    let task = ProcedureTask {
      let before = isRight()
      await Task.yield()
      return [before, isRight()]
    }
    let graph = ProcedureGraph("graph") { g in g.add(task) }
    let added = try await reach("what is added executes") { try await queue.add(task).value }
    try expect(added, is: [true, true], "whether an added body is on the executor, also after it was suspended")
    let here = try await reach("run executes") { try await queue.run(task) }
    try expect(here, is: [true, true], "whether run takes the body to the executor")
    let node = try await reach("a graph executes") { try await queue.run(graph) }
    try expect(node, is: [true, true], "whether a node is on the executor")
    let fromActor = try await reach("run executes for an actor") { try await ActorThatRuns().run(task, on: queue) }
    try expect(fromActor, is: [true, true], "whether run takes the body of an actor to the executor")
  }
}

private actor ActorThatRuns {
  func run(_ task: ProcedureTask<Void, [Bool]>, on queue: ProcedureQueue) async throws -> [Bool] {
    try await queue.run(task)
  }
}
