import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

extension Rule {
  static let cancels =
    Side.outsiders.flatMap(beforeTheBody) + Side.allCases.flatMap(duringTheBody) + [false, true].map(inEndHook) + [
      Rule(
        id: "C2 before the call", sentence: "a task that is cancelled before it calls executes nothing",
        ways: Side.caller.ways
      ) { stage in
        let ready = stage.signal()
        let running = stage.start(stage.subject(), after: ready)
        running.caller.cancel()
        ready.set()
        let result = await running.result
        #expect(result.failure is CancellationError, "\(result)")
        stage.expect([])
        // In the other ways, the enclosing body does not execute, so the subject has no run.
        if [.run, .alone].contains(stage.way) { stage.expectHookCalled { $0.isCancelled } }
      },
      Rule(id: "C1 late", sentence: "a cancellation after the outcome was decided is ignored") { stage in
        let subject = stage.subject().onWillFinish { _ in ProcedureContext.current?.cancel(Side.reason) }
        // If the subject is a part, a layer, an attempt or a copy, the enclosing run continues and is cancelled.
        let result = await stage.result(of: subject)
        if [.run, .add, .alone, .child].contains(stage.way) { #expect(result.value == 1, "\(result)") }
        stage.expectHookCalled { $0.value == 1 }
      },
      Rule(id: "C1 first", sentence: "of two cancellations, the first counts") { stage in
        let running = stage.start(stage.waitingSubject())
        await stage.started.wait()
        await stage.cancel(running, from: .context)
        await stage.cancel(running, from: stage.way == .add ? .handle : .caller)
        stage.release.set()
        _ = await running.result
        stage.expectHookCalled { $0.cancellationReason(as: TestError.self) == Side.reason }
      },
      Rule(id: "C2 task group", sentence: "a task group in the body cancels the procedures that its tasks call") {
        stage in
        let subject = ProcedureTask<Void, Int>("subject") {
          await withTaskGroup(of: Void.self) { group in
            group.addTask {
              await untilCancelled()
              try? await ProcedureTask("called") { stage.note("called") }.called()
            }
            group.cancelAll()
          }
          return 1
        }
        #expect(await stage.result(of: subject).value == 1)
        stage.expect([])
      },
      Rule(
        id: "C3 late", sentence: "a handler or a child that comes after the cancellation is called or cancelled at once"
      ) {
        stage in
        let subject = ProcedureTask<Void, Int>("subject") {
          let isCalled = Box(false)
          ProcedureContext.current?.cancel(Side.reason)
          await ProcedureContext.withCancellationHandler {
            if isCalled.value { stage.note("handler") }
          } onCancel: {
            isCalled.update { $0 = true }
          }
          let child = ProcedureContext.current?.produce(ProcedureTask("child") { await untilCancelled() })
          if await child?.outcome.cancellationReason(as: TestError.self) == Side.reason {
            stage.note("cancelled child")
          }
          return 1
        }
        await stage.expectCancelled(stage.start(subject), from: .context)
        stage.expect(["handler", "cancelled child"])
      },
      Rule(
        id: "C4 wait", sentence: "cancelling a task that awaits `value` ends the wait, but not the procedure",
        ways: Way.handled
      ) { stage in
        let running = stage.start(stage.waitingSubject())
        await stage.started.wait()
        let handle = try #require(stage.ownHandle(running))
        let waiter = Task { try await handle.value }
        await stage.settle()
        waiter.cancel()
        let waited = await waiter.result
        #expect(waited.failure is CancellationError, "\(waited)")
        stage.note("wait has ended")
        stage.release.set()
        #expect(await running.result.value == 1)
        stage.expect(["wait has ended", "body"])
      },
      Rule(id: "C6", sentence: "cancelling one run does not affect any other", ways: Way.queued, width: 4) { stage in
        let (executes, end) = (stage.signal(), stage.signal())
        let neighbour = stage.queue.add(
          ProcedureTask("neighbour") {
            executes.set()
            await end.wait()
            return !Task.isCancelled && ProcedureContext.current?.isCancelled == false
          })
        await executes.wait()
        let running = stage.start(stage.waitingSubject())
        await stage.started.wait()
        let side = stage.way == .add ? Side.handle : .caller
        await stage.cancel(running, from: side)
        stage.release.set()
        await stage.expectCancelled(running, from: side)
        end.set()
        let isUndisturbed = try await neighbour.value
        #expect(isUndisturbed)
      },
    ]

  /// Cancels the subject by `side` in each wait before the body.
  private static func beforeTheBody(_ side: Side) -> [Rule] {
    [
      Rule(
        id: "C2 condition, \(side)",
        sentence: "a cancellation by \(side.rawValue) during a condition ends the run, and the body never runs",
        ways: side.ways
      ) { stage in
        let subject = stage.subject().condition("slow") {
          stage.started.set()
          await untilCancelled()
          stage.note("cancelled")
          return true
        }
        let running = stage.start(subject, isAdded: side.isAdded)
        await stage.started.wait()
        await stage.cancel(running, from: side)
        await stage.expectCancelled(running, from: side)
        await stage.settle()
        // An added procedure does not wait for its condition.
        #expect(["cancelled"].starts(with: stage.journal), "\(stage.journal)")
      },
      Rule(
        id: "C2 resource, \(side)",
        sentence:
          "a cancellation by \(side.rawValue) during a wait for a resource ends the run immediately, and the body never runs",
        ways: side.ways
      ) { stage in
        let end = stage.signal()
        await stage.hold(until: end)
        let isReached = stage.signal()
        let subject = stage.subject().exclusive(stage.category).condition("reached") {
          isReached.set()
          return true
        }
        let running = stage.start(subject, isAdded: side.isAdded)
        await isReached.wait()
        await stage.settle()
        await stage.cancel(running, from: side)
        await stage.expectCancelled(running, from: side)
        stage.expect([])
        end.set()
        try await stage.takeCategory()
      },
      Rule(
        id: "C2 suspended, \(side)",
        sentence:
          "a cancellation by \(side.rawValue) on a suspended queue ends the run immediately, and the body never runs",
        ways: side == .childHandle ? [] : side.ways.filter { $0 != .alone }
      ) { stage in
        stage.queue.suspend()
        let running = stage.start(stage.subject(), isAdded: side.isAdded)
        if running.handle == nil { try await stage.untilAdmitted() }
        await stage.cancel(running, from: side)
        let result = await running.result
        #expect(side.throwsError(result.failure), "\(result)")
        stage.expect([])
      },
      Rule(
        id: "C2 slot, \(side)",
        sentence:
          "a cancellation by \(side.rawValue) during a wait for a slot ends the run immediately, and the body never runs",
        ways: side == .childHandle ? [] : side.ways.filter { $0 != .alone }
      ) { stage in
        // `cancelAll` cancels the holder of the slot, too, which waits for the end of the check in any case.
        let (isExecuting, end) = (stage.signal(), stage.signal())
        let holder = stage.queue.add(
          ProcedureTask("holder of the slot") {
            isExecuting.set()
            await end.wait()
          })
        await isExecuting.wait()
        let running = stage.start(stage.subject(), isAdded: side.isAdded)
        try await eventually { stage.queue.snapshot().procedures.count == 2 }
        await stage.cancel(running, from: side)
        let result = await running.result
        #expect(side.throwsError(result.failure), "\(result)")
        stage.expect([])
        end.set()
        _ = await holder.outcome
        #expect(try await stage.queue.run(ProcedureTask { 1 }) == 1)
      },
    ]
  }

  /// Cancels the caller while an end hook executes.
  private static func inEndHook(isLast: Bool) -> Rule {
    Rule(
      id: isLast ? "C1 last hook" : "C1 end hook",
      sentence:
        "a cancellation of the caller during \(isLast ? "the last" : "an end") hook does not change the outcome",
      ways: Side.caller.ways
    ) { stage in
      let hook: @Sendable () async -> Void = {
        stage.enter()
        await stage.release.wait()
      }
      let subject = stage.subject()
      let running = stage.start(
        isLast ? subject.onDidFinish { _ in await hook() } : subject.onWillFinish { _ in await hook() })
      await stage.started.wait()
      running.caller.cancel()
      stage.release.set()
      let result = await running.result
      // In the other ways, the enclosing run continues and is cancelled.
      if [.run, .alone].contains(stage.way) { #expect(result.value == 1, "\(result)") }
      stage.expectHookCalled { $0.value == 1 }
    }
  }

  /// Cancels the subject by `side` while hooks or the body execute.
  private static func duringTheBody(_ side: Side) -> [Rule] {
    [
      Rule(
        id: "C2 hook, \(side)",
        sentence:
          "a run that is cancelled by \(side.rawValue) in a hook before the body awaits the hook, and the body never runs",
        ways: side.ways
      ) { stage in
        let subject = stage.subject().onWillExecute { _ in
          stage.enter()
          await stage.release.wait()
          stage.note("hook")
        }
        let running = stage.start(subject, isAdded: side.isAdded)
        await stage.started.wait()
        await stage.cancel(running, from: side)
        stage.release.set()
        await stage.expectCancelled(running, from: side)
        stage.expect(["hook"])
      },
      Rule(
        id: "C3 value, \(side)",
        sentence:
          "a run that is cancelled by \(side.rawValue) while its body executes is cancelled, whatever the body returns",
        ways: side.ways
      ) { stage in try await stage.cancelBody(from: side) { 1 } },
      Rule(
        id: "C3 error, \(side)",
        sentence:
          "a run that is cancelled by \(side.rawValue) while its body executes is cancelled, whatever the body throws",
        ways: side.ways
      ) { stage in try await stage.cancelBody(from: side) { throw TestError(code: 3) } },
      Rule(
        id: "C3 wait, \(side)", sentence: "a cancellation by \(side.rawValue) ends the waits of the body",
        ways: side.ways
      ) { stage in
        let running = stage.start(stage.waitingSubject(until: stage.signal()), isAdded: side.isAdded)
        await stage.started.wait()
        await stage.settle()
        await stage.cancel(running, from: side)
        await stage.expectCancelled(running, from: side)
      },
      Rule(
        id: "C3 children, \(side)", sentence: "a cancellation by \(side.rawValue) reaches the children of the body",
        ways: side.ways, width: 4
      ) { stage in
        let child = stage.signal()
        let subject = ProcedureTask<Void, Int>("subject") {
          stage.produceUntilCancelled("child", started: child)
          await child.wait()
          stage.enter()
          await stage.release.wait()
          return 1
        }
        let running = stage.start(subject, isAdded: side.isAdded)
        await stage.started.wait()
        await stage.cancel(running, from: side)
        try await stage.untilNoted("child is cancelled")
        stage.release.set()
        await stage.expectCancelled(running, from: side)
      },
    ]
  }
}

extension Stage {
  /// Cancels a body while it executes. The exception of C3: other code cannot cancel a caller's task.
  fileprivate func cancelBody(from side: Side, ending: @escaping @Sendable () throws -> Int) async throws {
    let handlerWasCalled = Box(false)
    let seen = Box<(task: Bool, context: Bool, reason: (any Error)?)?>(nil)
    let subject = ProcedureTask<Void, Int>("subject") { [self] in
      enter()
      await withTaskCancellationHandler {
        await release.wait()
      } onCancel: {
        handlerWasCalled.update { $0 = true }
      }
      // The task may be cancelled a moment after the call that cancels has returned.
      if !isInCallersTask || side == .caller { try await eventually { Task.isCancelled } }
      let context = ProcedureContext.current
      let now = (Task.isCancelled, context?.isCancelled ?? false, context?.cancellationReason)
      seen.update { $0 = now }
      note("body")
      return try ending()
    }
    let running = start(subject, isAdded: side.isAdded)
    await started.wait()
    await cancel(running, from: side)
    release.set()
    await expectCancelled(running, from: side)
    let isException = isInCallersTask && side != .caller
    let what = try #require(seen.value)
    #expect(what.context && side.gives(what.reason), "the context: \(what)")
    #expect(what.task == !isException, "the task; in the caller's: \(isInCallersTask)")
    #expect(handlerWasCalled.value == !isException, "the handler; in the caller's: \(isInCallersTask)")
    expect(["body"])
  }
}
