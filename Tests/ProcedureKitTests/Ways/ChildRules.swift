import ProcedureKit
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
