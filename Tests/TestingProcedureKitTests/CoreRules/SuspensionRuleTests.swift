import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite("Rules Q2, Q4: suspended queues, and bodies that wait until their queue is idle", .timeLimit(.minutes(10)))
struct SuspensionRuleTests {
  @Test(
    "Q2, C8: a graph on a suspended queue starts no node until the queue is resumed, and ends if it is cancelled",
    arguments: [false, true])
  func nodes(isCancelled: Bool) async throws {
    let queue = ProcedureQueue("q")
    let (started, release, isLater) = (Signal(), Signal(), Box(false))
    let graph = ProcedureGraph("graph", returning: Void.self) { g in
      let first = g.add("first") {
        started.set()
        await release.wait()
      }
      g.add("second", after: [first]) { isLater.update { $0 = true } }
    }
    let handle = queue.add(graph)
    await started.wait()
    queue.suspend()
    release.set()
    try await eventually {
      queue.snapshot().procedures.contains { $0.procedure.name == "second" && $0.wait == .resumption }
    }
    #expect(!isLater.value)
    if isCancelled { queue.cancelAll() } else { queue.resume() }
    #expect(await handle.outcome.isCancelled == isCancelled)
    #expect(isLater.value != isCancelled)
    queue.resume()
  }

  @Test("Q2: a part of an executing body acquires the resource that it is waiting for, even if its queue is suspended")
  func partWithClaim() async throws {
    let table = ResourceTable()
    let queue = ProcedureQueue("q", resources: table)
    let (holds, release) = (Signal(), Signal())
    let holder = ProcedureQueue("other", resources: table).add(
      ProcedureTask("holder") {
        holds.set()
        await release.wait()
      }.exclusive("x"))
    await holds.wait()
    let body = queue.add(ProcedureTask("body") { try await ProcedureTask("part") { 1 }.exclusive("x").execute() })
    try await eventually {
      if case .resources = queue.snapshot().procedures.last?.wait { true } else { false }
    }
    queue.suspend()
    release.set()
    try await holder.value
    try await eventually { body.state == .finished }
    #expect(try await body.value == 1)
  }

  @Test("Q2, C3: a graph that a cancelled body runs to clean up continues when its suspended queue is resumed")
  func cleanUp() async throws {
    let queue = ProcedureQueue("q")
    let (started, hasEnded) = (Signal(), Box(false))
    let graph = ProcedureGraph("graph", returning: Void.self) { g in
      let first = g.add("first") { queue.suspend() }
      g.add("second", after: [first]) { hasEnded.update { $0 = true } }
    }
    let body = queue.add(
      ProcedureTask("body") {
        started.set()
        await untilCancelled()
        try await graph()
      })
    await started.wait()
    body.cancel()
    try await eventually {
      queue.snapshot().procedures.contains { $0.procedure.name == "second" && $0.wait == .resumption }
    }
    queue.resume()
    #expect(await body.outcome.isCancelled)
    #expect(hasEnded.value)
  }

  @Test("Q4: a body that has ended does not count as one that waits until the queue is idle")
  func endedIdler() async throws {
    let queue = ProcedureQueue("q")
    let (release, waits) = (Signal(), Box<Task<Void, Never>?>(nil))
    let executing = queue.add(ProcedureTask("executing") { await release.wait() })
    // The task outlives its body.
    let left = queue.add(
      ProcedureTask("left") {
        let waiting = Task.immediate { await queue.waitUntilIdle() }  // ended below, with the queue's last body
        waits.update { $0 = waiting }
      })
    try await left.value
    let order = Box<[String]>([])
    let idler = queue.add(
      ProcedureTask("idler") {
        await queue.waitUntilIdle()
        order.update { $0.append("idle") }
      })
    try await eventually {
      queue.snapshot().procedures.contains { $0.procedure == idler.identity && $0.wait == .idleness(of: "q") }
        || idler.state == .finished
    }
    order.update { $0.append("released") }
    release.set()
    try await executing.value
    try await idler.value
    await waits.value?.value
    #expect(order.value == ["released", "idle"])
  }
}
