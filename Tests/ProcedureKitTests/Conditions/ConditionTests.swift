import ProcedureKit
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

  @Test(
    "K1: `true` satisfies, `false` ignores and an error fails; the body executes only if all conditions are satisfied")
  func single() async {
    #expect(await judge(Self.yes) == "satisfied")
    #expect(await judge(Self.no) == "ignored by no")
    #expect(await judge(Self.bad) == "failed: TestError(code: 1)")
  }

  @Test("K1: one `false` ignores the run, even beside a `true`; a failure takes precedence over both")
  func severalOfOneLevel() async {
    let queue = ProcedureQueue("q")
    let body = ProcedureTask("p") { 1 }
    guard case .ignored(by: "no") = await queue.add(body.condition(Self.yes).condition(Self.no)).outcome else {
      Issue.record("not ignored")
      return
    }
    let failing = await queue.add(body.condition(Self.no).condition(Self.bad).condition(Self.yes)).outcome
    guard case .failed(let error as ProcedureError) = failing else {
      Issue.record("\(failing)")
      return
    }
    #expect(error.kind == .conditionFailed)
  }

  @Test("K1: conditions are evaluated after dependencies, without a slot, and never while the queue is suspended")
  func whenEvaluated() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let release = Signal()
    let evaluated = Signal()
    let evaluations = Box(0)
    let condition = Condition("counts") {
      evaluations.update { $0 += 1 }
      evaluated.set()
      return true
    }
    let blocker = queue.add(ProcedureTask { await release.wait() })
    let dependent = queue.add(ProcedureTask {}.condition(condition), after: [blocker])
    let independent = queue.add(ProcedureTask {}.condition(condition))
    // The only slot is taken, but the condition of the run without a dependency is evaluated nevertheless.
    await evaluated.wait()
    #expect(evaluations.value == 1)
    #expect(dependent.state == .pending)
    queue.suspend()
    release.set()
    try await blocker.value
    #expect(evaluations.value == 1)
    #expect(dependent.state == .evaluating)
    let structured = Task { try await queue.run(ProcedureTask("structured") {}.condition(condition)) }
    let attached = ProcedureTask("probe") {}
    _ = attached
    #expect(evaluations.value == 1)
    queue.resume()
    try await dependent.value
    try await independent.value
    try await structured.value
    #expect(evaluations.value == 3)
  }

  @Test(
    "K2: prepare runs before evaluate; an error in prepare fails the condition; silencing the condition drops prepare")
  func prepare() async {
    let steps = Box<[String]>([])
    let prepared = Condition(
      "prepared", prepare: { steps.update { $0.append("prepare") } },
      evaluate: {
        steps.update { $0.append("evaluate") }
        return true
      })
    _ = try? await ProcedureTask {}.condition(prepared).execute()
    #expect(steps.value == ["prepare", "evaluate"])
    _ = try? await ProcedureTask {}.condition(prepared.silenced()).execute()
    #expect(steps.value == ["prepare", "evaluate", "evaluate"])
    let failing = Condition("failing", prepare: { throw TestError(code: 2) }, evaluate: { true })
    #expect(await judge(failing) == "failed: TestError(code: 2)")
    #expect(await judge(failing.silenced()) == "satisfied")
    #expect(await judge((failing && failing).silenced()) == "satisfied")
    #expect(await judge(!(failing.silenced())) != "satisfied")
  }

  @Test("K3: `||` is satisfied if any operand is, ignored if all are, and otherwise fails with the errors")
  func or() async {
    #expect(await judge(Self.no || Self.yes) == "satisfied")
    #expect(await judge(Self.bad || Self.yes) == "satisfied")
    #expect(await judge(Self.no || Self.no) == "ignored by (no or no)")
    #expect(await judge(Self.no || Self.bad) == "failed: no alternative was satisfied: TestError(code: 1)")
    #expect(await judge(.any([])).hasPrefix("ignored"))
  }

  @Test(
    "K3: `!` is satisfied if its operand fails or is ignored, and fails if it is satisfied; `&&` is as strict as its operands"
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

  @Test("K3: `||` is decided by the first satisfied operand, which cancels the others")
  func orCancels() async throws {
    let patient = Condition("patient") {
      await untilCancelled()
      return false
    }
    try await ProcedureTask {}.condition(patient || Self.yes).execute()
  }

  @Test("K3: ignored and negated conditions combine with all others, and with themselves")
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

  @Test("K1, K3: `all` of no conditions is satisfied, and `any` of no conditions is not, in every combination")
  func empty() async {
    #expect(await judge(.all([])) == "satisfied")
    #expect(await judge(.any([])) == "ignored by any of ()")
    #expect(await judge(Self.yes && .all([])) == "satisfied")
    #expect(await judge(Self.no && .all([])).hasPrefix("ignored"))
    #expect(await judge(.any([]) || Self.bad).hasPrefix("failed"))
    #expect(await judge(!(.all([]))).hasPrefix("failed"))
    #expect(await judge(.any([]).treatingErrorsAsUnsatisfied()).hasPrefix("ignored"))
  }

  @Test("K1: a condition that throws its own CancellationError has failed")
  func throwsCancellation() async {
    #expect(await judge(Condition("gives up") { throw CancellationError() }) == "failed: CancellationError()")
  }

  @Test("K1: the condition of a hedge's second copy does not delay the success of the first", .timeLimit(.minutes(10)))
  func secondCopy() async throws {
    let (queue, evaluations, second, release) = (ProcedureQueue("q"), Box(0), Signal(), Signal())
    let task = ProcedureTask {
      await second.wait()
      return 1
    }.condition("deaf in the second copy") {
      if evaluations.update({
        $0 += 1
        return $0
      }) == 2 {
        second.set()
        await release.wait()
      }
      return true
    }
    #expect(try await queue.add(task.hedged(after: .zero)).value == 1)
    release.set()
  }

  @Test("K1: a condition of an inner level has the task-local values of the body around it", .timeLimit(.minutes(10)))
  func taskLocalValues() async throws {
    let seen = Box(0)
    let inner = ProcedureTask {}.condition("looks") {
      seen.update { $0 = Self.local }
      return true
    }
    let outer = inner.map { $0 }.intercepted { _, next in try await Self.$local.withValue(7) { try await next() } }
    try await ProcedureQueue("q").add(outer).value
    #expect(seen.value == 7)
  }

  @TaskLocal private static var local = 0
}
