import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

/// Tests the capacity of a resource that changes while the resource is in use, and declarations that disagree.
@Suite(.timeLimit(.minutes(10)))
struct CapacityTests {
  private let table = ResourceTable()
  private let gpu = Resource("gpu", capacity: 2)

  private func makeQueue(_ name: String = "q") -> ProcedureQueue {
    var configuration = ProcedureQueue.Configuration(name)
    configuration.resources = table
    return ProcedureQueue(configuration)
  }

  private func hold(_ probe: ProbeProcedure<Void, Void>, _ units: Int = 1, on queue: ProcedureQueue) async throws
    -> ProcedureHandle<Void>
  {
    let count = probe.monitor.total
    let handle = queue.add(probe.uses(gpu, units: units))
    try await eventually { probe.monitor.total == count + 1 }
    return handle
  }

  @Test("A larger capacity grants waiting claims immediately; a smaller one takes effect as units are released")
  func growAndShrink() async throws {
    let (queue, probe) = (makeQueue(), ProbeProcedure<Void, Void>("probe"))
    let handles = (0..<8).map { _ in queue.add(probe.uses(gpu)) }
    try await eventually { probe.monitor.current == 2 }
    table.setCapacity(4, of: gpu)
    try await eventually { probe.monitor.current == 4 }
    table.setCapacity(1, of: gpu)
    #expect(probe.monitor.current == 4)
    for left in [3, 2, 1] {
      probe.finish(())
      try await eventually { probe.monitor.current == left }
      for _ in 0..<20 { await Task.yield() }
      #expect(probe.monitor.total == 4)
    }
    for count in 5...8 {
      probe.finish(())
      try await eventually { probe.monitor.total == count }
      #expect(probe.monitor.current <= 1)
    }
    probe.finishAll(())
    for handle in handles { try await handle.value }
    #expect(table.count == 0)

    // The capacity remains although the resource has not been used in the meantime, until the declared one is set again.
    await #expect(throws: ProcedureError.self) { try await queue.run(ProcedureTask {}.uses(gpu, units: 2)) }
    table.setCapacity(2, of: gpu)
    try await queue.run(ProcedureTask {}.uses(gpu, units: 2))
  }

  @Test("A claim that fails because the capacity has become too small lets the claims behind it proceed")
  func behindTheFailed() async throws {
    let gpu = Resource("gpu", capacity: 3)
    let (queue, probe) = (makeQueue(), ProbeProcedure<Void, Void>("probe"))
    let holder = queue.add(probe.uses(gpu))
    try await eventually { probe.monitor.current == 1 }
    let large = queue.add(ProcedureTask("large") {}.uses(gpu, units: 3))
    let small = queue.add(ProcedureTask("small") {}.uses(gpu))
    try await eventually { queue.snapshot().procedures.count { $0.state == .waiting } == 2 }
    table.setCapacity(2, of: gpu)
    #expect((await large.outcome.failure as? ProcedureError)?.kind == .capacityExceeded)
    try await eventually { small.state == .finished }
    #expect(probe.monitor.current == 1)
    probe.finish(())
    try await holder.value
  }

  @Test("A claim for more units than exist fails, immediately or when the capacity shrinks, and other claims continue")
  func tooSmall() async throws {
    let (queue, probe) = (makeQueue(), ProbeProcedure<Void, Void>("probe"))
    let holder = try await hold(probe, 2, on: queue)
    let (large, small) = (
      queue.add(ProcedureTask("large") {}.uses(gpu, units: 2)), queue.add(ProcedureTask {}.uses(gpu))
    )
    try await eventually { queue.snapshot().procedures.count { $0.state == .waiting } == 2 }
    table.setCapacity(1, of: gpu)
    let error = try #require(await large.outcome.failure as? ProcedureError)
    #expect(error.kind == .capacityExceeded && error.procedure == large.identity)
    #expect("\(error)".contains("needs 2 units of the resource \"gpu\", which has only 1"))
    #expect(small.state == .waiting)
    let late = queue.add(ProcedureTask("late") {}.uses(gpu, units: 2))
    #expect((await late.outcome.failure as? ProcedureError)?.kind == .capacityExceeded)
    probe.finish(())
    try await holder.value
    try await small.value
    #expect(table.count == 0)
  }

