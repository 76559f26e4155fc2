import TestSupport
import Testing
import TestingProcedureKit

@Suite("Rules K1 to K3 under every order: conditions", .timeLimit(.atDepth))
struct ConditionRuleTests {
  /// Returns a condition that takes some time, and records its end.
  private func condition(
    _ name: String, in env: ExplorationEnvironment, log: Locked<[String]>,
    _ verdict: @escaping @Sendable () throws -> Bool
  ) -> Condition {
    Condition(name) {
      await pause(env, upTo: 4)
      log { $0.append(Task.isCancelled ? "\(name) was cancelled" : name) }
      return try verdict()
    }
  }

  @Test("K1: of two failing conditions, the first decides and cancels the other, regardless of what a third returns")
  func firstFailure() async throws {
    try await exploreRace("a", "b", schedules: TestDepth.count(2_000)) { env in
      let (queue, log, body) = (env.makeQueue(), Locked<[String]>([]), ProbeProcedure())
      let handle = queue.add(
        body
          .condition(condition("a", in: env, log: log) { throw Reason(text: "a") })
          .condition(condition("b", in: env, log: log) { throw Reason(text: "b") })
          .condition(condition("c", in: env, log: log) { false }))
      let outcome = await handle.outcome
      let reason = outcome.procedureError?.underlying as? Reason
      env.check(outcome.procedureError?.kind == .conditionFailed, "\(outcome)")
      env.check(log.value.first { ["a", "b"].contains($0) } == reason?.text, "\(log.value), but \(outcome)")
      // The run did not wait for the cancelled conditions.
      try await eventually { log.value.count >= 3 }
      env.check(log.value.contains(reason?.text == "a" ? "b was cancelled" : "a was cancelled"), "\(log.value)")
      env.check(body.startCount == 0)
      env.tally(reason?.text ?? "another")
      await queue.shutDown()
    }
  }

  @Test(
    "K1: a failure takes precedence over `false`; without either, the body executes; a cancellation cancels at any time"
  )
  func verdicts() async throws {
    try await exploreRace("failed", "ignored", "finished", "cancelled", schedules: TestDepth.count(2_000)) { env in
      let (queue, log, body) = (env.makeQueue(), Locked<[String]>([]), ProbeProcedure())
      body.finishAll()
      let (fails, ignores) = (env.random.below(3) == 0, env.random.below(3) == 0)
      let handle = queue.add(
        body
          .condition(condition("may fail", in: env, log: log) { if fails { throw Reason() } else { true } })
          .condition(condition("may ignore", in: env, log: log) { !ignores }))
      async let cancel: Void = {
        await pause(env, upTo: 16)
        handle.cancel()
      }()
      let outcome = await handle.outcome
      let expected = fails ? "failed" : ignores ? "ignored" : "finished"
      env.check(outcome.isCancelled || outcome.label == expected, "\(outcome), but \(expected) was expected")
      env.check(body.startCount == 0 || expected == "finished")
      env.tally(outcome.label)
      await cancel
      await queue.shutDown()
    }
  }

  @Test(
    "K1, C2: when a run ends during its evaluation, the other conditions are cancelled",
    arguments: ["failed", "cancelled", "cancelled with all"])
  func cancelledBeforeTheEnd(outcome: String) async throws {
    try await exploreRace("evaluating", "not yet", schedules: TestDepth.count(2_000)) { env in
      let (queue, isEvaluating, isCancelled) = (env.makeQueue(), Locked(false), Locked(false))
      let waiting = Condition("waits") {
        try await withTaskCancellationHandler {
          isEvaluating { $0 = true }
          try await env.clock.sleep(for: .seconds(60))
          return true
        } onCancel: {
          isCancelled { $0 = true }
        }
      }
      let other = Condition("other") {
        await pause(env, upTo: 4)
        if outcome == "failed" { throw Reason() }
        return true
      }
      let handle = queue.add(ProcedureTask {}.condition(waiting).condition(other))
      async let cancel: Void = {
        await pause(env)
        if outcome == "cancelled" { handle.cancel() }
        if outcome == "cancelled with all" { queue.cancelAll() }
      }()
      let label = await handle.outcome.label
      env.check(outcome.hasPrefix(label), label)
      if isEvaluating.value {
        env.check(isCancelled.value, "the end was published before the cancellation")
      }
      env.tally(isEvaluating.value ? "evaluating" : "not yet")
      await cancel
      await queue.shutDown()
    }
  }

