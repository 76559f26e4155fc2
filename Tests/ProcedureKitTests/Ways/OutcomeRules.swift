import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

extension Rule {
  static let outcomes = [
    Rule(id: "L1 value", sentence: "a run has the value that the body returns, once") { stage in
      for _ in 0..<2 { #expect(await stage.way.outcome(of: stage.subject(), on: stage.queue).value == 1) }
      stage.expect(["body", "body"])
      #expect(await stage.result(of: stage.subject()).value == 1)
      stage.expectHookCalled { $0.value == 1 }
    },
    Rule(id: "D1 error", sentence: "a run has the error that the body throws, unwrapped") { stage in
      let result = await stage.result(of: ProcedureTask("subject") { throw TestError(code: 3) })
      #expect(result.failure as? TestError == TestError(code: 3), "\(result)")
      stage.expectHookCalled { $0.error(as: TestError.self) == TestError(code: 3) }
    },
    Rule(
      id: "C1 reason",
      sentence: "a cancellation with a reason throws the reason, and one without a reason throws `CancellationError`"
    ) {
      stage in
      for reason in [Side.reason, nil] {
        let subject = ProcedureTask<Void, Int>("subject") {
          ProcedureContext.current?.cancel(reason)
          return 1
        }
        let result = await stage.way.outcome(of: subject, on: stage.queue)
        let isExpected = reason == nil ? result.failure is CancellationError : result.failure as? TestError == reason
        #expect(isExpected, "\(result)")
      }
    },
    Rule(
      id: "L1 ignored", sentence: "a body that rethrows that its call was ignored is ignored",
      ways: Way.withoutElements
    ) { stage in
      let inner = ProcedureTask<Void, Int>("inner") { 1 }.condition("no") { false }
      let result = await stage.result(of: ProcedureTask("subject") { try await inner.called() })
      #expect((result.failure as? ProcedureError)?.kind == .ignored, "\(result)")
      stage.expectHookCalled { $0.ignoringCondition == "no" }
    },
  ]
}
