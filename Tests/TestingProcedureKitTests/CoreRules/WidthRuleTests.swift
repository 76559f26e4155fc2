import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite("Rule Q1: a queue of width one around stopped nodes and cancelled bodies", .timeLimit(.atDepth))
struct WidthRuleTests {
  @Test("After a node of a called graph is stopped, the rest of the body waits for the slot", arguments: 0..<4)
  func afterStoppedNode(way: Int) async throws {
    try await exploreRace("the slot is free", "another has the slot", schedules: TestDepth.count(1_000)) { env in
      let (queue, other) = (env.makeQueue(maxConcurrentProcedures: 1), env.makeQueue("other"))
      let monitor = ConcurrencyMonitor()
      let work = { @Sendable in
        monitor.enter()
        await pause(env, upTo: 2)
        monitor.leave()
      }
      let elements = ProcedureTask("element") { (_: Int) in await pause(env, upTo: 2) }
      let graph = ProcedureGraph("graph") { (g, input: Node<Int>) in
        let stopped = g.add(
          ProcedureTask("stopped") { (_: Int) in
            let context = ProcedureContext.current
            if way < 2 { context?.produce(ProcedureTask("child") { throw Reason() }) }
            let awaited = ProcedureTask("awaited") {
              await pause(env, upTo: 4)
              if way >= 2 { context?.cancel() }
            }
            defer { env.tally(monitor.current == 0 ? "the slot is free" : "another has the slot") }
            try await other.add(awaited).value
          }, from: input)
        return g.add(
          ProcedureTask("follows") { (_: Result<Void, any Error>) in
            await work()
            if way % 2 == 1 {
              _ = try await other.map([1, 2], with: elements)
              await work()
            }
          }, from: stopped.catchingErrors())
      }.maxConcurrentNodes(1).onFailure(.collect)
      let body = queue.add(ProcedureTask("body") { _ = try? await graph(1) })
      let others = (0..<3).map { _ in queue.add(ProcedureTask("other") { await work() }) }
      try await body.value
      for handle in others { try await handle.value }
      env.check(monitor.most == 1, "\(monitor.most) bodies together")
      for queue in [queue, other] { await queue.shutDown() }
    }
  }

  @Test(
    "A cancelled body makes calls without a slot, its runs are cancelled, and the procedures that it adds wait for the slot"
  )
  func cancelledBody() async throws {
    let queue = ProcedureQueue("narrow", maxConcurrentProcedures: 1)
    let (entered, order) = (ProbeProcedure<Void, Void>("holder"), Locked<[String]>([]))
    let task = { @Sendable (name: String) in ProcedureTask(name) { order { $0.append(name) } } }
    let closed = ProcedureQueue("closed", isSuspended: true)
    let opening = closed.add(ProcedureTask("opening") {})
    let body = queue.add(
      ProcedureTask("body") {
        // The body releases its slot, which the holder takes.
        _ = await opening.outcome
        try await task("called")()
        try? await queue.run(task("run"))
        let added = queue.add(task("added"))
        order { $0.append("\(added.state)") }
      })
    let holder = queue.add(entered)
    try await entered.waitUntilStarted()
    body.cancel()
    closed.resume()
    #expect(await body.outcome.isCancelled)
    #expect(order.value == ["called", "waiting"])
    entered.finish(())
    try await holder.value
    await queue.waitUntilIdle()
    #expect(order.value == ["called", "waiting", "added"])
  }
}