  @Test("K1, Q2: no condition is evaluated while the queue is suspended, and all are evaluated when it resumes")
  func suspension() async throws {
    try await exploreRace("evaluated before", "evaluated after", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue()
      let (evaluated, isSuspended) = (Locked(0), Locked(false))
      let task = ProcedureTask {}.condition("looks") {
        env.check(!isSuspended.value, "evaluated while suspended")
        evaluated { $0 += 1 }
        return true
      }
      async let handle = {
        await pause(env)
        return queue.add(task)
      }()
      await pause(env)
      queue.suspend()
      let before = evaluated.value
      isSuspended { $0 = true }
      await pause(env)
      isSuspended { $0 = false }
      queue.resume()
      env.check(await handle.outcome.isFinished)
      env.check(evaluated.value == 1)
      env.tally(before == 1 ? "evaluated before" : "evaluated after")
      await queue.shutDown()
    }
  }

  @Test("K2: prepare precedes evaluate, a cancellation in between ends both, and a failing prepare decides")
  func preparation() async throws {
    try await exploreRace("finished", "failed", "cancelled", schedules: TestDepth.count(2_000)) { env in
      let (queue, log) = (env.makeQueue(), Locked<[String]>([]))
      let fails = env.random.below(3) == 0
      let condition = Condition("prepared") {
        await pause(env, upTo: 4)
        log { $0.append("prepare") }
        if fails { throw Reason() }
      } evaluate: {
        log { $0.append("evaluate") }
        return true
      }
      let handle = queue.add(ProcedureTask { log { $0.append("body") } }.condition(condition))
      async let cancel: Void = {
        await pause(env, upTo: 12)
        handle.cancel()
      }()
      let outcome = await handle.outcome
      let steps = fails ? ["prepare"] : ["prepare", "evaluate", "body"]
      env.check(steps.starts(with: log.value), "\(log.value)")
      env.check(outcome.isCancelled || log.value == steps, "\(log.value), \(outcome)")
      env.check(outcome.isCancelled || outcome.isFailed == fails, "\(outcome)")
      env.tally(outcome.label)
      await cancel
      await queue.shutDown()
    }
  }

  @Test("K3: the first satisfied alternative decides and cancels the other; otherwise all are evaluated")
  func alternatives() async throws {
    try await exploreRace("finished", "ignored", "failed", "cancelled the other", schedules: TestDepth.count(2_000)) {
      env in
      let (queue, log) = (env.makeQueue(), Locked<[String]>([]))
      let verdicts = [env.random.below(3), env.random.below(3)]
      let alternatives = verdicts.enumerated().map { number, verdict in
        condition("\(number)", in: env, log: log) { if verdict == 2 { throw Reason() } else { verdict == 0 } }
      }
      let outcome = await queue.add(ProcedureTask {}.condition(alternatives[0] || alternatives[1])).outcome
      let expected = verdicts.contains(0) ? "finished" : verdicts.contains(2) ? "failed" : "ignored"
      env.check(outcome.label == expected, "\(outcome) of \(verdicts)")
      // The run did not wait for the cancelled condition.
      try await eventually { log.value.count >= 2 }
      env.tally(outcome.label)
      if log.value.contains(where: { $0.hasSuffix("cancelled") }) {
        env.check(expected == "finished", "\(log.value) of \(verdicts)")
        env.tally("cancelled the other")
      }
      await queue.shutDown()
    }
  }

  /// The position of a procedure's condition.
  enum Place: CaseIterable {
    case outermost
    case inner
    case insideRetry
    case node
    case nodeInner
    case nestedGraph
    case child
    case element
    case copy

