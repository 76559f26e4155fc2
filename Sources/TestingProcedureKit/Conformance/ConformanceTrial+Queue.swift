import Synchronization

/// Rules Q1 to Q4: the queue.
extension ConformanceTrial {
  func widthAndOrder() async throws {
    for width in 1...3 { try await fills(width) }
    let queue = queue("order", width: 1, isSuspended: true)
    let order = Mutex<[String]>([])
    let priorities: [TaskPriority] = [.low, .high, .medium]
    for number in 0..<30 {
      let task = ProcedureTask("\(number)") {
        let name = ProcedureContext.current?.name ?? "no context"
        order.withLock { $0.append(name) }
      }
      queue.add(task.priority(priorities[number % 3]))
    }
    await queue.resume()
    await reach("everything on the queue executes") { await queue.waitUntilIdle() }
    let expected = [1, 2, 0].flatMap { rest in (0..<30).filter { $0 % 3 == rest }.map { "\($0)" } }
    try expect(order.withLock { $0 }, is: expected, "the order of execution")
  }

  private func fills(_ width: Int) async throws {
    let queue = queue(width: width)
    let actual = await queue.maxConcurrentProcedures
    try expect(actual, is: width, "the width of a queue")
    let probe = ProbeProcedure("one of many")
    let handles = (0..<(2 * width + 2)).map { _ in queue.add(probe) }
    try await reach("as many bodies start as the width allows") { try await probe.waitUntilStarted(width) }
    try expect(handles.count { $0.state == .executing }, is: width, "runs that execute on a queue of width \(width)")
    for count in 1...width {
      probe.finish()
      try await reach("a body that ends makes place for another") { try await probe.waitUntilStarted(width + count) }
    }
    try expect(probe.monitor.most, is: width, "the most bodies at once on a queue of width \(width)")
    await queue.setMaxConcurrentProcedures(width + 1)
    try await reach("a queue that is widened starts another body at once") {
      try await probe.waitUntilStarted(2 * width + 1)
    }
    probe.finishAll()
    for handle in handles { _ = await reach("all bodies execute") { await handle.outcome } }
    try expect(probe.monitor.most, is: width + 1, "the most bodies at once after one was added to \(width)")
  }

  func suspension() async throws {
    let queue = queue(width: 2)
    let isSuspended = await queue.isSuspended
    try expect(isSuspended, is: false, "whether a queue is suspended that was not asked for so")
    let (executing, body, condition) = (
      ProbeProcedure("executing"), ProbeProcedure("body"), ConditionProbe()
    )
    body.finishAll()
    condition.satisfyAll()
    let first = queue.add(executing)
    try await reach("the body starts") { try await executing.waitUntilStarted() }
    await queue.suspend()
    let later = [queue.add(body), queue.add(body.condition(.probe(condition)))]
    executing.finish()
    _ = await reach("what executes goes on while the queue is suspended") { await first.outcome }
    try expect([body.startCount, condition.evaluationCount], is: [0, 0], "bodies and conditions while suspended")
    await queue.resume()
    for handle in later { _ = await reach("a queue that is resumed goes on") { await handle.outcome } }

    let suspended = self.queue("suspended", isSuspended: true)
    let wasSuspended = await suspended.isSuspended
    try expect(wasSuspended, is: true, "whether a queue is suspended that was asked for so")
    let waiting = suspended.add(body)
    _ = try await reach("another queue goes on") { try await queue.run(ProcedureTask {}) }
    try expect(waiting.state, is: .waiting, "the state of a run on a suspended queue")
    await suspended.resume()
    let outcome = await reach("a queue that is resumed starts") { await waiting.outcome }
    try expect(outcome.isFinished, "finished", outcome)
  }

  func lentSlots() async throws {
    let queue = queue(width: 1)
    let leaf = ProcedureTask("leaf") { (number: Int) in number }
    let graph = ProcedureGraph("graph") { (g, number: Node<Int>) in
      let nodes = (0..<3).map { offset in
        g.add(ProcedureTask { (number: Int) in try await queue.run(leaf, input: number + offset) }, from: number)
      }
      return g.add(ProcedureTask { (all: [Int]) in all.reduce(0, +) }, from: nodes)
    }
    let root = ProcedureTask("root") {
      let ran = try await queue.run(leaf, input: 1)
      let added = try await queue.add(leaf, input: 2).value
      let outcome = await queue.add(leaf, input: 3).outcome.value ?? 0
      return try await ran + added + outcome + queue.run(graph, input: 4)
    }
    let handles = (0..<5).map { _ in queue.add(root) }
    for handle in handles {
      let value = try await reach("bodies that await others on their queue of width one end") { try await handle.value }
      try expect(value, is: 21, "the value of a body that awaits others")
    }
  }

  func nothingIsMissed() async throws {
    let queue = queue(width: 2)
    let executed = Milestones()
    let task = ProcedureTask { executed.increment() }
    let nesting = ProcedureTask { _ = queue.add(task) }
    for round in 1...20 {
      for _ in 0..<10 { queue.add(nesting) }
      await reach("the queue becomes idle") { await queue.waitUntilIdle() }
      try expect(executed.count, is: 10 * round, "procedures that were added by others and have executed")
    }
    for _ in 0..<10 { queue.add(task) }
    await reach("the queue shuts down") { await queue.shutDown() }
    try expect(executed.count, is: 210, "procedures that have executed when the queue has shut down")
    let refused = await queue.add(task).outcome
    try expect(refused.procedureError?.kind == .queueShutDown, "queueShutDown after the shutdown", refused)
    for isSuspended in [false, true] {
      let handles = fillAndDrop(isSuspended: isSuspended)
      for (number, handle) in handles.enumerated() {
        let outcome = await reach("what a dropped queue had still finishes") { await handle.outcome }
        try expect(outcome.isFinished(number), "finished(\(number)) although the queue was dropped", outcome)
      }
    }
  }

  private func fillAndDrop(isSuspended: Bool) -> [ProcedureHandle<Int>] {
    let queue = queue("dropped", width: 1, isSuspended: isSuspended)
    return (0..<10).map { number in queue.add(ProcedureTask { number }) }
  }
}
