import Testing
import TestingProcedureKit

@testable import ProcedureKit

/// Those who want alone just what one holds follow it, and claim nothing: nobody can tell.
@Suite struct FollowingTests {
  private let table = ResourceTable()
  private let queue: ProcedureQueue
  private let other: ProcedureQueue
  private let started = Box<[String]>([])
  private let body = ProbeProcedure("leader")
  private let executes = Signal()
  private let leader: ProcedureHandle<Void>

  /// A body that holds "x" until it is told to end.
  init() async throws {
    queue = ProcedureQueue("q", resources: table)
    other = ProcedureQueue("other", resources: table)
    leader = queue.add(body.exclusive("x").priority(.medium))
    try await body.waitUntilStarted()
  }

  private func procedure(_ name: String) -> ProcedureTask<Void, Void> {
    ProcedureTask(name) { [started] in started.update { $0.append(name) } }.priority(.medium)
  }

  @discardableResult
  private func follow(_ name: String, on queue: ProcedureQueue? = nil) -> ProcedureHandle<Void> {
    (queue ?? self.queue).add(procedure(name).exclusive("x"))
  }

  /// Which of these follow at this moment; looking admits what is in the inbox.
  private func following(_ handles: [ProcedureHandle<Void>]) -> [Bool] {
    queue.core.withState { state in handles.map { $0.run.member >= 0 && state.machine.follows($0.run.member) } }
  }

  /// The beginning of a body that comes after the leader, and goes on when it is told to.
  private func start(at signal: Signal) async {
    executes.set()
    await signal.wait()
  }

  /// Lets the leader end, and returns when the body that comes after it has begun.
  private func endLeader() async throws {
    body.finish()
    try await leader.value
    await executes.wait()
  }

  private func release() async -> [String] {
    body.finish()
    await queue.waitUntilIdle()
    await other.waitUntilIdle()
    #expect(table.count == 0)
    return started.value
  }

  @Test("R1: those who want just what one holds follow it, one after another, and nobody else does")
  func order() async {
    let handles =
      ["a", "b", "c"].map { follow($0) } + [queue.add(procedure("all").uses(Resource("gpu", capacity: 2), units: 2))]
    #expect(following(handles) == [true, true, true, false])
    try? await handles[3].value
    #expect(await release() == ["all", "a", "b", "c"])
  }

  @Test("R1: who wants units follows who holds all of them, if it wants all of them")
  func units() async throws {
    let (gpu, training) = (Resource("units", capacity: 3), ProbeProcedure("training"))
    let holder = queue.add(training.uses(gpu, units: 3).priority(.medium))
    try await training.waitUntilStarted()
    // One is followed at a time.
    #expect(following([queue.add(procedure("other").uses(gpu, units: 3))]) == [false])
    body.finish()
    try await leader.value
    training.finish()
    try await holder.value
    let next = ProbeProcedure("next")
    _ = queue.add(next.uses(gpu, units: 3).priority(.medium))
    try await next.waitUntilStarted()
    let handles = [queue.add(procedure("all").uses(gpu, units: 3)), queue.add(procedure("one").uses(gpu))]
    #expect(following(handles) == [true, false])
    next.finish()
    #expect(await release() == ["other", "all", "one"])
  }

  @Test("R1: first come, first served, also between those who follow and those who wait elsewhere")
  func queues() async {
    let first = ["a", "b"].map { follow($0) }
    follow("c", on: other)
    let second = ["d", "e"].map { follow($0) }
    follow("f", on: other)
    #expect(following(first + second) == [true, true, false, false])
    #expect(await release() == ["a", "b", "c", "d", "e", "f"])
  }

  @Test("R1: who wants something besides comes in its turn, and so do readers")
  func others() async {
    follow("a")
    queue.add(procedure("b").exclusive("x", "y"))
    follow("c")
    queue.add(procedure("d").shared("x"))
    follow("e")
    #expect(await release() == ["a", "b", "c", "d", "e"])
  }

  @Test("Q1: what wants nothing does not wait for those who follow")
  func plain() async throws {
    let handles = [follow("a"), follow("b")]
    try await queue.add(procedure("plain")).value
    try await queue.run(procedure("run"))
    #expect(following(handles) == [true, true])
    #expect(await release() == ["plain", "run", "a", "b"])
  }

  @Test("Q1: who has come before gets a slot before those who follow, where there are few")
  func slots() async {
    await queue.setMaxConcurrentProcedures(1)
    follow("a")
    queue.add(procedure("b"))
    follow("c")
    queue.add(procedure("d"))
    #expect(await release() == ["a", "b", "c", "d"])
  }

  @Test("What wants nothing, and has come by the inbox, is not taken for one that follows")
  func plainArrivals() async throws {
    let held = try await HeldQueue(resources: table)
    let holds = Box<[Bool]>([])
    let look = ProcedureTask("look") { holds.update { $0.append(ProcedureContext.current?.hold != nil) } }.priority(
      .medium)
    held.queue.add(look.exclusive("x"))
    for _ in 0..<3 { held.queue.add(look) }
    #expect(held.isOpen && held.admitted == 2)
    body.finish()
    try await leader.value
    _ = await held.release()
    #expect(holds.value == [true, false, false, false])
    #expect(table.count == 0)
  }

