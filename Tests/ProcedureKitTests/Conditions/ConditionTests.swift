import ProcedureKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct ConditionTests {
  private static let yes = Condition("yes") { true }
  private static let no = Condition("no") { false }
  private static let bad = Condition("bad") { throw TestError(code: 1) }

  /// Returns the outcome of a procedure with this condition that is added to a queue. `run` and `execute` must have the same outcome.
  private func judge(_ condition: Condition) async -> String {
    let ran = Box(0)
    let task = ProcedureTask("p") { ran.update { $0 += 1 } }.condition(condition)
    let queue = ProcedureQueue("q")
    let description: String
    switch await queue.add(task).outcome {
    case .finished: description = "satisfied"
    case .ignored(let name): description = "ignored by \(name)"
    case .failed(let error): description = "failed: \((error as? ProcedureError)?.underlying.map { "\($0)" } ?? "?")"
    case .cancelled: description = "cancelled"
    }
    #expect(ran.value == (description == "satisfied" ? 1 : 0))
    for attempt in [{ try await queue.run(task) }, { try await task.execute() }] as [@Sendable () async throws -> Void]
    {
      do {
        try await attempt()
        #expect(description == "satisfied")
      } catch let error as ProcedureError {
        #expect(error.procedure.name == "p")
        #expect(error.kind == (description.hasPrefix("ignored") ? .ignored : .conditionFailed))
      } catch {
        Issue.record("\(error)")
      }
    }
    return description
  }

  @Test("`||` is satisfied if any operand is, ignored if all are, and otherwise fails with the errors")
  func or() async {
    #expect(await judge(Self.no || Self.yes) == "satisfied")
    #expect(await judge(Self.bad || Self.yes) == "satisfied")
    #expect(await judge(Self.no || Self.no) == "ignored by (no or no)")
    #expect(await judge(Self.no || Self.bad) == "failed: no alternative was satisfied: TestError(code: 1)")
    #expect(await judge(.any([])).hasPrefix("ignored"))
  }

  @Test(
    "`!` is satisfied if its operand fails or is ignored, and fails if it is satisfied; `&&` is as strict as its operands"
  )
  func notAndAnd() async {
    #expect(await judge(!Self.no) == "satisfied")
    #expect(await judge(!Self.bad) == "satisfied")
    #expect(await judge(!Self.yes) == "failed: the negated condition \"yes\" was satisfied")
    #expect(await judge(Self.yes && Self.yes) == "satisfied")
    #expect(await judge(Self.yes && Self.no) == "ignored by no")
    #expect(await judge(Self.no && Self.bad) == "failed: TestError(code: 1)")
    #expect(await judge(Self.bad.treatingErrorsAsUnsatisfied()) == "ignored by bad")
    #expect(await judge(Self.yes.treatingErrorsAsUnsatisfied()) == "satisfied")
  }

  @Test("Ignored and negated conditions combine with all others, and with themselves")
  func combinations() async {
    #expect(await judge((!Self.yes).treatingErrorsAsUnsatisfied()) == "ignored by not yes")
    #expect(await judge(!(Self.bad.treatingErrorsAsUnsatisfied())) == "satisfied")
    #expect(await judge(!(!Self.yes)) == "satisfied")
    #expect(await judge(!(!Self.no)).hasPrefix("failed"))
    #expect(await judge(!(Self.yes && Self.bad)) == "satisfied")
    #expect(await judge(!(Self.no || Self.yes)).hasPrefix("failed"))
    #expect(await judge(.all([Self.yes, Self.bad.treatingErrorsAsUnsatisfied()])) == "ignored by bad")
    #expect(await judge(.any([Self.bad.treatingErrorsAsUnsatisfied(), Self.no])).hasPrefix("ignored by any of"))
    #expect(await judge((Self.bad || Self.yes) && !Self.no) == "satisfied")
  }

  @Test("`all` of no conditions is satisfied, and `any` of no conditions is not, in every combination")
  func empty() async {
    #expect(await judge(.all([])) == "satisfied")
    #expect(await judge(.any([])) == "ignored by any of ()")
    #expect(await judge(Self.yes && .all([])) == "satisfied")
    #expect(await judge(Self.no && .all([])).hasPrefix("ignored"))
    #expect(await judge(.any([]) || Self.bad).hasPrefix("failed"))
    #expect(await judge(!(.all([]))).hasPrefix("failed"))
    #expect(await judge(.any([]).treatingErrorsAsUnsatisfied()).hasPrefix("ignored"))
  }

  @Test("A condition that throws its own CancellationError has failed")
  func throwsCancellation() async {
    #expect(await judge(Condition("gives up") { throw CancellationError() }) == "failed: CancellationError()")
  }
}
