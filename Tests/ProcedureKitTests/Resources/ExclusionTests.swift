import Dispatch
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

  @Test("R1: a type names a category in the whole process; another type and the type's name as a string do not")
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

  @Test("R1: a separate resource table excludes only among the queues that share it")
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

  @Test("R1: three runs of one category that are added from three threads execute one at a time", arguments: 0..<20)
  func threads(_ round: Int) async throws {
    enum Category {}
    let queue = ProcedureQueue("q")
    let monitor = ConcurrencyMonitor()
    let handles = Box<[ProcedureHandle<Void>]>([])
    DispatchQueue.concurrentPerform(iterations: 3) { _ in
      let handle = queue.add(
        ProcedureTask { await monitor.during { await Task.yield() } }.exclusive(with: Category.self))
      handles.update { $0.append(handle) }
    }
    for handle in handles.value { try await handle.value }
    #expect(monitor.most == 1 && monitor.total == 3)
  }

  @Test(
    "R1, Q1: a call that gets its resource while an added procedure waits for the only slot starts before the procedure",
    arguments: ["earlier", "urgent"], ["a caller", "a worker"])
  func callBesideAdded(_ reason: String, _ executor: String) async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1, resources: ResourceTable())
    let (holding, order) = (ProbeProcedure("holding"), Box<[String]>([]))
    let waiting = ProcedureTask("waiting") { order.update { $0.append("call") } }.exclusive("a")
    async let first: Void =
      executor == "a caller" ? queue.run(holding.exclusive("a")) : queue.add(holding.exclusive("a")).value
    try await holding.waitUntilStarted()
    let addsFirst = reason == "urgent"
    if addsFirst { queue.add(ProcedureTask("added") { order.update { $0.append("added") } }) }
    async let second: Void = queue.run(addsFirst ? waiting.priority(.userInitiated) : waiting.priority(.low))
    try await eventually { queue.snapshot().procedures.count == (addsFirst ? 3 : 2) }
    if !addsFirst { queue.add(ProcedureTask("added") { order.update { $0.append("added") } }.priority(.low)) }
    holding.finish()
    try await eventually { order.value.count == 2 }
    #expect(order.value == ["call", "added"])
    _ = try await (first, second)
  }

  @Test("R3: a waiter that is cancelled on a suspended queue does not release the holder when the queue resumes")
  func suspended() async throws {
    enum Category {}
    let monitor = ConcurrencyMonitor()
    let queue = ProcedureQueue("q")
    let body = ProbeProcedure("body")
    let exclusive = ProcedureTask("works") { try await monitor.during { try await body.execute() } }
      .exclusive(with: Category.self)
    let holder = queue.add(exclusive)
    try await body.waitUntilStarted()
    let (cancelled, next) = (queue.add(exclusive), queue.add(exclusive))
    queue.suspend()
    cancelled.cancel()
    #expect(await cancelled.outcome.isCancelled)
    queue.resume()
    #expect(body.startCount == 1 && holder.state == .executing)
    body.finishAll()
    try await holder.value
    try await next.value
    #expect(monitor.most == 1 && monitor.total == 2)
  }

  @Test("R2: conditions are evaluated before any resource is held, on a queue, inside a body and without a queue")
  func conditionsHoldNothing() async throws {
    enum Category {}
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let free = Condition("nobody holds it") {
      try await ProcedureQueue("other").add(ProcedureTask {}.exclusive(with: Category.self)).value
      return true
    }
    let body = ProcedureTask { 1 }.condition(free).exclusive(with: Category.self)
    #expect(try await queue.run(body) == 1)
    #expect(try await queue.add(body).value == 1)
    #expect(try await body.execute() == 1)
    #expect(try await queue.run(ProcedureTask { try await body.execute() }) == 1)
    #expect(try await queue.run(ProcedureGraph("graph") { g in g.add(body) }) == 1)
  }

  @Test("R1, Q2: runs of suspended queues pass a resource on, however many of them wait")
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
