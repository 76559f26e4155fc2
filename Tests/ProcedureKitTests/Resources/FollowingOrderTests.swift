import Testing
import TestingProcedureKit

@testable import ProcedureKit

/// Those who follow change nobody's turn.
@Suite struct FollowingOrderTests {
  private let table = ResourceTable()
  private let started = Box<[String]>([])

  private func procedure(_ name: String, _ priority: TaskPriority = .medium) -> ProcedureTask<Void, Void> {
    ProcedureTask(name) { [started] in started.update { $0.append(name) } }.priority(priority)
  }

  @Test("What wants nothing, and has come by the inbox, is never given what somebody held whom others might follow")
  func plainArrivalAfterLeader() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1, resources: table)
    let (first, leader, last) = (ProbeProcedure("first"), ProbeProcedure("leader"), ProbeProcedure("last"))
    queue.add(first.priority(.medium))
    try await first.waitUntilStarted()
    queue.add(leader.exclusive("x").priority(.medium))
    queue.add(procedure("p1"))
    queue.add(procedure("p2"))
    queue.add(last.priority(.medium))
    first.finish()
    try await leader.waitUntilStarted()
    leader.finish()
    try await last.waitUntilStarted()
    #expect(table.count == 0)
    last.finish()
    await queue.waitUntilIdle()
    #expect(table.count == 0)
  }

  @Test("Q1: on a full queue, what is more urgent comes before those who follow")
  func urgentPlain() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1, resources: table)
    let leader = ProbeProcedure("leader")
    queue.add(leader.exclusive("x").priority(.medium))
    try await leader.waitUntilStarted()
    for name in ["a", "b", "c"] { queue.add(procedure(name).exclusive("x")) }
    queue.add(procedure("urgent", .high))
    leader.finish()
    await queue.waitUntilIdle()
    #expect(started.value == ["urgent", "a", "b", "c"])
  }

  @Test("Q1: the same, where it wants the same")
  func urgentExclusive() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1, resources: table)
    let leader = ProbeProcedure("leader")
    queue.add(leader.exclusive("x").priority(.medium))
    try await leader.waitUntilStarted()
    for name in ["a", "b", "c"] { queue.add(procedure(name).exclusive("x")) }
    queue.add(procedure("urgent", .high).exclusive("x"))
    leader.finish()
    await queue.waitUntilIdle()
    #expect(started.value == ["urgent", "a", "b", "c"])
  }

  @Test("Q1: on a full queue, what was admitted before those who follow comes before them, also if it was ready late")
  func admittedBefore() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1, resources: table)
    let other = ProcedureQueue("other", resources: table)
    let (leader, dependency) = (ProbeProcedure("leader"), ProbeProcedure("dependency"))
    let handle = other.add(dependency.priority(.medium))
    try await dependency.waitUntilStarted()
    queue.add(leader.exclusive("x").priority(.medium))
    try await leader.waitUntilStarted()
    let early = queue.add(procedure("early"), after: [handle])
    for name in ["a", "b", "c"] { queue.add(procedure(name).exclusive("x")) }
    dependency.finish()
    try await handle.value
    while early.state == .pending { await Task.yield() }
    leader.finish()
    await queue.waitUntilIdle()
    #expect(started.value == ["early", "a", "b", "c"])
  }

  @Test("Q1, Q3: on a full queue, a body that wants its slot back comes before those who follow")
  func innerRun() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1, resources: table)
    let (go, waits, leader) = (Signal(), Signal(), ProbeProcedure("leader"))
    let outer = queue.add(
      ProcedureTask("outer") {
        // It lends its slot, and is a part of nothing that follows.
        await ProcedureContext.lendingSlot {
          waits.set()
          await go.wait()
        }
        started.update { $0.append("outer") }
      }.priority(.medium))
    await waits.wait()
    queue.add(leader.exclusive("x").priority(.medium))
    try await leader.waitUntilStarted()
    for name in ["a", "b", "c"] { queue.add(procedure(name).exclusive("x")) }
    go.set()
    while !queue.core.withState({ $0.wantsSlotBack(outer.run) }) { await Task.yield() }
    leader.finish()
    await queue.waitUntilIdle()
    #expect(started.value == ["outer", "a", "b", "c"])
  }

  @Test("Q7: who takes over what something urgent waits for is raised as well", arguments: [false, true])
  func urgentElsewhere(longWay: Bool) async throws {
    let queue = ProcedureQueue("q", resources: table)
    let other = ProcedureQueue("other", resources: table)
    let (leader, next) = (ProbeProcedure("leader"), ProbeProcedure("next"))
    let holder = queue.add(leader.exclusive("x").priority(.medium))
    try await leader.waitUntilStarted()
    let handle = queue.add(next.exclusive("x").priority(.medium))
    other.add(procedure("urgent", .high).exclusive("x"))
    #expect(holder.run.linePriority == TaskPriority.high.rawValue)
    if longWay { holder.cancel() }
    leader.finish()
    try await next.waitUntilStarted()
    #expect(handle.run.linePriority == TaskPriority.high.rawValue)
    next.finish()
    await queue.waitUntilIdle()
    await other.waitUntilIdle()
    #expect(table.count == 0)
  }

  @Test("Q7: what a body runs that has taken over what something urgent waits for is as urgent")
  func urgentElsewhereSeen() async throws {
    let queue = ProcedureQueue("q", resources: table)
    let other = ProcedureQueue("other", resources: table)
    let (go, leader, blocker) = (Signal(), ProbeProcedure("leader"), ProbeProcedure("blocker"))
    queue.add(leader.exclusive("x").priority(.medium))
    try await leader.waitUntilStarted()
    let executes = Signal()
    queue.add(
      ProcedureTask("next") {
        executes.set()
        await go.wait()
        try await queue.run(procedure("inner"))
      }.exclusive("x").priority(.medium))
    other.add(procedure("urgent", .high).exclusive("x"))
    leader.finish()
    await executes.wait()
    queue.add(blocker.priority(.medium))
    try await blocker.waitUntilStarted()
    await queue.setMaxConcurrentProcedures(1)
    queue.add(procedure("between", TaskPriority(rawValue: 23)))
    go.set()
    while !queue.snapshot().procedures.contains(where: { $0.procedure.name == "inner" }) { await Task.yield() }
    blocker.finish()
    await queue.waitUntilIdle()
    await other.waitUntilIdle()
    #expect(Array(started.value.prefix(1)) == ["inner"])
  }

  @Test("Q7: who claims in an earlier turn, before something urgent, is raised to its priority")
  func urgentBehind() async throws {
    let queue = ProcedureQueue("q", resources: table)
    let other = ProcedureQueue("other", resources: table)
    let (go, executes, inner, next) = (Signal(), Signal(), ProbeProcedure("inner"), ProbeProcedure("next"))
    queue.add(
      ProcedureTask("leader") {
        executes.set()
        await go.wait()
        try await queue.run(inner)
      }.exclusive("x").priority(.medium))
    await executes.wait()
    let handle = queue.add(next.exclusive("x").priority(.medium))
    other.add(procedure("urgent", .high).exclusive("x"))
    go.set()
    try await inner.waitUntilStarted()
    #expect(handle.run.linePriority == TaskPriority.high.rawValue)
    inner.finish()
    try await next.waitUntilStarted()
    #expect(handle.run.linePriority == TaskPriority.high.rawValue)
    next.finish()
    await queue.waitUntilIdle()
    await other.waitUntilIdle()
    #expect(table.count == 0)
  }

  @Test("A run that others may follow does not keep the work of others from going on without a look at the queue")
  func gate() async throws {
    let queue = ProcedureQueue("q", resources: table)
    let leader = ProbeProcedure("leader")
    queue.add(leader.exclusive("x").priority(.medium))
    try await leader.waitUntilStarted()
    queue.core.withState { _ in }
    #expect(!queue.core.isGated)
    leader.finish()
    await queue.waitUntilIdle()
  }

  @Test("R1: first come, first served, also where a worker is still on its way to the one that holds")
  func strictAtTheBeginning() async throws {
    var wrong = 0
    for _ in 0..<200 {
      let table = ResourceTable()
      let (queue, other) = (ProcedureQueue("q", resources: table), ProcedureQueue("other", resources: table))
      let order = Box<[String]>([])
      func task(_ name: String) -> ProcedureTask<Void, Void> {
        ProcedureTask(name) { order.update { $0.append(name) } }.exclusive("x").priority(.medium)
      }
      queue.add(task("M"))
      queue.add(task("r"))
      other.add(task("E"))
      await queue.waitUntilIdle()
      await other.waitUntilIdle()
      if order.value != ["M", "r", "E"] { wrong += 1 }
    }
    #expect(wrong == 0)
  }

  @Test("Q1: those of the highest priority that there is follow each other as well")
  func highest() async {
    let (queue, highest) = (ProcedureQueue("q", resources: table), TaskPriority(rawValue: .max))
    for name in ["a", "b", "c"] { queue.add(procedure(name, highest).exclusive("x")) }
    await queue.waitUntilIdle()
    #expect(started.value == ["a", "b", "c"] && table.count == 0)
  }

  @Test("Q7: one that is raised while it follows is raised alone")
  func raisedAlone() async throws {
    let queue = ProcedureQueue("q", resources: table)
    let probes = ["leader", "urgent", "next"].map { ProbeProcedure($0) }
    var handles: [ProcedureHandle<Void>] = []
    for probe in probes {
      handles.append(queue.add(probe.exclusive("x").priority(.medium)))
      if handles.count == 1 { try await probe.waitUntilStarted() }
    }
    handles[1].raise(to: .high)
    for (number, probe) in probes.enumerated() {
      try await probe.waitUntilStarted()
      let expected: TaskPriority = number < 2 ? .high : .medium
      #expect(queue.core.withState { $0[handles[number].run].priority } == expected.rawValue)
      probe.finish()
    }
    await queue.waitUntilIdle()
  }
}
