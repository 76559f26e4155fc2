import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

/// Tests dependencies that are added to a run that has not started.
@Suite(.timeLimit(.atDepth)) struct AddedDependencyTests {
  private let gate = Signal()

  private func waiting(_ name: String = "gate", on queue: ProcedureQueue) -> ProcedureHandle<Void> {
    queue.add(ProcedureTask(name) { await gate.wait() })
  }

  /// Adds a run that does not start, because another run has the only slot.
  private func blocked(_ task: ProcedureTask<Void, Int>) async -> (ProcedureHandle<Int>, release: Signal) {
    let (queue, started, release) = (ProcedureQueue("q", maxConcurrentProcedures: 1), Signal(), Signal())
    queue.add("busy") {
      started.set()
      await release.wait()
    }
    await started.wait()
    return (queue.add(task), release)
  }

  @Test("A run that waits for a slot waits for an added dependency, which can be on another queue")
  func waitsForSlot() async throws {
    let (handle, release) = await blocked(ProcedureTask { 1 })
    let dependency = waiting(on: ProcedureQueue("other"))
    #expect(handle.addDependency(dependency))
    #expect(handle.addDependency(dependency))
    #expect(handle.state == .pending)
    release.set()
    let witness = ProcedureQueue("other").add("witness") { handle.state }
    #expect(try await witness.value == .pending)
    gate.set()
    #expect(try await handle.value == 1)
  }

  @Test("A run of a suspended queue, with or without conditions, waits for an added dependency")
  func suspended() async throws {
    let (queue, order) = (ProcedureQueue("q", isSuspended: true), Record<String>())
    let plain = queue.add("plain") { order.append("plain") }
    let conditional = queue.add(
      ProcedureTask("conditional") { order.append("conditional") }.condition("yes") { true })
    let last = queue.add("last") { order.append("last") }
    #expect(plain.addDependency(last))
    #expect(conditional.addDependency(plain))
    #expect(plain.state == .pending && conditional.state == .pending)
    queue.resume()
    try await conditional.value
    #expect(order.values == ["last", "plain", "conditional"])
  }

  @Test("An added dependency that does not succeed ends the run, and one that has finished changes nothing")
  func outcomes() async throws {
    let queue = ProcedureQueue("q", isSuspended: true)
    let other = ProcedureQueue("other")
    let failing = other.add("failing") { throw TestError(code: 1) }
    let cancelled = other.add("cancelled") { await untilCancelled() }
    cancelled.cancel(TestError(code: 2))
    let handles = (0..<4).map { queue.add(ProcedureTask("\($0)") { 1 }) }
    #expect(handles[0].addDependency(failing))
    #expect(handles[1].addDependency(cancelled))
    #expect(handles[2].addDependency(failing.catchingErrors()))
    let done = other.add("done") {}
    try await done.value
    #expect(handles[3].addDependency(done))
    queue.resume()
    let error = await #expect(throws: ProcedureError.self) { try await handles[0].value }
    #expect(error?.kind == .dependencyFailed)
    await #expect(throws: TestError(code: 2)) { try await handles[1].value }
    #expect(try await handles[2].value == 1)
    #expect(try await handles[3].value == 1)
  }

  @Test("A run that is executing, is pausing before another attempt, or has finished accepts no dependency")
  func tooLate() async throws {
    let (queue, clock, started) = (ProcedureQueue("q"), VirtualClock(), Signal())
    var configuration = ProcedureQueue.Configuration("paused")
    configuration.clock = clock
    let paused = ProcedureQueue(configuration)
    let executing = queue.add("executing") {
      started.set()
      await gate.wait()
    }
    await started.wait()
    let other = queue.add("other") {}
    #expect(!executing.addDependency(other))
    let retrying = paused.add(
      ProcedureTask("retrying") { throw TestError() }.retry(.constant(.seconds(9)), maxAttempts: 2))
    try await eventually { retrying.state == .pausing }
    #expect(!retrying.addDependency(executing))
    retrying.cancel()
    gate.set()
    try await executing.value
    #expect(!executing.addDependency(other))
  }

  @Test("A run releases the resources that it holds while it is in line for a slot, and claims them again")
  func releasesClaim() async throws {
    let table = ResourceTable()
    var configuration = ProcedureQueue.Configuration("q", maxConcurrentProcedures: 1)
    configuration.resources = table
    let queue = ProcedureQueue(configuration)
    var others = ProcedureQueue.Configuration("other")
    others.resources = table
    let other = ProcedureQueue(others)
    let (started, release) = (Signal(), Signal())
    queue.add("busy") {
      started.set()
      await release.wait()
    }
    await started.wait()
    let handle = queue.add(ProcedureTask { 1 }.exclusive("a"))
    try await eventually { queue.snapshot().procedures.last?.wait == .slot }
    handle.addDependency(waiting(on: ProcedureQueue("third")))
    try await other.run(ProcedureTask("neighbour") {}.exclusive("a"))
    gate.set()
    release.set()
    #expect(try await handle.value == 1)
  }

  @Test("A run ends its evaluation, its delay or its claim before it waits for an added dependency")
  func steps() async throws {
    let (evaluates, decides) = (Signal(), Signal())
    let queue = ProcedureQueue("q")
    let conditional = queue.add(
      ProcedureTask { 1 }.condition("asks") {
        evaluates.set()
        await decides.wait()
        return true
      })
    await evaluates.wait()
    let dependency = waiting(on: ProcedureQueue("other"))
    #expect(conditional.addDependency(dependency))
    #expect(conditional.state == .evaluating)
    decides.set()
    try await eventually { conditional.state == .pending }

    let (holds, ends) = (Signal(), Signal())
    let holder = queue.add(
      ProcedureTask("holder") {
        holds.set()
        await ends.wait()
      }.exclusive("steps of an added dependency"))
    await holds.wait()
    let claiming = queue.add(ProcedureTask { 2 }.exclusive("steps of an added dependency"))
    #expect(claiming.addDependency(dependency))
    #expect(claiming.state == .waiting)
    ends.set()
    try await holder.value
    try await eventually { claiming.state == .pending }
    // The claim was released, so another run can have the resource.
    try await queue.run(ProcedureTask("neighbour") {}.exclusive("steps of an added dependency"))

    let clock = VirtualClock()
    var configuration = ProcedureQueue.Configuration("delayed")
    configuration.clock = clock
    let delayed = ProcedureQueue(configuration).add(ProcedureTask { 3 }.delay(.seconds(5)))
    try await eventually { delayed.state == .pausing }
    #expect(delayed.addDependency(dependency))
    clock.advance(by: .seconds(5))
    try await eventually { delayed.state == .pending }
    gate.set()
    #expect(try await (conditional.value, claiming.value, delayed.value) == (1, 2, 3))
  }

  @Test("An added dependency that fails interrupts the delay, the conditions or the claim of the run")
  func interrupts() async throws {
    let other = ProcedureQueue("other")
    let failing = other.add("failing") { throw TestError(code: 1) }
    _ = await failing.outcome

    let delayed = ProcedureQueue("delayed", clock: VirtualClock())
    let pausing = delayed.add(ProcedureTask { 1 }.delay(.seconds(3600)))
    try await eventually { pausing.state == .pausing }
    #expect(pausing.addDependency(failing))
    #expect((await pausing.outcome.failure as? ProcedureError)?.kind == .dependencyFailed)
    #expect(delayed.core.timers.count == 0)

    let (queue, evaluates, isCancelled) = (ProcedureQueue("q"), Signal(), Signal())
    let conditional = queue.add(
      ProcedureTask { 1 }.condition("asks") {
        evaluates.set()
        await untilCancelled()
        isCancelled.set()
        return true
      })
    await evaluates.wait()
    #expect(conditional.addDependency(failing))
    #expect((await conditional.outcome.failure as? ProcedureError)?.kind == .dependencyFailed)
    try await eventually { isCancelled.isSet }

    let holder = queue.add(ProcedureTask("holder") { await gate.wait() }.exclusive("failed dependency"))
    try await eventually { holder.state == .executing }
    let claiming = queue.add(ProcedureTask { 1 }.exclusive("failed dependency"))
    #expect(claiming.addDependency(failing))
    #expect((await claiming.outcome.failure as? ProcedureError)?.kind == .dependencyFailed)
    gate.set()
    try await queue.run(ProcedureTask {}.exclusive("failed dependency"))
  }

  @Test("A run does not keep a dependency that has finished while the run was evaluating its conditions")
  func releasesDependency() async throws {
    let (queue, live, executed) = (ProcedureQueue("q"), Box(0), Signal())
    let (evaluates, decides) = (Signal(), Signal())
    let handle = queue.add(
      ProcedureTask { 1 }.condition("asks") {
        evaluates.set()
        await decides.wait()
        return true
      })
    await evaluates.wait()
    let dependency = ProcedureTask("dependency") {
      executed.set()
      return Tracked(live)
    }
    #expect(handle.addDependency(queue.add(dependency)))
    await executed.wait()
    try await eventually { live.value == 0 && queue.snapshot().procedures.count == 1 }
    decides.set()
    #expect(try await handle.value == 1)
  }

  @Test("A run that is waiting for an added dependency ends immediately when it is cancelled")
  func cancelled() async throws {
    let queue = ProcedureQueue("q", isSuspended: true)
    let handle = queue.add("cancelled") {}
    handle.addDependency(waiting(on: ProcedureQueue("other")))
    handle.cancel(TestError(code: 3))
    await #expect(throws: TestError(code: 3)) { try await handle.value }
    gate.set()
  }

  @Test("In a cycle of dependencies, the youngest run fails, and the others fail as its dependents")
  func cycle() async throws {
    let queue = ProcedureQueue("q", isSuspended: true)
    let first = queue.add("first") {}
    let second = queue.add("second", after: first) {}
    let third = queue.add("third", after: second) {}
    #expect(first.addDependency(third))
    let error = await #expect(throws: ProcedureError.self) { try await third.value }
    #expect(error?.kind == .exclusionDeadlock && error?.waits.count == 3)
    for handle in [first, second] {
      let error = await #expect(throws: ProcedureError.self) { try await handle.value }
      #expect(error?.kind == .dependencyFailed && error?.origin == third.identity)
    }
    let own = queue.add("own") {}
    own.addDependency(own)
    let ownError = await #expect(throws: ProcedureError.self) { try await own.value }
    #expect(ownError?.kind == .exclusionDeadlock)
  }
}
