import Testing
import TestingProcedureKit

@testable import ProcedureKit

/// What would wait for ever is found, although those who follow claim nothing.
@Suite struct FollowingCircleTests {
  private let table = ResourceTable()
  private let started = Box<[String]>([])

  private func procedure(_ name: String, _ priority: TaskPriority = .medium) -> ProcedureTask<Void, Void> {
    ProcedureTask(name) { [started] in started.update { $0.append(name) } }.priority(priority)
  }

  private func kinds(_ handles: [ProcedureHandle<Void>]) async -> [String] {
    var kinds: [String] = []
    for handle in handles {
      switch await handle.outcome {
      case .finished: kinds.append("finished")
      case .failed(let error): kinds.append(((error as? ProcedureError)?.kind).map { "\($0)" } ?? "failed")
      case .cancelled: kinds.append("cancelled")
      case .ignored: kinds.append("ignored")
      }
    }
    return kinds
  }

  @Test(
    "R4: a circle through one who holds something and awaits one that follows is found, whoever closes it",
    arguments: [false, true])
  func circle(awaitsFirst: Bool) async throws {
    let queue = ProcedureQueue("q", resources: table)
    let other = ProcedureQueue("other", resources: table)
    let (goE, goM, inE, inM) = (Signal(), Signal(), Signal(), Signal())
    let target = Box<ProcedureHandle<Void>?>(nil)
    let leader = queue.add(
      ProcedureTask("M") {
        inM.set()
        await goM.wait()
        try await procedure("wantsY").exclusive("y").execute()
      }.exclusive("x").priority(.medium))
    await inM.wait()
    let follower = queue.add(procedure("F").exclusive("x"))
    target.update { $0 = follower }
    let outside = other.add(
      ProcedureTask("E") {
        inE.set()
        await goE.wait()
        _ = await target.value?.outcome
      }.exclusive("y").priority(.medium))
    await inE.wait()
    if awaitsFirst {
      goE.set()
      while !other.snapshot().description.contains("other procedures") { await Task.yield() }
      goM.set()
    } else {
      goM.set()
      while !queue.snapshot().description.contains("\"y\"") { await Task.yield() }
      goE.set()
    }
    let kinds = await kinds([leader, follower, outside])
    #expect(kinds.contains("exclusionDeadlock"))
    #expect(table.count == 0)
  }

  @Test("R4: a body that waits for its queue does not wait for ever for those who follow it", arguments: 0..<4)
  func idle(variant: Int) async throws {
    let queue = ProcedureQueue("q", resources: table)
    let other = ProcedureQueue("other", resources: table)
    let (goM, inM) = (Signal(), Signal())
    let leader = queue.add(
      ProcedureTask("M") {
        inM.set()
        await goM.wait()
        switch variant {
        case 0: await queue.waitUntilIdle()
        case 1: await queue.shutDown()
        case 2:
          // Another queue's run waits for this queue.
          try await other.run(ProcedureTask("outer") { await queue.waitUntilIdle() })
        default:
          let graph = ProcedureGraph("g") { g in
            let a = g.add("a") { await queue.waitUntilIdle() }
            let b = g.add("b") {}
            return g.add("c", from: a, b) { _, _ in }
          }
          try await graph.execute()
        }
      }.exclusive("x").priority(.medium))
    await inM.wait()
    let follower = queue.add(procedure("F").exclusive("x"))
    let dependent = queue.add(procedure("D"), after: [follower])
    goM.set()
    let kinds = await kinds([leader, follower, dependent])
    #expect(kinds[0] == "finished")
    #expect(table.count == 0)
  }

  @Test("R4: a circle through a node of a graph and one that follows its run is found", arguments: [false, true])
  func graphs(parallel: Bool) async throws {
    let queue = ProcedureQueue("q", resources: table)
    let (goM, inM) = (Signal(), Signal())
    let target = Box<ProcedureHandle<Void>?>(nil)
    let graph = ProcedureGraph("M") { g in
      let start = g.add("start") {
        inM.set()
        await goM.wait()
      }
      let a = g.add("a", from: start) { _ in _ = await target.value?.outcome }
      let b = g.add("b", after: parallel ? [start] : [a]) {}
      return g.add("c", from: a, b) { _, _ in }
    }
    let leader = queue.add(graph.exclusive("x").priority(.medium))
    await inM.wait()
    let follower = queue.add(procedure("F").exclusive("x"))
    target.update { $0 = queue.add(procedure("D"), after: [follower]) }
    goM.set()
    let kinds = await kinds([leader, follower, target.value!])
    #expect(kinds.contains("exclusionDeadlock"))
    #expect(table.count == 0)
  }
}
