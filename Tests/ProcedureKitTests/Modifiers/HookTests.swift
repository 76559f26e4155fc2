import ProcedureKit
import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

private struct Failure: Error, Equatable {}

/// The calls, in order.
private final class Journal: Sendable {
  private let lines = Mutex<[String]>([])

  func note(_ line: String) { lines.withLock { $0.append(line) } }

  func clear() { lines.withLock { $0 = [] } }

  var all: [String] { lines.withLock(\.self) }
}

extension Procedure {
  /// Returns the procedure with hooks that record each call with a name.
  fileprivate func noting(_ name: String, in journal: Journal) -> ProcedureTask<Input, Output> {
    noting(name, journal.note).onDidFinish { journal.note("\(name) didFinish \($0.word)") }
  }
}

/// The clock of the queues. It moves only by the few nanoseconds of the timeouts, so the second copy of a hedge never starts.
private let clock = VirtualClock()

/// Makes a timeout of one nanosecond fire, and waits until the current task is cancelled.
private func untilTimedOut() async {
  clock.advance(by: .nanoseconds(1))
  await untilCancelled()
}

/// A body that executes until its timeout of one nanosecond cancels it.
private let overdue = ProcedureTask<Void, Int>("body") {
  await untilTimedOut()
  return 1
}

extension Way {
  /// The ways that this suite tests. The rules that hold in every way are in `WayTests`.
  fileprivate static let hooked = allCases.filter { ![.child, .level, .secondAttempt].contains($0) }
  /// The ways in which children that the body produces belong to the procedure.
  fileprivate static let whole = hooked.filter { $0 != .part }

  /// Runs the procedure in this way, on a queue with the suite's clock, and returns after the last hook. The value of an added procedure, or
  /// of an element, is available before `onDidFinish` is called.
  fileprivate func outcome(of procedure: ProcedureTask<Void, Int>) async -> Result<Int, any Error> {
    let queue = ProcedureQueue("hooks", clock: clock)
    let result = await outcome(of: procedure, on: queue)
    await queue.waitUntilIdle()
    return result
  }
}