    func put(_ condition: Condition, on body: ProcedureTask<Void, Void>, _ queue: ProcedureQueue) -> ProcedureTask<
      Void, Void
    > {
      let subject = body.condition(condition)
      return switch self {
      case .outermost: subject
      case .inner: subject.map { $0 }.map { $0 }
      case .insideRetry: subject.retry(.immediate, maxAttempts: 3).map { $0 }
      case .node: ProcedureGraph("graph") { g in g.add(subject) }.procedureTask
      case .nodeInner: ProcedureGraph("graph") { g in g.add(subject.map { $0 }) }.procedureTask
      case .nestedGraph:
        ProcedureGraph("graph") { g in g.add(ProcedureGraph("nested") { g in g.add(subject) }) }.procedureTask
      case .child: ProcedureTask("parent") { try await ProcedureContext.current?.produce(subject).value }
      case .element:
        ProcedureGraph("graph") { g in
          let elements = g.add(ProcedureTask { [1] })
          return g.map(elements, with: ProcedureTask { (_: Int) in }.condition(condition).then(body))
        }.map { _ in }
      case .copy: subject.hedged(after: .seconds(3_600))
      }
    }
  }

  @Test(
    "K1, K3: a condition that ignores its cancellation delays no decision, in any position within ||, && and !",
    arguments: Place.allCases, 0..<6)
  func stuck(place: Place, way: Int) async throws {
    try await exploreSchedules(TestDepth.count(120)) { env in
      let (queue, isReleased, hasEnded) = (env.makeQueue(), Locked(false), Locked(false))
      let (body, isStuck) = (ProbeProcedure(), Locked(false))
      body.finishAll()
      let stuck = Condition("stuck") {
        isStuck { $0 = true }
        try await eventually { isReleased.value }
        hasEnded { $0 = true }
        return true
      }
      let quick = { (verdict: Bool?) in
        Condition("quick") {
          try await eventually { isStuck.value }
          await pause(env, upTo: 2)
          guard let verdict else { throw Reason() }
          return verdict
        }
      }
      let (condition, expected) =
        switch way {
        case 0: (stuck || quick(true), "finished")
        case 1: (quick(true) || stuck, "finished")
        case 2: (stuck && quick(nil), "failed")
        case 3: (!(stuck && quick(nil)), "finished")
        case 4: (!(quick(true) || stuck), "failed")
        default: (stuck && (quick(nil) && stuck), "failed")
        }
      let handle = queue.add(place.put(condition, on: body.procedureTask, queue))
      let outcome = await handle.outcome
      env.check(outcome.label == expected, "\(outcome)")
      env.check(!hasEnded.value, "the outcome has waited for the condition")
      env.check(body.startCount == (expected == "finished" ? 1 : 0))
      isReleased { $0 = true }
      await queue.shutDown()
    }
  }

  @Test(
    "D4: a run whose condition produced a child fails as soon as the child fails, even if a condition ignores its cancellation",
    arguments: [false, true]
  )
  func childOfACondition(isInner: Bool) async throws {
    try await exploreSchedules(TestDepth.count(200)) { env in
      let (queue, isReleased, hasEnded) = (env.makeQueue(), Locked(false), Locked(false))
      let inner = ProcedureTask {}.condition("produces") {
        ProcedureContext.current?.produce(ProcedureTask("child") { throw Reason() })
        try await eventually { Task.isCancelled }
        await pause(env, upTo: 4)
        throw Reason()
      }.condition("stuck") {
        try await eventually { isReleased.value }
        hasEnded { $0 = true }
        return true
      }
      let outcome = await queue.add(isInner ? inner.map { $0 } : inner).outcome
      env.check(outcome.label == "failed" && outcome.procedureError == nil, "\(outcome)")
      env.check(!hasEnded.value, "the outcome has waited for the condition")
      isReleased { $0 = true }
      await queue.shutDown()
    }
  }

  /// Adds or runs a procedure, and checks that it fails with the error of its child.
  private func checkFailure(
    of task: ProcedureTask<Void, Void>, on queue: ProcedureQueue, isAdded: Bool, _ env: ExplorationEnvironment
  ) async {
    do {
      if isAdded { try await queue.add(task).value } else { try await queue.run(task) }
      env.check(false, "the run succeeded although a child failed")
    } catch {
      env.check(error is Reason, "\(error)")
    }
  }