  @Test("C2: who is cancelled while it follows never executes, and nobody else is concerned")
  func cancel() async {
    let handles = ["a", "b", "c", "d"].map { follow($0) }
    handles[0].cancel()
    handles[2].cancel(TestError(code: 2))
    #expect(await handles[0].outcome.isCancelled)
    guard case .cancelled(let reason) = await handles[2].outcome else { return #expect(Bool(false)) }
    #expect(reason as? TestError == TestError(code: 2))
    #expect(await release() == ["b", "d"])
  }

  @Test("C6: those who follow one that is cancelled, or fails, are not concerned")
  func leaderFails() async {
    for name in ["a", "b"] { follow(name) }
    queue.add(ProcedureTask("failing") { throw TestError() }.exclusive("x").priority(.medium))
    follow("c")
    leader.cancel()
    body.finish()
    #expect(await leader.outcome.isCancelled)
    #expect(await release() == ["a", "b", "c"])
  }

  @Test("Q1, Q7: who is raised while it follows comes first, and whom it follows is raised as well")
  func raise() async {
    let handles = ["a", "b", "c"].map { follow($0) }
    handles[2].raise(to: .high)
    #expect(following(handles) == [true, true, true])
    #expect(leader.run.linePriority == TaskPriority.high.rawValue)
    follow("d")
    #expect(await release() == ["c", "a", "b", "d"])
  }

  @Test("Q7: something urgent that waits elsewhere raises whom others follow, and comes in its turn")
  func urgent() async {
    let handles = ["a", "b"].map { follow($0) }
    other.add(procedure("urgent").priority(.high).exclusive("x"))
    #expect(leader.run.linePriority == TaskPriority.high.rawValue)
    #expect(following(handles + [follow("c")]) == [true, true, false])
    #expect(await release() == ["a", "b", "urgent", "c"])
  }

  @Test("Q2: nothing is held on a suspended queue for those who follow, and nobody comes to")
  func suspend() async throws {
    let handles = ["a", "b"].map { follow($0) }
    await queue.suspend()
    #expect(following(handles + [follow("c")]) == [true, true, false])
    body.finish()
    try await leader.value
    try await other.run(procedure("elsewhere").exclusive("x"))
    #expect(started.value == ["elsewhere"])
    await queue.resume()
    #expect(await release() == ["elsewhere", "a", "b", "c"])
  }

  @Test("R1: who waits elsewhere comes in its turn, also if the queue was suspended meanwhile")
  func suspendInTurn() async {
    for name in ["a", "b"] { follow(name) }
    follow("c", on: other)
    await queue.suspend()
    follow("d")
    await queue.resume()
    #expect(await release() == ["a", "b", "c", "d"])
  }

  @Test("R1: who waits elsewhere comes in its turn, also if the leader lends its slot")
  func lendInTurn() async throws {
    let go = Signal()
    let holder = queue.add(
      ProcedureTask("lends") {
        await start(at: go)
        try await queue.run(procedure("inner"))
      }.exclusive("x").priority(.medium))
    try await endLeader()
    let handles = ["a", "b"].map { follow($0) }
    follow("c", on: other)
    #expect(following(handles) == [true, true])
    go.set()
    try await holder.value
    #expect(await release() == ["inner", "a", "b", "c"])
  }

  @Test("R1, C2: what is passed on to one that has no slot yet goes to the next if that is cancelled")
  func cancelInLine() async throws {
    let (plain, slots) = (ProbeProcedure("plain"), queue.add(ProcedureTask("first") {}))
    try await slots.value
    let holder = queue.add(plain.priority(.medium))
    try await plain.waitUntilStarted()
    let handles = ["a", "b", "c"].map { follow($0) }
    follow("d", on: other)
    await queue.setMaxConcurrentProcedures(1)
    body.finish()
    try await leader.value
    #expect(following(handles) == [false, true, true] && handles[0].state == .waiting)
    handles[0].cancel()
    #expect(await handles[0].outcome.isCancelled)
    #expect(following(handles) == [false, false, true])
    plain.finish()
    try await holder.value
    #expect(await release() == ["b", "c", "d"])
  }

  @Test("R4: one who awaits somebody that follows it finds out that this can never come")
  func deadlock() async throws {
    let (go, handle) = (Signal(), Box<ProcedureHandle<Void>?>(nil))
    let holder = queue.add(
      ProcedureTask("awaits") {
        await start(at: go)
        return await handle.value?.outcome
      }.exclusive("x").priority(.medium))
    try await endLeader()
    handle.update { $0 = queue.add(procedure("awaited").exclusive("x")) }
    let next = follow("next")
    #expect(following([handle.value, next].compactMap(\.self)) == [true, true])
    go.set()
    guard case .failed(let error)? = try await holder.value else { throw TestError() }
    #expect((error as? ProcedureError)?.kind == .exclusionDeadlock)
    #expect(await release() == ["next"])
  }

  @Test("Q3: who lends its slot is followed no longer, and those who did come in their turn")
  func lending() async throws {
    let go = Signal()
    let holder = queue.add(
      ProcedureTask("lends") {
        await start(at: go)
        try await queue.run(procedure("inner"))
        try await queue.run(procedure("inside").exclusive("x"))
      }.exclusive("x").priority(.medium))
    try await endLeader()
    let handles = ["a", "b"].map { follow($0) }
    #expect(following(handles) == [true, true])
    go.set()
    try await holder.value
    #expect(await release() == ["inner", "inside", "a", "b"])
  }

  @Test("Q3: those who follow have what is given back during a pause")
  func pausing() async throws {
    let (go, attempts) = (Signal(), Box(0))
    let holder = queue.add(
      ProcedureTask("retries") {
        await start(at: go)
        started.update { $0.append("attempt") }
        if attempts.update({
          $0 += 1
          return $0
        }) == 1 {
          throw TestError()
        }
      }.retry(.constant(.milliseconds(1)), maxAttempts: 2).exclusive("x").priority(.medium))
    try await endLeader()
    follow("a")
    go.set()
    try await holder.value
    #expect(await release() == ["attempt", "a", "attempt"])
  }

  @Test("R3: a task that a body has left behind is not inside of what those hold who follow it")
  func leftBehind() async throws {
    let (go, left) = (Signal(), Signal())
    let holder = queue.add(
      ProcedureTask("leaves") {
        await start(at: go)
        return Task {
          await left.wait()
          try await ProcedureTask("late") { started.update { $0.append("late") } }.exclusive("x").execute()
        }
      }.exclusive("x").priority(.medium))
    try await endLeader()
    let next = ProbeProcedure("next")
    queue.add(next.exclusive("x").priority(.medium))
    go.set()
    let task = try await holder.value
    try await next.waitUntilStarted()
    left.set()
    // It waits for what the next one holds, as anybody does.
    while table.index.entry(for: ResourceRequest(categories: ["x"], isShared: false).demands[0], in: table).waitCount
      == 0,
      started.value.isEmpty
    {
      await Task.yield()
    }
    #expect(started.value.isEmpty)
    next.finish()
    try await task.value
    #expect(await release() == ["late"])
  }

  @Test("A snapshot, a state and events tell of those who follow as of those who wait for what is held")
  func looking() async throws {
    let handles = ["a", "b"].map { follow($0) }
    let snapshot = queue.snapshot()
    #expect(
      snapshot.procedures.dropFirst().map { $0.wait.map { "\($0)" } }
        == Array(repeating: "\"x\", which \(leader.identity) holds", count: 2))
    #expect(handles.map(\.state) == [.waiting, .waiting])
    let events = handles[1].events
    #expect(await release() == ["a", "b"])
    var names: [String] = []
    for await event in events { names.append(event.shortName) }
    #expect(names == ["didAttach", "willExecute", "didExecute", "willFinish", "didFinish"])
  }

