/// Rules R1 to R4: mutual exclusion. Each trial has its own categories, since queues may share a table.
extension ConformanceTrial {
  private struct Category: Hashable, Sendable {
    var trial: ObjectIdentifier
    var name: String
  }

  private func category(_ name: String) -> Category {
    Category(trial: ObjectIdentifier(self), name: name)
  }

  func exclusionHolds() async throws {
    let (queue, a, b) = (queue(), category("a"), category("b"))
    let monitor = ConcurrencyMonitor()
    let probe = ProbeProcedure("exclusive", monitor: monitor)
    let both = queue.add(probe.exclusive(a, b))
    try await reach("the first body starts") { try await probe.waitUntilStarted() }
    let others = [
      queue.add(probe.exclusive(b).exclusive(a)), queue.add(probe.exclusive(b)), queue.add(probe.exclusive(a)),
    ]
    _ = try await reach("a procedure without a category goes on") { try await queue.run(ProcedureTask {}) }
    try expect(probe.startCount, is: 1, "bodies that start while their categories are held")
    probe.finishAll()
    for handle in [both] + others { _ = await reach("all bodies execute") { await handle.outcome } }
    try expect(probe.startCount, is: 4, "bodies that have started in the end")

    let reader = ProbeProcedure("reader")
    let readers = [queue.add(reader.shared(a)), queue.add(reader.shared(a))]
    try await reach("those that share a category execute together") { try await reader.waitUntilStarted(2) }
    let writer = ProbeProcedure("writer")
    let writing = queue.add(writer.exclusive(a))
    writer.finish()
    let late = queue.add(reader.shared(a))
    _ = try await reach("a procedure without a category goes on") { try await queue.run(ProcedureTask {}) }
    try expect([writer.startCount, reader.startCount], is: [0, 2], "writers beside readers, and readers")
    reader.finishAll()
    for handle in readers + [writing, late] { _ = await reach("all bodies execute") { await handle.outcome } }
  }

  func heldOnlyToExecute() async throws {
    let (queue, a) = (queue(), category("a"))
    let (dependency, condition, body) = (ProbeProcedure("dependency"), ConditionProbe(), ProbeProcedure("body"))
    let task = body.exclusive(a)
    let pending = queue.add(task, after: [queue.add(dependency)])
    let evaluating = queue.add(task.condition(.probe(condition)))
    try await reach("the condition is evaluated") { try await condition.waitUntilEvaluated() }
    body.finish()
    try await reach("nothing is held while dependencies and conditions are undecided") { try await queue.run(task) }
    body.finishAll()
    dependency.finish()
    condition.satisfy()
    for handle in [pending, evaluating] {
      let outcome = await reach("what waited executes") { await handle.outcome }
      try expect(outcome.isFinished, "finished", outcome)
    }
  }

  func onlyTheHolderGivesBack() async throws {
    let (queue, other, a) = (queue(), self.queue("other"), category("a"))
    let (holder, waiter) = (ProbeProcedure("holder"), ProbeProcedure("waiter"))
    waiter.finishAll()
    let holding = queue.add(holder.exclusive(a))
    try await reach("the first body starts") { try await holder.waitUntilStarted() }
    let (cancelled, waiting) = (queue.add(waiter.exclusive(a)), other.add(waiter.exclusive(a)))
    await other.suspend()
    cancelled.cancel()
    let outcome = await reach("a waiter that is cancelled finishes at once") { await cancelled.outcome }
    try expect(outcome.isCancelled, "cancelled", outcome)
    _ = try await reach("a procedure without a category goes on") { try await queue.run(ProcedureTask {}) }
    try expect(waiter.startCount, is: 0, "bodies that start while another one holds their category")
    await other.resume()
    holder.finish()
    for handle in [holding, waiting] {
      let outcome = await reach("the category is given back") { await handle.outcome }
      try expect(outcome.isFinished, "finished", outcome)
    }
  }

  func nestedHolds() async throws {
    let (queue, a, monitor) = (queue(), category("a"), ConcurrencyMonitor())
    let child = ProcedureTask("child") { await monitor.during { await Task.yield() } }.exclusive(a)
    let parent = ProcedureTask("parent") {
      let sibling = try await KitSpawner.withChild {
        try await queue.run(child)
      } while: { _ in
        try await child.execute()
      }
      try sibling.get()
    }
    let handles = (0..<2).map { _ in queue.add(parent.exclusive(a)) }
    for handle in handles {
      let outcome = await reach("a holder's child of the same category executes") { await handle.outcome }
      try expect(outcome.isFinished, "finished", outcome)
    }
    try expect(monitor.total, is: 4, "children that have executed")
    try expect(monitor.most, is: 1, "the most children of one category at once")
  }
}
