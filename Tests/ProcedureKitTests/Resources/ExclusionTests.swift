import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.atDepth)) struct ExclusionTests {
  private enum Printer {}
  private enum Scanner {}
  private enum Plotter {}

  /// Returns the description of a procedure's wait on a queue.
  private func wait<Output>(of handle: ProcedureHandle<Output>, _ queue: ProcedureQueue) -> String? {
    queue.snapshot().procedures.first { $0.procedure.id == handle.id }?.wait.map { "\($0)" }
  }

  @Test("A type names a category in the whole process; another type and the type's name as a string do not")
  func types() async throws {
    let (queue, other) = (ProcedureQueue("q"), ProcedureQueue("other", maxConcurrentProcedures: 1))
    let printing = ProbeProcedure("printing")
    let holder = queue.add(printing.exclusive(with: Printer.self))
    try await printing.waitUntilStarted()
    let waiter = other.add(ProcedureTask {}.exclusive(with: Printer.self))
    // The waiter holds no slot, so each of the following runs gets the only slot of the queue.
    try await other.run(ProcedureTask {}.exclusive(with: Scanner.self))
    try await other.run(ProcedureTask {}.exclusive("Printer"))
    try await other.run(ProcedureTask {}.exclusive("\(Printer.self)", "\(Scanner.self)"))
    #expect(wait(of: waiter, other) == "\"Printer\", which \(holder.identity) holds")
    printing.finish()
    try await waiter.value
    try await holder.value
  }

  @Test("A snapshot distinguishes the holder of a resource from a procedure that is only ahead in line")
  func line() async throws {
    let (queue, reading) = (ProcedureQueue("q", resources: ResourceTable()), ProbeProcedure("reading"))
    let reader = queue.add(reading.shared("a"))
    try await reading.waitUntilStarted()
    let writer = queue.add(ProcedureTask("writer") {}.exclusive("a"))
    let next = queue.add(ProcedureTask("next") {}.shared("a"))
    let expected = [
      "\"a\", which \(reader.identity) holds", "\"a\", for which \(writer.identity) is ahead of it in line",
    ]
    try await eventually { [wait(of: writer, queue), wait(of: next, queue)] == expected }
    reading.finish()
    for handle in [writer, next] { try await handle.value }
  }

  @Test("A separate resource table excludes only among the queues that share it")
  func tables() async throws {
    let table = ResourceTable()
    let printing = ProbeProcedure("printing")
    let holder = ProcedureQueue("q", resources: table).add(printing.exclusive(with: Plotter.self).exclusive("a"))
    try await printing.waitUntilStarted()
    try await ProcedureQueue("another").run(ProcedureTask {}.exclusive(with: Plotter.self))
    let sharing = ProcedureQueue("shares", resources: table)
    let waiter = sharing.add(ProcedureTask {}.shared("a"))
    try await sharing.run(ProcedureTask {}.shared("b"))
    #expect(wait(of: waiter, sharing) == "\"a\", which \(holder.identity) holds")
    printing.finish()
    try await waiter.value
    #expect(await holder.outcome.isFinished)
    await sharing.shutDown()
    #expect(table.count == 0)
  }

  @Test("Runs of suspended queues pass a resource on, however many of them wait")
  func suspendedWaiters() async throws {
    let table = ResourceTable()
    let queues = (0..<2).map { ProcedureQueue("queue \($0)", resources: table) }
    let release = Signal()
    let started = Signal()
    let holder = ProcedureQueue("holder", resources: table).add(
      ProcedureTask("holder") {
        started.set()
        await release.wait()
      }.exclusive("a"))
    await started.wait()
    let handles = (0..<TestDepth.size(20_000)).map { queues[$0 % 2].add(ProcedureTask("waiter") {}.exclusive("a")) }
    // All runs are in line once the workers are idle.
    try await eventually { queues.allSatisfy { $0.snapshot().procedures.allSatisfy(\.waitsForResources) } }
    for queue in queues { queue.suspend() }
    release.set()
    try await holder.value
    for queue in queues { queue.resume() }
    for handle in handles { try await handle.value }
    #expect(table.count == 0)
  }
}

extension QueueSnapshot.Entry {
  fileprivate var waitsForResources: Bool {
    if case .resources = wait { true } else { false }
  }
}