  @Test("Parts of a body continue with the units of the body, even if the capacity has shrunk")
  func parts() async throws {
    let (queue, probe) = (makeQueue(), ProbeProcedure<Void, Void>("probe"))
    let holder = queue.add(
      ProcedureTask("holder") {
        try await probe.execute(())
        try await queue.run(ProcedureTask("part") {}.uses(gpu, units: 2))
      }.uses(gpu, units: 2))
    try await probe.waitUntilStarted()
    table.setCapacity(1, of: gpu)
    probe.finish(())
    try await holder.value
  }

  @Test("A retry fails if its units no longer exist when its pause ends")
  func retry() async throws {
    let clock = VirtualClock()
    var configuration = ProcedureQueue.Configuration("q")
    (configuration.resources, configuration.clock) = (table, clock)
    let queue = ProcedureQueue(configuration)
    for isOutside in [false, true] {
      let failing = ProcedureTask<Void, Void>("failing") { throw TestError() }
      let handle = queue.add(
        isOutside
          ? failing.retry(.constant(.seconds(1)), maxAttempts: 2).map { $0 }.uses(gpu, units: 2)
          : failing.uses(gpu, units: 2).retry(.constant(.seconds(1)), maxAttempts: 2))
      try await clock.nextSleep()
      table.setCapacity(1, of: gpu)
      clock.advance(by: .seconds(1))
      #expect((await handle.outcome.failure as? ProcedureError)?.kind == .capacityExceeded)
      table.setCapacity(2, of: gpu)
    }
    #expect(table.count == 0)
  }

  @Test("With fewer units, a wait that would never end is an error")
  func deadlock() async throws {
    let (queue, probe, other) = (makeQueue(), ProbeProcedure<Void, Void>("probe"), ProbeProcedure<Void, Void>("other"))
    let holder = try await hold(other, on: queue)
    let late = Box<ProcedureHandle<Void>?>(nil)
    let waiting = queue.add(
      ProcedureTask("waiting") {
        let added = queue.add(ProcedureTask("late") {}.uses(gpu))
        late.update { $0 = added }
        try await added.value
      }.uses(gpu))
    try await eventually { late.value?.state == .waiting }
    _ = probe
    table.setCapacity(1, of: gpu)
    #expect((await waiting.outcome.failure as? ProcedureError)?.kind == .exclusionDeadlock)
    other.finish(())
    try await holder.value
    #expect(table.count == 0)
  }

  @Test("Declarations that disagree fail the run with an error that names both procedures and both capacities")
  func conflict() async throws {
    let (queue, probe) = (makeQueue(), ProbeProcedure<Void, Void>("probe"))
    let holder = try await hold(probe, on: queue)
    let other = queue.add(ProcedureTask("other") {}.uses(Resource("gpu", capacity: 3)))
    let error = try #require(await other.outcome.failure as? ProcedureError)
    #expect(error.kind == .resourceConflict && error.procedure == other.identity)
    for part in ["\(other.identity)", "\(holder.identity)", "capacity of 3", "declares it with a capacity of 2"] {
      #expect("\(error)".contains(part), "\(error)")
    }
    probe.finish(())
    try await holder.value
    // The resource is not in use, so the other declaration is the only one.
    try await queue.run(ProcedureTask {}.uses(Resource("gpu", capacity: 3), units: 3))

    let both = ProcedureTask("both") {}.uses(gpu).uses(Resource("gpu", capacity: 3))
    let conflict = await #expect(throws: ProcedureError.self) { try await queue.run(both) }
    #expect(conflict?.kind == .resourceConflict)
    let sum = await #expect(throws: ProcedureError.self) {
      try await queue.run(ProcedureTask {}.uses(gpu, units: 2).uses(gpu))
    }
    #expect(sum?.kind == .capacityExceeded)
    #expect(table.count == 0)
  }

  @Test("A capacity that was set remains while the resource is not in use, whatever the declarations say")
  func lasting() async throws {
    let table = ResourceTable()
    let queue = ProcedureQueue("q", resources: table)
    for declared in [4, 8] {
      let gpu = Resource("gpu", capacity: declared)
      if declared == 4 { table.setCapacity(2, of: Resource("gpu", capacity: 2)) }
      try await queue.run(ProcedureTask {}.uses(gpu, units: 1))
      let error = await #expect(throws: ProcedureError.self) {
        try await queue.run(ProcedureTask {}.uses(gpu, units: 3))
      }
      #expect(error?.kind == .capacityExceeded && error?.capacity == 2)
    }
    #expect(table.count == 0)
  }
}
