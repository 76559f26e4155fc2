import Testing
import TestingProcedureKit

/// Tests in which every lock acquisition and every atomic operation of the core is a choice.
///
/// If the core is deliberately broken, so that `Run.register` checks the state in one lock acquisition and registers in the next, it fails
/// within 3 to 140 schedules, depending on the seed.
@Suite(.timeLimit(.minutes(10))) struct ExploredEngineTests {
  @Test("C4: a run can end between any two lock acquisitions of the tasks that wait for its outcome")
  func outcome() async throws {
    let summary = try await exploreSchedules(500) { env in
      let queue = env.makeQueue()
      let handle = queue.add(ProcedureTask { 7 })
      async let first = handle.value
      async let second = handle.value
      env.check(try await first == 7)
      env.check(try await second == 7)
      await queue.shutDown()
    }
    #expect(summary.distinctTraces > 200, "\(summary)")
  }

  @Test("A cancellation, a dependent and a subscriber can arrive between any two lock acquisitions of a run")
  func cancel() async throws {
    let summary = try await exploreSchedules(500) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let events = env.recordEvents(of: queue)
      let first = queue.add(ProcedureTask { await Task.yield() })
      async let dependent = queue.add(ProcedureTask {}, after: [first]).outcome
      async let cancelling: Void = first.cancel()
      _ = await (dependent, cancelling)
      env.check(first.state == .finished)
      await queue.shutDown()
      env.check(events.events.orderViolations().isEmpty)
    }
    #expect(summary.distinctTraces > 200, "\(summary)")
  }

  @Test("Q1, Q7: a dependent gets the slot before a run that comes after it", arguments: [false, true])
  func dependent(isUrgent: Bool) async throws {
    let priority: TaskPriority = isUrgent ? .high : .medium
    try await exploreSchedules(500) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1, isSuspended: true)
      let order = Locked<[Int]>([])
      let last = isUrgent ? queue.add(ProcedureTask(priority: .medium) { order.withLock { $0.append(3) } }) : nil
      let first = queue.add(ProcedureTask(priority: priority) { order.withLock { $0.append(1) } })
      let second = queue.add(ProcedureTask(priority: priority) { order.withLock { $0.append(2) } }, after: [first])
      let third = last ?? queue.add(ProcedureTask(priority: priority) { order.withLock { $0.append(3) } })
      queue.resume()
      _ = await (second.outcome, third.outcome)
      let all = order.withLock(\.self)
      env.check(all == [1, 2, 3], "\(all)")
    }
  }
}