  @Test("Q4: a queue that is shut down, or let go of, executes those who follow", arguments: [false, true])
  func shutDown(isLetGoOf: Bool) async throws {
    var queue: ProcedureQueue? = ProcedureQueue("q", resources: table)
    let body = ProbeProcedure("body")
    body.finish()
    var handles: [ProcedureHandle<Void>] = []
    handles.append(try #require(queue?.add(body.exclusive("z").priority(.medium))))
    for number in 0..<100 {
      handles.append(
        try #require(
          queue?.add(ProcedureTask { started.update { $0.append("\(number)") } }.exclusive("z").priority(.medium))))
    }
    if !isLetGoOf { await queue?.shutDown() }
    queue = nil
    for handle in handles { try await handle.value }
    #expect(started.value == (0..<100).map { "\($0)" })
    started.update { $0 = [] }
    _ = await release()
  }

  @Test("Many that exclude each other, added from several tasks, execute one at a time, each adder's in order")
  func many() async throws {
    body.finish()
    try await leader.value
    let (active, most, order) = (Box(0), Box(0), Box<[Int: [Int]]>([:]))
    await withTaskGroup(of: Void.self) { group in
      for adder in 0..<3 {
        group.addTask {
          let target = adder == 2 ? other : queue
          let handles = (0..<2_000).map { number in
            target.add(
              ProcedureTask {
                let now = active.update {
                  $0 += 1
                  return $0
                }
                most.update { $0 = max($0, now) }
                order.update { $0[adder, default: []].append(number) }
                active.update { $0 -= 1 }
              }.exclusive("x").priority(.medium))
          }
          for handle in handles { try? await handle.value }
        }
      }
    }
    #expect(most.value == 1)
    for adder in 0..<3 { #expect(order.value[adder] == Array(0..<2_000)) }
    #expect(table.count == 0)
  }
}