  @Test(
    "D4: a run whose condition produced a child fails as soon as the child fails during its delay",
    arguments: [false, true], [false, true])
  func childDuringDelay(isInner: Bool, isAdded: Bool) async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let start = env.clock.now
      let delayed = ProcedureTask { env.check(false, "the body was called") }.delay(.seconds(2)).condition("produces") {
        ProcedureContext.current?.produce(ProcedureTask("child") { throw Reason() }.delay(.seconds(1)))
        return true
      }
      let task = isInner ? delayed.map { $0 } : delayed
      await checkFailure(of: task, on: queue, isAdded: isAdded, env)
      env.check(env.clock.now == start.advanced(by: .seconds(1)), "the run ended at \(env.clock.now)")
      await queue.shutDown()
    }
  }

  /// What a condition does with the failure of the child that it awaits.
  enum Response: CaseIterable { case throwing, isUnsatisfied, isSatisfied }

  @Test(
    "D4: if a condition awaits its own failing child, the outcome is the child's error, and the body is not called",
    arguments: Response.allCases, [false, true])
  func awaitedChild(response: Response, isAdded: Bool) async throws {
    try await exploreSchedules(TestDepth.count(300)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let task = ProcedureTask { env.check(false, "the body was called") }.condition("awaits") {
        let child = ProcedureContext.current!.produce(ProcedureTask("child") { throw Reason() })
        if response == .throwing { try await child.value }
        env.check(await child.outcome.label == "failed")
        return response == .isSatisfied
      }
      await checkFailure(of: task, on: queue, isAdded: isAdded, env)
      await queue.shutDown()
    }
  }

  @Test("D4: without a queue, too, the outcome of a run whose condition awaits its failing child is the child's error")
  func awaitedChildWithoutQueue() async throws {
    // The child is on the shared queue, which no exploration controls.
    for _ in 0..<TestDepth.count(300) {
      let task = ProcedureTask { Issue.record("the body was called") }.condition("awaits") {
        let child = ProcedureContext.current!.produce(ProcedureTask("child") { throw Reason() })
        return (try? await child.value) != nil
      }
      await #expect(throws: Reason.self) { try await task() }
    }
  }

  @Test(
    "D4: if a child that an onWillExecute hook produced fails during the hook, the body is not called",
    arguments: [false, true])
  func childDuringHook(isAdded: Bool) async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let (queue, hookEnds) = (env.makeQueue(), Locked(0))
      let task = ProcedureTask { env.check(false, "the body was called") }.onWillExecute {
        let child = ProcedureContext.current!.produce(ProcedureTask("child") { throw Reason() })
        _ = await child.outcome
        hookEnds { $0 += 1 }
      }
      await checkFailure(of: task, on: queue, isAdded: isAdded, env)
      env.check(hookEnds.value == 1)
      await queue.shutDown()
    }
  }

  @Test("D4: cancelling a dependency that was added later does not replace the error of a child that failed before")
  func dependencyAfterChild() async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let (queue, isEvaluating, isAdded) = (env.makeQueue(), Locked(false), Locked(false))
      let dependency = queue.add(ProcedureTask("dependency") { try await env.clock.sleep(for: .seconds(9)) })
      let task = ProcedureTask { env.check(false, "the body was called") }.condition("produces") {
        let context = ProcedureContext.current!
        // The run awaits this child, which ignores cancellation.
        context.produce(
          ProcedureTask("slow") { try await context.shielded { try? await env.clock.sleep(for: .seconds(3)) } })
        context.produce(ProcedureTask("fails") { throw Reason() }.delay(.seconds(1)))
        isEvaluating { $0 = true }
        try await eventually { isAdded.value }
        return true
      }
      let handle = queue.add(task)
      try await eventually { isEvaluating.value }
      env.check(handle.addDependency(dependency))
      isAdded { $0 = true }
      try await env.clock.sleep(for: .seconds(2))
      dependency.cancel()
      switch await handle.outcome {
      case .failed(let error): env.check(error is Reason, "\(error)")
      case let outcome: env.check(false, "\(outcome)")
      }
      await queue.shutDown()
    }
  }

  @Test("K1: the condition of a hedge's second copy does not delay the success of the first")
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

  @Test("K1: a condition of an inner level has the task-local values of the body around it")
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
