/// Rules L: the life of a run.
extension ConformanceTrial {
  func statesGoForward() async throws {
    let (queue, other) = (queue(width: 1), queue("other"))
    let (blocker, first) = (ProbeProcedure("blocker"), ProbeProcedure("dependency"))
    let (condition, body) = (ConditionProbe(), ProbeProcedure<Void, Int>("body"))
    queue.add(blocker)
    try await reach("a procedure starts on an empty queue") { try await blocker.waitUntilStarted() }
    let handle = queue.add(body.condition(.probe(condition)), after: [other.add(first)])
    let waiting = queue.add(ProcedureTask("waiting") {})
    try expect(handle.state, is: .pending, "the state of a run whose dependency executes")
    try expect(waiting.state, is: .waiting, "the state of a run that is without a slot")
    first.finish()
    try await reach("a condition is evaluated when dependencies have finished") {
      try await condition.waitUntilEvaluated()
    }
    try expect(handle.state, is: .evaluating, "the state of a run whose condition is evaluated")
    condition.satisfy()
    blocker.finish()
    try await reach("the body starts when there is a slot") { try await body.waitUntilStarted() }
    try expect(handle.state, is: .executing, "the state of a run whose body executes")
    body.finish(42)
    let value = try await reach("the run finishes with its body") { try await handle.value }
    try expect(value, is: 42, "the value of the run")
    try expect(handle.state, is: .finished, "the state of a run whose value is known")
    handle.cancel()
    let finishes = await handle.allEvents().count { $0.kind == .didFinish }
    try expect(finishes, is: 1, "the number of times that the run finishes")
  }

  func eventsAreOrdered() async throws {
    let queue = queue()
    let watched = queue.events
    let (finishing, failing) = (ProbeProcedure("finishing"), ProbeProcedure("failing"))
    let (cancelled, never) = (ProbeProcedure("cancelled"), ProbeProcedure("never"))
    let handles = [
      queue.add(finishing), queue.add(failing), queue.add(cancelled), queue.add(never.condition("no") { false }),
    ]
    for probe in [finishing, failing, cancelled] {
      try await reach("\(probe.name) starts") { try await probe.waitUntilStarted() }
    }
    finishing.finish()
    failing.fail(TrialError())
    handles[2].cancel()
    let executed: [ProcedureEvent.Kind] = [.didAttach, .willExecute, .didExecute, .willFinish, .didFinish]
    let expected: [[ProcedureEvent.Kind]] = [
      executed, executed, [.didAttach, .willExecute, .didCancel, .didExecute, .willFinish, .didFinish],
      [.didAttach, .willFinish, .didFinish],
    ]
    for (handle, steps) in zip(handles, expected) {
      let seen = await reach("the events of \(handle) end") { await handle.allEvents() }
      try expect(seen.steps(), is: steps, "the events of \(handle.identity)")
      let replayed = await handle.allEvents()
      try expect(replayed.steps(), is: steps, "the events of \(handle.identity) for a late subscriber")
    }
    await reach("the queue shuts down") { await queue.shutDown() }
    var all: [ProcedureEvent] = []
    await reach("the events of a queue end with it") { for await event in watched { all.append(event) } }
    try expect(all.orderViolations(), is: [], "breaches of the order on the queue")
    for (handle, steps) in zip(handles, expected) {
      try expect(all.steps(of: handle.id), is: steps, "the events of \(handle.identity) on the queue")
    }
  }

  func finishedIsFinished() async throws {
    let queue = queue(width: 1)
    for number in 0..<20 {
      let handle = queue.add(ProcedureTask { number })
      for await event in handle.events where event.kind == .didFinish {
        try expect(handle.state, is: .finished, "the state of a run at its didFinish")
        let (value, slots) = (try await handle.value, queue.snapshot().slotsInUse)
        try expect(value, is: number, "the value of a run at its didFinish")
        try expect(slots, is: 0, "slots in use at the didFinish of the only run")
      }
    }
  }
}
