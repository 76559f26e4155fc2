import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

extension Rule {
  static let conditions = [
    Rule(id: "K1 satisfied", sentence: "a satisfied condition is evaluated once, and then the body executes") { stage in
      let subject = stage.subject().condition("yes") {
        stage.note("condition")
        return true
      }
      #expect(await stage.result(of: subject).value == 1)
      stage.expect(["condition", "body"])
      stage.expectHookCalled { $0.value == 1 }
    },
    Rule(
      id: "K1 ignored", sentence: "a condition that is not satisfied ignores the run, and the body never runs",
      ways: Way.withoutElements
    ) { stage in
      let result = await stage.result(of: stage.subject().condition("no") { false })
      let error = result.failure as? ProcedureError
      #expect(error?.kind == .ignored && error?.condition == "no", "\(result)")
      stage.expect([])
      stage.expectHookCalled { $0.ignoringCondition == "no" }
    },
    Rule(id: "K1 failed", sentence: "a condition that throws fails the run, and the body never runs") { stage in
      let result = await stage.result(of: stage.subject().condition("bad") { throw TestError(code: 3) })
      let isConditionFailed = { (error: (any Error)?) in
        guard let error = error as? ProcedureError, error.kind == .conditionFailed else { return false }
        return error.condition == "bad" && error.underlying as? TestError == TestError(code: 3)
      }
      #expect(isConditionFailed(result.failure), "\(result)")
      stage.expect([])
      stage.expectHookCalled { isConditionFailed($0.error) }
    },
    Rule(id: "K1 together", sentence: "all conditions of one level are evaluated concurrently") { stage in
      let (first, second) = (stage.signal(), stage.signal())
      let subject = stage.subject().condition("first") {
        first.set()
        await second.wait()
        return true
      }.condition("second") {
        second.set()
        await first.wait()
        return true
      }
      #expect(await stage.result(of: subject).value == 1)
    },
    Rule(id: "K1 first", sentence: "the first failure decides and cancels the other conditions") { stage in
      let begun = stage.signal()
      let subject = stage.subject().condition("slow") {
        begun.set()
        await untilCancelled()
        stage.note("cancelled")
        return true
      }.condition("bad") {
        await begun.wait()
        throw TestError(code: 3)
      }
      let result = await stage.result(of: subject)
      #expect((result.failure as? ProcedureError)?.kind == .conditionFailed, "\(result)")
      stage.expect(["cancelled"])
      stage.expectHookCalled { $0.procedureError?.kind == .conditionFailed }
    },
    Rule(id: "K1 suspended", sentence: "nothing is evaluated while the queue is suspended", ways: Way.queued) { stage in
      stage.queue.suspend()
      let running = stage.start(
        stage.subject().condition("yes") {
          stage.note("condition")
          return true
        })
      await stage.settle()
      stage.note("resumed")
      stage.queue.resume()
      #expect(await running.result.value == 1)
      stage.expect(["resumed", "condition", "body"])
    },
    Rule(id: "Q3 conditions", sentence: "conditions hold no slot", ways: Way.queued) { stage in
      let subject = stage.subject().condition("needs the slot") {
        let executed = stage.signal()
        // The wait is not for a procedure, because such a wait would release the slot anyway.
        stage.queue.add(ProcedureTask("next") { executed.set() })
        await executed.wait()
        return true
      }
      #expect(await stage.result(of: subject).value == 1)
      stage.expect(["body"])
    },
    // This is the exception for the caller's task: a run in this task waits for the condition, but an added run does not.
    Rule(
      id: "K1 deaf added", sentence: "a condition that ignores its cancellation does not delay an added run",
      ways: Way.leavingConditionsBehind
    ) { stage in
      let running = stage.start(stage.deafSubject(), isAdded: true)
      await stage.started.wait()
      running.handle?.cancel(Side.reason)
      await stage.expectCancelled(running, from: .handle)
      stage.note("ended")
      stage.release.set()
      await stage.settle()
      #expect(stage.journal.first == "ended" && !stage.journal.contains("body"), "\(stage.journal)")
    },
    Rule(
      id: "K1 deaf sibling",
      sentence: "a condition that fails ends an added run, even if another condition ignores its cancellation",
      ways: Way.leavingConditionsBehind
    ) { stage in
      let subject = stage.deafSubject().condition("fails") {
        await stage.started.wait()
        throw TestError(code: 3)
      }
      let running = stage.start(subject, isAdded: true)
      let result = await running.result
      #expect((result.failure as? ProcedureError)?.kind == .conditionFailed, "\(result)")
      stage.note("ended")
      stage.release.set()
      await stage.settle()
      #expect(stage.journal.first == "ended" && !stage.journal.contains("body"), "\(stage.journal)")
    },
    Rule(
      id: "K1 deaf run", sentence: "`run` waits for a condition that ignores its cancellation",
      ways: Way.withoutElements.filter { !Way.handled.contains($0) }
    ) { stage in
      let running = stage.start(stage.deafSubject())
      await stage.started.wait()
      running.caller.cancel()
      await stage.settle()
      stage.release.set()
      await stage.expectCancelled(running, from: .caller)
      stage.expect(["condition"])
    },
    Rule(
      id: "K3 deaf satisfied",
      sentence: "an operand that ignores its cancellation does not delay a combination that is satisfied",
      ways: Way.leavingConditionsBehind
    ) { stage in
      let combinations: [(Condition) -> Condition] = [
        { $0 || .yes }, { .yes || $0 }, { .any([$0, .no, .yes]) }, { ($0 || .yes) && .yes }, { .no || ($0 || .yes) },
        { !($0 && .bad) }, { !((.bad && $0).treatingErrorsAsUnsatisfied()) }, { ($0 || .yes).silenced() },
        { ($0 || .yes).treatingErrorsAsUnsatisfied() },
        { !(!($0 || .yes)) },
      ]
      for combine in combinations {
        let running = stage.start(stage.subject().condition(combine(stage.deafCondition())), isAdded: true)
        #expect(await running.result.value == 1)
        stage.expect(["body"])
        stage.clearJournal()
      }
    },
    Rule(
      id: "K3 deaf failed",
      sentence: "an operand that ignores its cancellation does not delay a combination that fails",
      ways: Way.leavingConditionsBehind
    ) { stage in
      let combinations: [(Condition) -> Condition] = [
        { $0 && .bad }, { .bad && $0 }, { .all([$0, .yes, .bad]) }, { !($0 || .yes) }, { ($0 || .yes) && .bad },
        { ($0 && .bad) || .no }, { ($0 && .bad).silenced() },
      ]
      for combine in combinations {
        let running = stage.start(stage.subject().condition(combine(stage.deafCondition())), isAdded: true)
        let result = await running.result
        #expect((result.failure as? ProcedureError)?.kind == .conditionFailed, "\(result)")
      }
      stage.expect([])
    },
    Rule(
      id: "K3 deaf ignored",
      sentence: "an operand that ignores its cancellation does not delay a combination that is not satisfied",
      ways: Way.leavingConditionsBehind.filter { !Way.elements.contains($0) }
    ) { stage in
      let combinations: [(Condition) -> Condition] = [
        { ($0 && .bad).treatingErrorsAsUnsatisfied() }, { (!($0 || .yes)).treatingErrorsAsUnsatisfied() },
        { ($0 && .bad).treatingErrorsAsUnsatisfied() && .yes },
      ]
      for combine in combinations {
        let running = stage.start(stage.subject().condition(combine(stage.deafCondition())), isAdded: true)
        let result = await running.result
        #expect((result.failure as? ProcedureError)?.kind == .ignored, "\(result)")
      }
      stage.expect([])
    },
    Rule(
      id: "K3 deaf run", sentence: "`run` waits for an operand that ignores its cancellation, even after the decision",
      ways: Way.withoutElements.filter { !Way.handled.contains($0) }
    ) { stage in
      let running = stage.start(stage.subject().condition(stage.deafCondition() || .yes))
      await stage.started.wait()
      await stage.settle()
      stage.expect([])
      stage.release.set()
      #expect(await running.result.value == 1)
      stage.expect(["condition", "body"])
    },
    Rule(
      id: "K3", sentence: "the operands decide the outcome of a combination", ways: Way.withoutElements
    ) { stage in
      let combinations: [(Condition, String)] = [
        (.yes || .bad, "finished"), (.bad || .yes, "finished"), (.no || .yes, "finished"), (.no || .no, "ignored"),
        (.no || .bad, "conditionFailed"), (.bad || .bad, "conditionFailed"), (!.yes, "conditionFailed"),
        (!.no, "finished"), (!.bad, "finished"),
      ]
      for (condition, expected) in combinations {
        let result = await stage.result(of: stage.subject().condition(condition))
        let seen =
          result.value == 1 ? "finished" : (result.failure as? ProcedureError).map { "\($0.kind)" } ?? "\(result)"
        #expect(seen == expected, "\(condition.name)")
      }
    },
    Rule(id: "K2 order", sentence: "`prepare` runs before its `evaluate`; `.silenced()` drops it") { stage in
      let condition = Condition("yes") {
        stage.note("prepare")
      } evaluate: {
        stage.note("evaluate")
        return true
      }
      #expect(await stage.result(of: stage.subject().condition(condition)).value == 1)
      #expect(await stage.result(of: stage.subject().condition(condition.silenced())).value == 1)
      stage.expect(["prepare", "evaluate", "body", "evaluate", "body"])
    },
    Rule(id: "K2 throws", sentence: "a `prepare` that throws fails the condition") { stage in
      let condition = Condition("bad") {
        throw TestError(code: 3)
      } evaluate: {
        stage.note("evaluate")
        return true
      }
      let result = await stage.result(of: stage.subject().condition(condition))
      #expect((result.failure as? ProcedureError)?.underlying as? TestError == TestError(code: 3), "\(result)")
      stage.expect([])
      stage.expectHookCalled { $0.procedureError?.kind == .conditionFailed }
    },
    Rule(id: "R2 conditions", sentence: "no resource is held while conditions are pending, however they are written") {
      stage in
      for isOutside in [true, false] {
        let (begun, satisfied) = (stage.signal(), stage.signal())
        let condition = Condition("slow") {
          begun.set()
          await satisfied.wait()
          return true
        }
        let subject = stage.subject()
        let running = stage.start(
          isOutside
            ? subject.exclusive(stage.category).condition(condition)
            : subject.condition(condition).exclusive(stage.category))
        await begun.wait()
        try await stage.takeCategory()
        satisfied.set()
        #expect(await running.result.value == 1)
      }
    },
  ]
}

extension Way {
  /// The ways in which an added procedure does not wait for conditions that ignore their cancellation: all but calls, which are structured.
  static let leavingConditionsBehind = allCases.filter { ![.run, .alone, .part].contains($0) }
}

extension Condition {
  fileprivate static let yes = Condition("yes") { true }
  fileprivate static let no = Condition("no") { false }
  fileprivate static let bad = Condition("bad") { throw TestError(code: 3) }
}

extension Stage {
  /// Returns a condition that ignores its cancellation until `release`, and then records "condition".
  fileprivate func deafCondition() -> Condition {
    Condition("deaf") { [self] in
      started.set()
      await release.wait()
      note("condition")
      return true
    }
  }

  fileprivate func deafSubject() -> ProcedureTask<Void, Int> { subject().condition(deafCondition()) }
}
