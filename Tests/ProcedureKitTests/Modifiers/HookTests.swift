import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct HookTests {
  @Test("onDidCancel is not called if the deadline of its layer passes before the body starts")
  func notCancelledByDeadline() async {
    let (clock, journal) = (VirtualClock(), Record<String>())
    let queue = ProcedureQueue("q", isSuspended: true, clock: clock)
    let procedure = ProcedureTask<Void, Void>("body") {}.deadline(clock.now.advanced(by: .seconds(1)), on: clock)
    let handle = queue.add(
      procedure.onDidCancel { _ in journal.append("didCancel") }.onWillFinish { journal.append($0.word) })
    clock.advance(by: .seconds(1))
    #expect((await handle.outcome.failure as? ProcedureError)?.kind == .timedOut)
    #expect(journal.values == ["failed"])
  }

  @Test("onDidCancel is not called if the run fails because of a deadlock")
  func notCancelledByDeadlock() async {
    let (queue, journal) = (ProcedureQueue("q", isSuspended: true), Record<String>())
    let own = Box<ProcedureHandle<Void>?>(nil)
    let procedure = ProcedureTask<Void, Void>("body") {
      // No other task of the body can cause the next event.
      if let handle = own.value { for await _ in handle.events {} }
    }.onDidCancel { _ in journal.append("didCancel") }.onWillFinish { journal.append($0.word) }
    let handle = queue.add(procedure)
    own.update { $0 = handle }
    queue.resume()
    #expect((await handle.outcome.failure as? ProcedureError)?.kind == .exclusionDeadlock)
    #expect(journal.values == ["failed"])
  }

  @Test("End hooks receive the cancellation of a run before its body, even on a suspended queue")
  func cancelledBefore() async throws {
    let queue = ProcedureQueue("suspended", isSuspended: true)
    let journal = Record<String>()
    let handle = queue.add(
      ProcedureTask("body") { journal.append("body") }.noting("n", journal.append)
        .onDidFinish { journal.append("n didFinish \($0.word)") })
    handle.cancel(TestError(code: 1))
    await #expect(throws: TestError(code: 1)) { try await handle.value }
    await queue.shutDown()
    #expect(journal.values == ["n didCancel", "n willFinish cancelled", "n didFinish cancelled"])
  }

  @Test("The interceptor of a queue is within the hooks around the body", arguments: [Way.run, .add])
  func interceptor(way: Way) async throws {
    let journal = Record<String>()
    var configuration = ProcedureQueue.Configuration("intercepting")
    configuration.interceptor = { context, next in
      journal.append("before \(context.name)")
      try await next()
      journal.append("after \(context.name)")
    }
    let queue = ProcedureQueue(configuration)
    let result = await way.outcome(of: ProcedureTask("p") { 1 }.noting("own", journal.append), on: queue)
    #expect(try result.get() == 1)
    #expect(
      journal.values == [
        "own willExecute", "before p", "after p", "own didExecute finished", "own willFinish finished",
      ])
  }

  @Test(
    "A retry that is cancelled during its pause calls onDidExecute once on each layer", arguments: [false, true])
  func didExecuteInPause(isInner: Bool) async throws {
    let clock = VirtualClock()
    let (will, did) = (Box(0), Box(0))
    let failing = ProcedureTask("failing") { throw TestError(code: 1) }.retry(.constant(.seconds(3600)))
      .onWillExecute { will.update { $0 += 1 } }.onDidExecute { _ in did.update { $0 += 1 } }
    let queue = ProcedureQueue("q", clock: clock)
    let handle = queue.add(isInner ? failing.map { $0 } : failing)
    try await clock.nextSleep()
    handle.cancel()
    #expect(await handle.outcome.isCancelled)
    #expect(will.value == 1 && did.value == 1)
    let steps = await handle.allEvents().steps()
    #expect(steps.count { $0 == .willExecute } == steps.count { $0 == .didExecute }, "\(steps)")
  }
}
