import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

extension Rule {
  static let times = [
    Rule(id: "C5 outcome", sentence: "a timeout cancels the body, and the outcome is failed(timedOut)") { stage in
      let seen = Box<(task: Bool, context: Bool)?>(nil)
      let subject = ProcedureTask<Void, Int>("subject") {
        stage.enter()
        try await stage.untilCancelled()
        // The context may be cancelled a moment before the task.
        try await eventually { Task.isCancelled || stage.isInCallersTask }
        let now = (Task.isCancelled, ProcedureContext.current?.isCancelled ?? false)
        seen.update { $0 = now }
        return 1
      }.timeout(stage.limit)
      let running = stage.start(subject)
      await stage.started.wait()
      await stage.expectTimedOut(running)
      let what = try #require(seen.value)
      #expect(what.context, "the context")
      // C3: a body in the task of the caller of `run` sees the cancellation in its context.
      #expect(what.task || stage.isInCallersTask, "the task")
      stage.expectHookCalled { $0.error(as: ProcedureError.self)?.kind == .timedOut }
      if let handle = stage.ownHandle(running) {
        let outcome = await handle.outcome
        #expect(outcome.error(as: ProcedureError.self)?.kind == .timedOut, "\(outcome)")
      }
    },
    Rule(
      id: "C5 levels", sentence: "a timeout fails its own level, and cancels the levels within it", ways: Way.queued
    ) { stage in
      let subject = ProcedureTask<Void, Int>("subject") {
        stage.enter()
        try await stage.untilCancelled()
        return 1
      }.onDidCancel { stage.note("inner didCancel \(($0 as? ProcedureError)?.kind.description ?? "-")") }
        .onWillFinish { stage.note("inner willFinish \($0.word)") }
        .map { $0 }.timeout(stage.limit).noting("outer") { stage.note($0) }
      let running = stage.start(subject)
      await stage.started.wait()
      await stage.expectTimedOut(running)
      stage.expect([
        "outer willExecute", "inner didCancel timedOut", "inner willFinish cancelled", "outer didExecute failed",
        "outer willFinish failed",
      ])
    },
    Rule(id: "C5 in time", sentence: "a body that ends in time is not affected by its timeout") { stage in
      #expect(await stage.result(of: stage.subject().timeout(.seconds(3600))).value == 1)
      stage.expectHookCalled { $0.value == 1 }
    },
    Rule(
      id: "C5 start", sentence: "the time of a timeout starts with the body, not while the run is waiting",
      ways: Way.queued
    ) { stage in
      let (begun, satisfied) = (stage.signal(), stage.signal())
      let subject = stage.subject().condition("slow") {
        begun.set()
        await satisfied.wait()
        return true
      }.exclusive(stage.category).timeout(stage.limit)
      let end = stage.signal()
      await stage.hold(until: end)
      let running = stage.start(subject)
      await begun.wait()
      stage.clock.advance(by: .seconds(60))
      satisfied.set()
      await stage.settle()
      stage.clock.advance(by: .seconds(60))
      await stage.settle()
      end.set()
      let result = await running.result
      #expect(result.value == 1, "\(result)")
    },
    Rule(id: "C5 wait", sentence: "a timeout ends the waits of the body") { stage in
      let end = stage.signal()
      let running = stage.start(stage.waitingSubject(until: end).timeout(stage.limit))
      await stage.started.wait()
      await stage.expectTimedOut(running)
      #expect(!end.isSet)
    },
    Rule(id: "C5 children", sentence: "a timeout reaches the children of the body, and waits for them", width: 4) {
      stage in
      let subject = ProcedureTask<Void, Int>("subject") {
        stage.produceUntilCancelled("child", started: stage.started)
        return 1
      }.timeout(stage.limit)
      let running = stage.start(subject)
      if stage.way != .alone { await stage.started.wait() }
      await stage.expectTimedOut(running)
      stage.expectHookCalled { $0.error(as: ProcedureError.self)?.kind == .timedOut }
      // Without a queue, the time may have expired before the child has started.
      if stage.way != .alone { stage.expect(["child is cancelled"]) }
    },
    Rule(id: "T2 attempts", sentence: "the successful attempt, or the last error, decides") { stage in
      let flaky = ProcedureTask<Void, Int>("subject") {
        stage.note("body")
        let attempt = stage.journal.count
        if attempt < 4 { throw TestError(code: attempt) }
        return attempt
      }
      #expect(await stage.result(of: flaky.retry(.immediate, maxAttempts: 10)).value == 4)
      stage.clearJournal()
      let result = await stage.result(of: flaky.retry(.immediate, maxAttempts: 3))
      #expect(result.failure as? TestError == TestError(code: 3), "\(result)")
      stage.expect(["body", "body", "body"])
    },
    Rule(id: "T2 ignored", sentence: "an ignored attempt is the last one", ways: Way.withoutElements) { stage in
      let ignored = stage.subject().condition("no") {
        stage.note("condition")
        return false
      }
      let result = await stage.result(of: ignored.retry(.immediate, maxAttempts: 3))
      #expect((result.failure as? ProcedureError)?.kind == .ignored, "\(result)")
      stage.expect(["condition"])
    },
    Rule(id: "T2 pause", sentence: "the pause of a retry holds neither slot nor resource", ways: Way.queued) { stage in
      let flaky = ProcedureTask<Void, Int>("subject") {
        stage.note("body")
        if stage.journal.count == 1 { throw TestError(code: 3) }
        return 1
      }
      let running = stage.start(flaky.exclusive(stage.category).retry(.constant(.seconds(5)), maxAttempts: 2))
      try await stage.untilNoted("body")
      try await stage.takeCategory()
      #expect(try await stage.queue.run(ProcedureTask { 2 }) == 2)
      stage.expect(["body"])
      #expect(await stage.passTime(until: running).value == 1)
      stage.expect(["body", "body"])
      stage.expectHookCalled { $0.value == 1 }
    },
    Rule(id: "T2", sentence: "an attempt that timed out is retried", ways: Way.queued) { stage in
      let subject = ProcedureTask<Void, Int>("subject") {
        stage.note("body")
        if stage.journal.count == 1 { try await stage.untilCancelled() }
        return 1
      }.timeout(.seconds(1_000_000)).retry(.immediate, maxAttempts: 2)
      let running = stage.start(subject)
      try await stage.untilNoted("body")
      stage.clock.advance(by: .seconds(1_000_000))
      let result = await running.result
      #expect(result.value == 1, "\(result)")
      stage.expect(["body", "body"])
      stage.expectHookCalled { $0.value == 1 }
    },
  ]
}