@Suite("L3: hooks are awaited in the order in which they wrap", .timeLimit(.minutes(10)))
struct HookTests {
  @Test("L3: outer hooks wrap inner ones", arguments: Way.hooked)
  fileprivate func order(way: Way) async throws {
    let journal = Journal()
    let procedure = ProcedureTask<Void, Int>("body") {
      journal.note("body")
      return 1
    }.noting("inner", in: journal).noting("outer", in: journal)
    #expect(try await way.outcome(of: procedure).get() == 1)
    #expect(
      journal.all == [
        "outer willExecute", "inner willExecute", "body", "inner didExecute finished", "outer didExecute finished",
        "inner willFinish finished", "outer willFinish finished", "inner didFinish finished",
        "outer didFinish finished",
      ])
  }

  @Test("L3: a hook that throws fails the run, and one before the body prevents its execution", arguments: Way.hooked)
  fileprivate func throwing(way: Way) async throws {
    for stage in ["willExecute", "didExecute", "willFinish"] {
      let journal = Journal()
      var procedure = ProcedureTask<Void, Int>("body") {
        journal.note("body")
        return 1
      }
      switch stage {
      case "willExecute": procedure = procedure.onWillExecute { _ in throw Failure() }
      case "didExecute": procedure = procedure.onDidExecute { _ in throw Failure() }
      default: procedure = procedure.onWillFinish { _ in throw Failure() }
      }
      procedure = procedure.onDidFinish { journal.note($0.word) }
      let result = await way.outcome(of: procedure)
      #expect(throws: Failure()) { try result.get() }
      #expect(journal.all == (stage == "willExecute" ? ["failed"] : ["body", "failed"]), "\(stage)")
    }
  }

  @Test(
    "L3, D4: hooks and callers receive all failures as one error, and an error of a hook replaces it",
    arguments: Way.whole, [false, true])
  fileprivate func failedChildren(way: Way, hookThrows: Bool) async throws {
    struct OfHook: Error {}
    let reported = Mutex<[String]>([])
    let procedure = ProcedureTask<Void, Int>("body") {
      ProcedureContext.current?.produce(ProcedureTask("child") { throw Failure() })
      return 1
    }.onFailure(.collect).onWillFinish { outcome in
      reported.withLock { $0.append("\(outcome.failure.map { "\(type(of: $0))" } ?? outcome.word)") }
      if hookThrows { throw OfHook() }
    }
    let result = await way.outcome(of: procedure)
    #expect(reported.withLock(\.self) == ["ProcedureError"])
    if hookThrows {
      #expect(throws: OfHook.self) { try result.get() }
    } else {
      let error = #expect(throws: ProcedureError.self) { try result.get() }
      #expect(error?.kind == .childrenFailed && error?.failures.count == 1 && error?.underlying is Failure)
    }
  }

  @Test("L3: a child that fails before the body returns makes the outcome failed, not cancelled", arguments: Way.whole)
  fileprivate func failedChild(way: Way) async throws {
    let journal = Journal()
    let procedure = ProcedureTask<Void, Int>("body") {
      let child = ProcedureContext.current?.produce(ProcedureTask("child") { throw Failure() })
      _ = await child?.outcome
      return 1
    }.noting("n", in: journal)
    let result = await way.outcome(of: procedure)
    #expect(throws: Failure()) { try result.get() }
    #expect(
      journal.all == ["n willExecute", "n didExecute finished", "n willFinish failed", "n didFinish failed"])
  }

  @Test("L3, C5: hooks and outer layers receive a timeout as a failure", arguments: Way.hooked)
  fileprivate func timeout(way: Way) async throws {
    let journal = Journal()
    let procedure = overdue.timeout(.nanoseconds(1)).noting("n", in: journal)
    let result = await way.outcome(of: procedure)
    let error = #expect(throws: ProcedureError.self) { try result.get() }
    #expect(error?.kind == .timedOut)
    #expect(
      journal.all == [
        "n willExecute", "n didExecute failed", "n willFinish failed", "n didFinish failed",
      ])
  }

  @Test(
    "L3, C5: a timeout fails only the layer that it belongs to, and cancels the layers within it", arguments: Way.hooked
  )
  fileprivate func timeoutAround(way: Way) async throws {
    let journal = Journal()
    let procedure =
      overdue
      .onDidCancel { journal.note("didCancel \(($0 as? ProcedureError)?.kind.description ?? "-")") }
      .onWillFinish { journal.note("willFinish \($0.word)") }
      .map { $0 }.timeout(.nanoseconds(1)).onWillFinish { journal.note("outer willFinish \($0.word)") }
    repeat {
      journal.clear()
      let result = await way.outcome(of: procedure)
      let error = #expect(throws: ProcedureError.self) { try result.get() }
      #expect(error?.kind == .timedOut)
      // If the time was over before the inner layer started, the layer did not exist.
    } while journal.all == ["outer willFinish failed"]
    #expect(journal.all == ["didCancel timedOut", "willFinish cancelled", "outer willFinish failed"])
  }

  @Test("L3, C5: onDidCancel is not called after the timeout of its layer", arguments: Way.hooked)
  fileprivate func notCancelled(way: Way) async throws {
    let journal = Journal()
    let procedure = overdue.timeout(.nanoseconds(1))
      .onDidCancel { _ in journal.note("didCancel") }.onWillFinish { journal.note($0.word) }
    let result = await way.outcome(of: procedure)
    #expect(throws: ProcedureError.self) { try result.get() }
    #expect(journal.all == ["failed"])
  }

  @Test("L3, C5: onDidCancel is not called if the deadline of its layer passes before the body starts")
  func notCancelledByDeadline() async {
    let (clock, journal) = (VirtualClock(), Journal())
    let queue = ProcedureQueue("q", isSuspended: true, clock: clock)
    let procedure = ProcedureTask<Void, Void>("body") {}.deadline(clock.now.advanced(by: .seconds(1)), on: clock)
    let handle = queue.add(
      procedure.onDidCancel { _ in journal.note("didCancel") }.onWillFinish { journal.note($0.word) })
    clock.advance(by: .seconds(1))
    #expect((await handle.outcome.failure as? ProcedureError)?.kind == .timedOut)
    #expect(journal.all == ["failed"])
  }

  @Test("L3, R4: onDidCancel is not called if the run fails because of a deadlock")
  func notCancelledByDeadlock() async {
    let (queue, journal) = (ProcedureQueue("q", isSuspended: true), Journal())
    let own = Box<ProcedureHandle<Void>?>(nil)
    let procedure = ProcedureTask<Void, Void>("body") {
      // No other task of the body can cause the next event.
      if let handle = own.value { for await _ in handle.events {} }
    }.onDidCancel { _ in journal.note("didCancel") }.onWillFinish { journal.note($0.word) }
    let handle = queue.add(procedure)
    own.update { $0 = handle }
    queue.resume()
    #expect((await handle.outcome.failure as? ProcedureError)?.kind == .exclusionDeadlock)
    #expect(journal.all == ["failed"])
  }

  @Test(
    "L3, C3: a body whose caller is cancelled is cancelled, regardless of what it returns",
    // Cancelling a task that awaits a handle does not cancel the run.
    arguments: Way.hooked.filter { $0 != .add })
  fileprivate func cutOff(way: Way) async throws {
    let (journal, started) = (Journal(), Signal())
    let procedure = ProcedureTask<Void, Int>("body") {
      started.set()
      await untilCancelled()
      return 1
    }.noting("n", in: journal)
    let caller = Task { await way.outcome(of: procedure) }
    await started.wait()
    caller.cancel()
    let result = await caller.value
    #expect(throws: CancellationError.self) { try result.get() }
    #expect(
      journal.all == [
        "n willExecute", "n didExecute cancelled", "n didCancel", "n willFinish cancelled", "n didFinish cancelled",
      ])
  }

  @Test("L3, C3: a cancellation reaches the executing children of the body", arguments: Way.whole)
  fileprivate func cancelledChild(way: Way) async throws {
    let (started, childWasCancelled) = (Signal(), Signal())
    let context = Mutex<ProcedureContext?>(nil)
    let procedure = ProcedureTask<Void, Int>("body") {
      context.withLock { $0 = ProcedureContext.current }
      ProcedureContext.current?.produce(
        ProcedureTask("child") {
          started.set()
          await untilCancelled()
          childWasCancelled.set()
        })
      await childWasCancelled.wait()
      return 1
    }.onDidFinish { _ in }
    let caller = Task { await way.outcome(of: procedure) }
    await started.wait()
    context.withLock(\.self)?.cancel(Failure())
    let result = await caller.value
    #expect(throws: (any Error).self) { try result.get() }
  }

  @Test(
    "L3, C1: a cancellation by an end hook has no effect, and a child that it produces is refused",
    arguments: [Way.run, .add, .alone])
  fileprivate func afterTheEnd(way: Way) async throws {
    let journal = Journal()
    let procedure = ProcedureTask<Void, Int>("body") { 1 }.onWillFinish { _ in
      let context = try #require(ProcedureContext.current)
      context.cancel(Failure())
      let child = context.produce(ProcedureTask("child") { journal.note("child") })
      let error = await child.outcome.failure as? ProcedureError
      #expect(error?.kind == .producerFinished)
    }.onDidFinish { journal.note($0.word) }
    #expect(try await way.outcome(of: procedure).get() == 1)
    #expect(journal.all == ["finished"])
  }

  @Test(
    "L3: with hooks, too, a procedure that a cancelled body executes can return its value",
    arguments: [Way.run, .add, .alone])
  fileprivate func cleanup(way: Way) async throws {
    let journal = Journal()
    let values = Mutex<[Int?]>([])
    let cleanup = ProcedureTask<Void, Int>("cleanup") { 7 }.noting("n", in: journal)
    let procedure = ProcedureTask<Void, Int>("body") {
      ProcedureContext.current?.cancel(Failure())
      let value = try? await cleanup.execute()
      values.withLock { $0.append(value) }
      return 1
    }
    let result = await way.outcome(of: procedure)
    #expect(throws: Failure()) { try result.get() }
    #expect(values.withLock(\.self) == [7])
    #expect(
      journal.all == ["n willExecute", "n didExecute finished", "n willFinish finished", "n didFinish finished"])
  }

  @Test("L3: end hooks receive the cancellation of a run before its body, even on a suspended queue")
  func cancelledBefore() async throws {
    let queue = ProcedureQueue("suspended", isSuspended: true)
    let journal = Journal()
    let handle = queue.add(ProcedureTask("body") { journal.note("body") }.noting("n", in: journal))
    handle.cancel(Failure())
    await #expect(throws: Failure()) { try await handle.value }
    await queue.shutDown()
    #expect(journal.all == ["n didCancel", "n willFinish cancelled", "n didFinish cancelled"])
  }

  @Test("L3, C3: onDidCancel is called after the body ends, in a task that is not cancelled")
  func cancelledDuring() async throws {
    let queue = ProcedureQueue("cancel")
    let journal = Journal()
    let handle = queue.add(
      ProcedureTask("body") {
        ProcedureContext.current?.cancel(Failure())
        journal.note("body cancelled: \(Task.isCancelled)")
      }.onDidCancel { reason in journal.note("\(reason is Failure), task: \(Task.isCancelled)") }
        .onWillFinish { _ in throw Failure() })
    guard case .cancelled = await handle.outcome else { return #expect(Bool(false), "not cancelled") }
    #expect(journal.all == ["body cancelled: true", "true, task: false"])
  }

  @Test("L3: a hook before the body can cancel it", arguments: Way.hooked)
  fileprivate func cancelling(way: Way) async throws {
    let journal = Journal()
    let procedure = ProcedureTask<Void, Int>("body") {
      journal.note("body")
      return 1
    }.onWillExecute { _ in ProcedureContext.current?.cancel(Failure()) }
    let result = await way.outcome(of: procedure)
    if way == .node {
      #expect(throws: (any Error).self) { try result.get() }
    } else {
      #expect(throws: Failure()) { try result.get() }
    }
    #expect(journal.all == [])
  }

  @Test("L3: the interceptor of a queue is within the hooks around the body", arguments: [Way.run, .add])
  fileprivate func interceptor(way: Way) async throws {
    let journal = Journal()
    var configuration = ProcedureQueue.Configuration("intercepting")
    configuration.interceptor = { context, next in
      journal.note("before \(context.name)")
      try await next()
      journal.note("after \(context.name)")
    }
    let queue = ProcedureQueue(configuration)
    let result = await way.outcome(of: ProcedureTask("p") { 1 }.noting("own", in: journal), on: queue)
    await queue.waitUntilIdle()
    #expect(try result.get() == 1)
    #expect(
      journal.all == [
        "own willExecute", "before p", "after p", "own didExecute finished", "own willFinish finished",
        "own didFinish finished",
      ])
  }

  @Test(
    "L3: a retry that is cancelled during its pause calls onDidExecute once on each layer", arguments: [false, true])
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
    var names: [String] = []
    for await event in handle.events { names.append(event.shortName) }
    #expect(names.count { $0 == "willExecute" } == names.count { $0 == "didExecute" }, "\(names)")
  }

  @Test("L3: end hooks are called in an uncancelled task, even if children are cancelled before them")
  func hooksWhileSettling() async throws {
    for cancels in [true, false] {
      let queue = ProcedureQueue("q")
      let seen = Box<Bool?>(nil)
      let childStarted = Signal()
      let release = Signal()
      let handle = queue.add(
        ProcedureTask("parent") {
          ProcedureContext.current?.produce(
            ProcedureTask("child") {
              childStarted.set()
              if cancels { return await untilCancelled() }
              await release.wait()
              throw TestError(code: 1)
            })
        }.onWillFinish { _ in
          let isCancelled = Task.isCancelled
          seen.update { $0 = isCancelled }
        })
      await childStarted.wait()
      try await eventually { handle.state == .finishing }
      if cancels { handle.cancel() } else { release.set() }
      _ = await handle.outcome
      #expect(seen.value == false)
    }
  }

  @Test("L3: a procedure whose onWillExecute throws does not call onDidExecute")
  func noBodyNoHook() async throws {
    let called = Box<[String]>([])
    let task = ProcedureTask {}.onWillExecute {
      called.update { $0.append("will") }
      throw TestError(code: 7)
    }.onDidExecute { _ in called.update { $0.append("did") } }
    let queue = ProcedureQueue("q")
    await #expect(throws: TestError(code: 7)) { try await queue.run(task) }
    await #expect(throws: TestError(code: 7)) { try await queue.add(task).value }
    #expect(called.value == ["will", "will"])
  }
}
