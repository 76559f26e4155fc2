import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

/// The rules of the modifiers around or before the body: `configured`, `reusing`, `intercepted`.
extension Rule {
  static let modifiers = [
    Rule(id: "configured", sentence: "modifiers that depend on the input apply only to the body") {
      stage in
      let subject = stage.subject().configured { _, procedure in
        stage.note("configured")
        return procedure.onWillExecute { _ in stage.note("hook") }.map { $0 + 1 }
      }
      #expect(await stage.result(of: subject.map { $0 - 1 }).value == 1)
      stage.expect(["configured", "hook", "body"])
    },
    Rule(
      id: "configured condition", sentence: "a condition that depends on the input decides like any other",
      ways: Way.withoutElements
    ) { stage in
      let subject = stage.subject().configured { _, procedure in procedure.condition("no") { false } }
      let result = await stage.result(of: subject)
      #expect((result.failure as? ProcedureError)?.kind == .ignored, "\(result)")
      stage.expect([])
    },
    Rule(id: "reused", sentence: "an existing value is the value of the run, and the body never runs") { stage in
      let subject = stage.subject().onWillExecute { _ in stage.note("hook") }.reusing("cached") { 1 }
      let result = await stage.resultAfterHooks(of: subject.onDidFinish { stage.note($0.word) })
      #expect(result.value == 1)
      stage.expect(["finished"])
    },
    Rule(
      id: "not reused", sentence: "without an existing value, the body runs, and an error of the lookup fails the run"
    ) {
      stage in
      #expect(await stage.result(of: stage.subject().reusing("cached") { nil }).value == 1)
      let result = await stage.result(of: stage.subject().reusing("cached") { throw TestError(code: 3) })
      #expect(result.failure as? TestError == TestError(code: 3), "\(result)")
      stage.expect(["body"])
    },
    Rule(id: "reuse cancelled", sentence: "a cancellation during the lookup of a value ends the run as cancelled") {
      stage in
      let subject = stage.subject().reusing("cached") {
        stage.enter()
        try await stage.untilCancelled()
        return 1
      }
      let running = stage.start(subject)
      await stage.started.wait()
      running.caller.cancel()
      running.handle?.cancel()
      let result = await running.result
      #expect(result.failure is CancellationError, "\(result)")
      stage.expect([])
    },
    Rule(
      id: "first",
      sentence: "the first of several procedures to succeed provides the value, and the others are cancelled",
      width: 2
    ) { stage in
      let endless = ProcedureTask<Void, Int>("endless") {
        stage.started.set()
        try await stage.untilCancelled()
        stage.note("cancelled")
        return 2
      }
      let failing = ProcedureTask<Void, Int>("failing") { throw TestError(code: 3) }
      let quick = ProcedureTask<Void, Int>("quick") {
        await stage.started.wait()
        return 1
      }
      #expect(await stage.result(of: .first(of: [failing, endless, quick])).value == 1)
      stage.expect(["cancelled"])
      let result = await stage.result(of: .first(of: [failing, failing]))
      #expect((result.failure as? ProcedureError)?.failures.count == 2, "\(result)")
    },
    Rule(id: "intercepted", sentence: "interceptors wrap everything that is written before them, and see its error") {
      stage in
      let subject = stage.subject().intercepted { _, next in
        stage.note("before")
        let value = try await next()
        stage.note("after \(value)")
        return value
      }
      #expect(await stage.result(of: subject).value == 1)
      let failing = ProcedureTask<Void, Int>("subject") { throw TestError(code: 3) }.intercepted { _, next in
        do { return try await next() } catch { return (error as? TestError)?.code == 3 ? 1 : 0 }
      }
      #expect(await stage.result(of: failing).value == 1)
      stage.expect(["before", "body", "after 1"])
    },
  ]
}
