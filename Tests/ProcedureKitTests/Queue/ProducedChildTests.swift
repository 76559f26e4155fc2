import ProcedureKit
import TestSupport
import Testing

@Suite("C1, C3: produced children", .timeLimit(.minutes(10)))
struct ProducedChildTests {
  @Test("C3: cancelling a procedure without a queue cancels its children and ends its waits")
  func unqueuedParent() async throws {
    let child = ProcedureTask("child") { await untilCancelled() }
    let parent = ProcedureTask("parent") {
      let handle = ProcedureContext.current?.produce(child)
      ProcedureContext.current?.cancel(TestError(code: 1))
      await #expect(throws: TestError(code: 1)) { try await handle?.value }
    }
    await #expect(throws: TestError(code: 1)) { try await parent.execute() }

    let queue = ProcedureQueue("q", isSuspended: true)
    let waiting = ProcedureTask("waiting") {
      let context = try #require(ProcedureContext.current)
      async let inner: Void = queue.run(ProcedureTask { Issue.record("executed") })
      try await eventually { !queue.snapshot().procedures.isEmpty }
      context.cancel(TestError(code: 2))
      try await inner
    }
    await #expect(throws: TestError(code: 2)) { try await waiting.execute() }
  }

  @Test("L1: a finished procedure cannot produce children, however it was run", arguments: 0..<4)
  func producedTooLate(way: Int) async throws {
    let queue = ProcedureQueue("q")
    let escaped = Box<ProcedureContext?>(nil)
    let parent = ProcedureTask("parent") { escaped.update { $0 = ProcedureContext.current } }
    switch way {
    case 0: try await parent.execute()
    case 1: try await queue.run(parent)
    case 2: try await queue.add(parent).value
    default:
      try await queue.run(
        ProcedureGraph("graph", returning: Void.self) { g in
          let first = g.add(parent)
          g.add(ProcedureTask {}, after: [first])
        })
    }
    let late = try #require(escaped.value).produce(ProcedureTask("late") { Issue.record("executed") })
    guard case .failed(let error as ProcedureError) = await late.outcome else {
      Issue.record("\(await late.outcome)")
      return
    }
    #expect(error.kind == .producerFinished)
  }

  @Test("C3: a child that is produced after the cancellation is cancelled immediately")
  func producedAfterCancel() async throws {
    let queue = ProcedureQueue("q")
    let (started, go) = (Signal(), Signal())
    let child = Box<ProcedureHandle<Void>?>(nil)
    let parent = queue.add(
      ProcedureTask("parent") {
        started.set()
        await untilCancelled()
        let produced = ProcedureContext.current?.produce(ProcedureTask { await untilCancelled() })
        child.update { $0 = produced }
        started.set()
        await go.wait()
      })
    await started.wait()
    parent.cancel(TestError(code: 4))
    try await eventually { child.value != nil }
    guard case .cancelled(let reason) = await child.value?.outcome else { fatalError("the child was not cancelled") }
    #expect(reason as? TestError == TestError(code: 4))
    go.set()
    await #expect(throws: TestError(code: 4)) { try await parent.value }
  }

  @Test("C3: cancelling 5,000 children, each produced by the previous one, does not overflow the stack")
  func longChainOfChildren() async throws {
    let queue = ProcedureQueue("q")
    let (atEnd, depth) = (Signal(), 5_000)
    let handle = queue.add(Self.link(depth, atEnd))
    await atEnd.wait()
    handle.cancel(TestError(code: 5))
    await #expect(throws: TestError(code: 5)) { try await handle.value }
    await queue.waitUntilIdle()
  }

  private static func link(_ number: Int, _ atEnd: Signal) -> ProcedureTask<Void, Void> {
    ProcedureTask("link") {
      if number > 0 {
        ProcedureContext.current?.produce(link(number - 1, atEnd))
      } else {
        atEnd.set()
        await untilCancelled()
      }
    }
  }

  @Test("C3: a body that a failed child has stopped does not wait for a resource")
  func stoppedBodyWaits() async throws {
    let queue = ProcedureQueue("q", resources: ResourceTable())
    let (holds, release) = (Signal(), Signal())
    let holder = queue.add(
      ProcedureTask("holder") {
        holds.set()
        await release.wait()
      }.exclusive("a"))
    await holds.wait()
    let body = ProcedureTask("body") {
      let child = ProcedureContext.current?.produce(ProcedureTask { () throws in throw TestError(code: 6) })
      _ = await child?.outcome
      try await eventually { ProcedureContext.current?.isCancelled ?? true }
      _ = try await ProcedureTask { Issue.record("executed") }.exclusive("a").execute()
    }
    await #expect(throws: TestError(code: 6)) { try await queue.run(body) }
    release.set()
    try await holder.value
  }

  @Test("C3: a failed child ends the waits of its parent's body, however the parent is run", arguments: 0..<4)
  func failedChildStopsTheBody(way: Int) async throws {
    let (queue, other) = (ProcedureQueue("q"), ProcedureQueue("other", isSuspended: true))
    let body = ProcedureTask("body") {
      ProcedureContext.current?.produce(ProcedureTask { () throws in throw TestError(code: 8) })
      _ = try await other.run(ProcedureTask { Issue.record("executed") })
    }
    let graph = ProcedureGraph("graph", returning: Void.self) { g in
      let first = g.add(ProcedureTask {})
      g.add(body, after: [first])
    }
    await #expect(throws: TestError(code: 8)) {
      switch way {
      case 0: try await queue.run(body)
      case 1: try await queue.add(body).value
      case 2: _ = try await queue.run(graph)
      default: try await body.execute()
      }
    }
  }
}
