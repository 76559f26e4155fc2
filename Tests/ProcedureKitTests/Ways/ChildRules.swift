import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

extension Rule {
  static let children = [
    Rule(id: "C1 children", sentence: "a run ends after its produced children") { stage in
      let bodyHasEnded = stage.signal()
      let subject = ProcedureTask<Void, Int>("subject") {
        ProcedureContext.current?.produce(
          ProcedureTask("child") {
            await bodyHasEnded.wait()
            await stage.settle()
            stage.note("child")
          })
        return 1
      }.onDidExecute { _ in bodyHasEnded.set() }
      #expect(await stage.result(of: subject).value == 1)
      stage.note("returned")
      stage.expect(["child", "returned"])
    },
    Rule(
      id: "C1 between", sentence: "a cancellation after the body has ended, and before its children have ended, counts",
      width: 4
    ) { stage in
      let (child, bodyHasEnded) = (stage.signal(), stage.signal())
      let subject = ProcedureTask<Void, Int>("subject") {
        stage.produceUntilCancelled("child", started: child)
        stage.enter()
        await child.wait()
        return 1
      }.onDidExecute { _ in bodyHasEnded.set() }
      let running = stage.start(subject)
      await bodyHasEnded.wait()
      await stage.settle()
      await stage.cancel(running, from: .context)
      await stage.expectCancelled(running, from: .context)
      stage.expect(["child is cancelled"])
    },
    Rule(
      id: "L5 failed child", sentence: "a failed child cancels its siblings and fails the run with its error", width: 4
    ) {
      stage in
      let sibling = stage.signal()
      let subject = ProcedureTask<Void, Int>("subject") {
        stage.produceUntilCancelled("sibling", started: sibling)
        await sibling.wait()
        let child = ProcedureContext.current?.produce(ProcedureTask("child") { throw TestError(code: 3) })
        _ = await child?.outcome
        return 1
      }
      let result = await stage.result(of: subject)
      #expect(result.failure as? TestError == TestError(code: 3), "\(result)")
      stage.expect(["sibling is cancelled"])
      stage.expectHookCalled { $0.error(as: TestError.self) == TestError(code: 3) }
    },
    Rule(id: "L5 late child", sentence: "a child that fails after the body fails the run") { stage in
      let bodyHasEnded = stage.signal()
      let subject = ProcedureTask<Void, Int>("subject") {
        ProcedureContext.current?.produce(
          ProcedureTask("child") {
            await bodyHasEnded.wait()
            throw TestError(code: 3)
          })
        return 1
      }.onDidExecute { _ in bodyHasEnded.set() }
      let result = await stage.result(of: subject)
      #expect(result.failure as? TestError == TestError(code: 3), "\(result)")
      stage.expectHookCalled { $0.error(as: TestError.self) == TestError(code: 3) }
    },
    Rule(id: "D4 stopped body", sentence: "a failed child ends the waits of the body, and cancels its task") { stage in
      let end = stage.signal()
      await stage.hold(until: end)
      let other = stage.others.add(ProcedureTask("other") { await end.wait() })
      let subject = ProcedureTask<Void, Int>("subject") {
        stage.enter()
        ProcedureContext.current?.produce(ProcedureTask("child") { () throws in throw TestError(code: 3) })
        _ = try? await other.value
        _ = try? await ProcedureTask { stage.note("claims") }.exclusive(stage.category).called()
        // The exception of C3: other code cannot cancel a caller's task.
        if !stage.isInCallersTask { try await eventually { Task.isCancelled } }
        return 1
      }
      let result = await stage.result(of: subject)
      #expect(result.failure as? TestError == TestError(code: 3), "\(result)")
      #expect(!end.isSet)
      stage.expect([])
    },
    Rule(id: "D4 failed body", sentence: "the children of a body that fails are cancelled", width: 4) { stage in
      let child = stage.signal()
      let subject = ProcedureTask<Void, Int>("subject") {
        stage.produceUntilCancelled("child", started: child)
        await child.wait()
        throw TestError(code: 3)
      }
      let result = await stage.result(of: subject)
      #expect(result.failure as? TestError == TestError(code: 3), "\(result)")
      stage.expect(["child is cancelled"])
      stage.expectHookCalled { $0.error(as: TestError.self) == TestError(code: 3) }
    },
    Rule(
      id: "D4 collect",
      sentence:
        "with `.collect`, hooks and callers receive all failures as one error, unless a hook throws another one",
      ways: Way.withOwnChildren
    ) { stage in
      for hookThrows in [false, true] {
        let subject = ProcedureTask<Void, Int>("subject") {
          ProcedureContext.current?.produce(ProcedureTask("child") { throw TestError(code: 3) })
          return 1
        }.onFailure(.collect).onWillFinish { outcome in
          stage.note("\(outcome.procedureError?.failures.count ?? 0)")
          if hookThrows { throw TestError(code: 4) }
        }
        let result = await stage.result(of: subject)
        let error = result.failure as? ProcedureError
        #expect(
          hookThrows
            ? result.failure as? TestError == TestError(code: 4)
            : error?.kind == .childrenFailed && error?.underlying as? TestError == TestError(code: 3), "\(result)")
      }
      stage.expect(["1", "1"])
    },
    Rule(id: "L1 late child", sentence: "a run whose outcome was decided produces no child", ways: Way.withOwnChildren)
    {
      stage in
      let context = Box<ProcedureContext?>(nil)
      let produce: @Sendable (ProcedureContext?) async -> Void = { context in
        let child = context?.produce(ProcedureTask("child") { stage.note("child") })
        if await child?.outcome.procedureError?.kind == .producerFinished { stage.note("refused") }
      }
      let subject = ProcedureTask<Void, Int>("subject") {
        context.update { $0 = ProcedureContext.current }
        return 1
      }.onWillFinish { _ in await produce(ProcedureContext.current) }
      #expect(await stage.resultAfterHooks(of: subject).value == 1)
      await produce(context.value)
      stage.expect(["refused", "refused"])
    },
    Rule(id: "C6 children", sentence: "a child that is cancelled individually does not affect its parent", width: 2) {
      stage in
      let subject = ProcedureTask<Void, Int>("subject") {
        let executes = stage.signal()
        let child = ProcedureContext.current?.produce(
          ProcedureTask("child") {
            executes.set()
            await untilCancelled()
          })
        await executes.wait()
        child?.cancel(TestError(code: 3))
        _ = await child?.outcome
        return Task.isCancelled ? 0 : 1
      }
      #expect(await stage.result(of: subject).value == 1)
      stage.expectHookCalled { $0.value == 1 }
    },
  ]
}

extension Way {
  /// The ways in which the children that the body produces belong to the procedure, and not to the body that calls it.
  fileprivate static let withOwnChildren = allCases.filter { $0 != .part }
}
