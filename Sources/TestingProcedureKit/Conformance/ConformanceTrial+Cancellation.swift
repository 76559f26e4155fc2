/// Rules C: cancellation.
extension ConformanceTrial {
  func firstDecides() async throws {
    let queue = queue()
    let stubborn = ProbeProcedure<Void, Int>("stubborn", ignoresCancellation: true)
    let cancelled = queue.add(stubborn)
    try await reach("the body starts") { try await stubborn.waitUntilStarted() }
    cancelled.cancel(TrialError(number: 1))
    cancelled.cancel(TrialError(number: 2))
    stubborn.finish(1)
    let reason = await cancelled.outcome.cancellationReason(as: TrialError.self)
    try expect(reason, is: TrialError(number: 1), "the reason of a run that was cancelled twice")
    for round in 0..<50 {
      let probe = ProbeProcedure<Void, Int>("probe")
      let handle = queue.add(probe)
      try await reach("the body starts") { try await probe.waitUntilStarted() }
      if round % 2 == 0 { probe.finish(round) }
      handle.cancel()
      probe.finish(round)
      let outcome = await reach("a run finishes that is cancelled while its body returns") { await handle.outcome }
      try expect(outcome.isFinished(round) || outcome.isCancelled, "either the value or a cancel", outcome)
      let steps = await handle.allEvents().steps()
      try expect(steps.contains(.didCancel) == outcome.isCancelled, "didCancel for \(outcome)", steps)
      handle.cancel(TrialError())
      let later = await handle.outcome
      try expect("\(later)", is: "\(outcome)", "the outcome after a cancel of the finished run")
    }
  }

  func cancelledBeforeTheStart() async throws {
    let queue = queue(width: 1)
    let (blocker, body) = (ProbeProcedure("blocker"), ProbeProcedure("body"))
    let condition = ConditionProbe()
    let blocking = queue.add(blocker)
    try await reach("the first body starts") { try await blocker.waitUntilStarted() }
    let handles = [queue.add(body, after: [blocking]), queue.add(body), queue.add(body.condition(.probe(condition)))]
    try await reach("the condition is evaluated") { try await condition.waitUntilEvaluated() }
    for handle in handles {
      let state = handle.state
      handle.cancel(TrialError())
      let outcome = await reach("a run that is cancelled while \(state) finishes at once") { await handle.outcome }
      let reason = outcome.cancellationReason(as: TrialError.self)
      try expect(reason == TrialError(), "cancelled, for the given reason, when cancelled while \(state)", outcome)
      let steps = await handle.allEvents().steps()
      try expect(steps, is: [.didAttach, .didCancel, .willFinish, .didFinish], "events")
    }
    blocker.finish()
    let value = try await reach("the slot is free again") { try await queue.run(ProcedureTask { 1 }) }
    try expect(value, is: 1, "the value of what runs afterwards")
    try expect(body.startCount, is: 0, "bodies that start after their cancel")
  }

  func cancelledWhileExecuting() async throws {
    let queue = queue()
    for isFailing in [false, true] {
      let probe = ProbeProcedure<Void, Int>("body", ignoresCancellation: true)
      let (handled, seen) = (Milestones(), Milestones())
      let handle = queue.add(
        ProcedureTask {
          try await withTaskCancellationHandler {
            defer { if Task.isCancelled { seen.increment() } }
            return try await probe.execute(())
          } onCancel: {
            handled.increment()
          }
        })
      try await reach("the body starts") { try await probe.waitUntilStarted() }
      handle.cancel(TrialError(number: 1))
      try await reach("the cancellation handler of the body runs") { try await handled.wait(for: 1) }
      if isFailing { probe.fail(TrialError(number: 2)) } else { probe.finish(42) }
      let outcome = await reach("the run finishes with its body") { await handle.outcome }
      let reason = outcome.cancellationReason(as: TrialError.self)
      try expect(reason == TrialError(number: 1), "cancelled, with the reason of the cancel", outcome)
      try expect(seen.count, is: 1, "bodies in which Task.isCancelled is true")
    }
  }

  func cancelledCaller() async throws {
    let queue = queue(width: 1)
    let stubborn = ProbeProcedure<Void, Int>("stubborn", ignoresCancellation: true)
    let result = try await KitSpawner.withChild {
      do {
        _ = try await queue.run(stubborn)
        return (isCancelled: false, bodiesEnded: stubborn.endCount)
      } catch {
        return (isCancelled: error is CancellationError, bodiesEnded: stubborn.endCount)
      }
    } while: { cancel in
      try await self.reach("run executes the body") { try await stubborn.waitUntilStarted() }
      cancel()
      stubborn.finish(1)
    }
    let caller = try result.get()
    try expect(caller.isCancelled, "run throws CancellationError when its caller was cancelled", caller)
    try expect(caller.bodiesEnded, is: 1, "bodies that have ended when run returns")

    let probe = ProbeProcedure<Void, Int>("awaited")
    let handle = queue.add(probe)
    let awaited = try await KitSpawner.withChild {
      try await handle.value
    } while: { cancel in
      cancel()
      try await self.reach("the body starts") { try await probe.waitUntilStarted() }
      probe.finish(42)
    }
    let value = try? awaited.get()
    try expect(
      value == nil || value == 42, "a cancelled task that awaits a value is told of the cancel, or the value",
      value as Any)
    try expect(try? await handle.value, is: 42, "the value of a procedure that a cancelled task has awaited")
  }

  func cancelledGraph() async throws {
    let queue = queue()
    let (stubborn, obedient) = (ProbeProcedure("stubborn", ignoresCancellation: true), ProbeProcedure("obedient"))
    let later = ProbeProcedure("later")
    let graph = ProcedureGraph("graph") { g in
      g.add(later, after: [g.add(stubborn), g.add(obedient)])
    }
    let handle = queue.add(graph)
    try await reach("independent nodes start at once") {
      try await stubborn.waitUntilStarted()
      try await obedient.waitUntilStarted()
    }
    handle.cancel(TrialError())
    try await reach("a node that listens is cancelled") { try await obedient.waitUntilEnded() }
    try expect(handle.state != .finished, "a graph is not finished while a node executes", handle.state)
    stubborn.finish()
    let outcome = await reach("the graph finishes with its last node") { await handle.outcome }
    let reason = outcome.cancellationReason(as: TrialError.self)
    try expect(reason == TrialError(), "cancelled, for the given reason", outcome)
    try expect([stubborn.endCount, later.startCount], is: [1, 0], "nodes that have ended, and started afterwards")
  }

  func cancelDisturbsNobody() async throws {
    let queue = queue(width: 2)
    for _ in 0..<20 {
      let (victim, neighbour) = (ProbeProcedure("victim"), ProbeProcedure("neighbour"))
      let cancelled = queue.add(victim)
      let others =
        [queue.add(neighbour.map { Task.isCancelled })]
        + (0..<4).map { _ in queue.add(ProcedureTask { Task.isCancelled }) }
      try await reach("a queue of width two starts two") {
        try await victim.waitUntilStarted()
        try await neighbour.waitUntilStarted()
      }
      cancelled.cancel()
      let outcome = await reach("the cancelled run finishes") { await cancelled.outcome }
      try expect(outcome.isCancelled, "cancelled", outcome)
      neighbour.finish()
      for other in others {
        let outcome = await reach("the others finish") { await other.outcome }
        try expect(outcome.isFinished(false), "no other run is cancelled", outcome)
      }
    }
  }
}
