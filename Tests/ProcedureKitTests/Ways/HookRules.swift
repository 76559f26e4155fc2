import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

extension Rule {
  static let hooks = [
    Rule(id: "L3 order", sentence: "hooks are awaited in the order in which they wrap") { stage in
      var subject = stage.subject()
      for name in ["inner", "outer"] {
        subject = subject.noting(name) { stage.note($0) }.onDidFinish { _ in stage.note("\(name) didFinish") }
      }
      #expect(await stage.resultAfterHooks(of: subject).value == 1)
      stage.expect([
        "outer willExecute", "inner willExecute", "body", "inner didExecute finished", "outer didExecute finished",
        "inner willFinish finished", "outer willFinish finished", "inner didFinish", "outer didFinish",
      ])
    },
    Rule(
      id: "L3 awaited", sentence: "`run` returns after the last hook",
      ways: Way.withoutElements.filter { !Way.handled.contains($0) }
    ) {
      stage in
      let subject = stage.subject().onDidFinish { _ in
        for _ in 0..<10 { await Task.yield() }
        stage.note("didFinish")
      }
      let result = await stage.result(of: subject)
      stage.note("returned")
      #expect(result.value == 1)
      stage.expect(["body", "didFinish", "returned"])
    },
    Rule(id: "L3 before", sentence: "a hook that throws before the body fails the run, and the body never runs") {
      stage in
      let subject = stage.subject().onWillExecute { _ in throw TestError(code: 3) }
      let result = await stage.result(of: subject.onDidExecute { _ in stage.note("didExecute") })
      #expect(result.failure as? TestError == TestError(code: 3), "\(result)")
      stage.expect([])
      stage.expectHookCalled { $0.error(as: TestError.self) == TestError(code: 3) }
    },
    Rule(id: "L3 after", sentence: "a hook that throws after the body, or when the run ends, fails the run") { stage in
      for isEnd in [false, true] {
        let failing =
          isEnd
          ? stage.subject().onWillFinish { _ in throw TestError(code: 3) }
          : stage.subject().onDidExecute { _ in throw TestError(code: 3) }
        let result = await stage.resultAfterHooks(of: failing.onDidFinish { stage.note($0.word) })
        #expect(result.failure as? TestError == TestError(code: 3), "\(result)")
      }
      stage.expect(["body", "failed", "body", "failed"])
    },
    Rule(id: "L3 not executed", sentence: "end hooks are called even if the body was not executed") { stage in
      _ = await stage.result(of: stage.subject().condition("no") { false }.noting("n") { stage.note($0) })
      stage.expect(["n willFinish ignored"])
    },
    Rule(
      id: "L3 children",
      sentence: "end hooks are called after the body's children have ended, with the outcome that includes theirs"
    ) { stage in
      for fails in [false, true] {
        let bodyHasEnded = stage.signal()
        let subject = ProcedureTask<Void, Int>("subject") {
          ProcedureContext.current?.produce(
            ProcedureTask("child") {
              await bodyHasEnded.wait()
              stage.note("child")
              if fails { throw TestError(code: 1) }
            })
          return 1
        }.onDidExecute { _ in bodyHasEnded.set() }.onWillFinish { stage.note("willFinish \($0.word)") }
        #expect(await stage.result(of: subject).value == (fails ? nil : 1))
      }
      stage.expect(["child", "willFinish finished", "child", "willFinish failed"])
    },
    Rule(id: "L3 resources", sentence: "end hooks hold no resource") { stage in
      let subject = stage.subject().exclusive(stage.category).onWillFinish { _ in
        let taken = stage.signal()
        stage.others.add(ProcedureTask("next") { taken.set() }.exclusive(stage.category))
        await taken.wait()
      }
      #expect(await stage.result(of: subject).value == 1)
    },
    Rule(id: "L3 slot", sentence: "end hooks hold no slot", ways: Way.queued) { stage in
      let subject = stage.subject().onWillFinish { _ in
        let executed = stage.signal()
        // The wait is not for a procedure, because such a wait would release the slot anyway.
        stage.queue.add(ProcedureTask("next") { executed.set() })
        await executed.wait()
      }
      #expect(await stage.result(of: subject).value == 1)
    },
    Rule(id: "L3 shield", sentence: "the hooks after a cancelled body do not observe the cancellation of the task") {
      stage in
      let subject = ProcedureTask<Void, Int>("subject") {
        stage.enter()
        try await stage.untilCancelled()
        return 1
      }.onDidCancel { _ in stage.note(Task.isCancelled ? "cancelled" : "cancel hook") }.noting("n") { stage.note($0) }
        .onWillFinish { _ in stage.note(Task.isCancelled ? "cancelled" : "end hook") }
      let running = stage.start(subject)
      await stage.started.wait()
      await stage.cancel(running, from: stage.way == .add ? .handle : .caller)
      await stage.expectCancelled(running, from: stage.way == .add ? .handle : .caller)
      stage.expect([
        "n willExecute", "n didExecute cancelled", "cancel hook", "n didCancel", "n willFinish cancelled", "end hook",
      ])
    },
    Rule(id: "cleanup", sentence: "a cleanup follows the body, and its failure is that of a body that succeeded") {
      stage in
      #expect(await stage.result(of: stage.subject().cleanup { stage.note("cleanup") }).value == 1)
      let failing = stage.subject().cleanup { throw TestError(code: 3) }
      #expect(await stage.result(of: failing).failure as? TestError == TestError(code: 3))
      let failed = ProcedureTask<Void, Int>("subject") { throw TestError(code: 4) }
      let result = await stage.result(of: failed.cleanup { throw TestError(code: 5) })
      #expect(result.failure as? TestError == TestError(code: 4), "\(result)")
      stage.expect(["body", "cleanup", "body"])
    },
    Rule(id: "cleanup cancelled", sentence: "the cleanup of a cancelled procedure does not observe the cancellation") {
      stage in
      let subject = ProcedureTask<Void, Int>("subject") {
        stage.enter()
        try await stage.untilCancelled()
        return 1
      }.cleanup {
        stage.note(Task.isCancelled || ProcedureContext.current?.isCancelled != false ? "cancelled" : "begins")
        try await ProcedureTask("part") { stage.note("ends") }.retry(.immediate, maxAttempts: 2)()
      }
      let running = stage.start(subject)
      await stage.started.wait()
      await stage.cancel(running, from: stage.way == .add ? .handle : .caller)
      await stage.expectCancelled(running, from: stage.way == .add ? .handle : .caller)
      stage.expect(["begins", "ends"])
    },
    Rule(id: "L3 cancel", sentence: "an end hook that throws does not override a cancellation") { stage in
      let subject = ProcedureTask<Void, Int>("subject") {
        ProcedureContext.current?.cancel(Side.reason)
        return 1
      }.onWillFinish { _ in throw TestError(code: 3) }
      await stage.expectCancelled(stage.start(subject), from: .context)
    },
  ]
}

extension Procedure {
  /// Returns the procedure with hooks that record their calls, and that are awaited before the outcome can be read.
  func noting(_ name: String, _ note: @escaping @Sendable (String) -> Void) -> ProcedureTask<Input, Output> {
    onWillExecute { _ in note("\(name) willExecute") }
      .onDidExecute { note("\(name) didExecute \($0.word)") }
      .onDidCancel { _ in note("\(name) didCancel") }
      .onWillFinish { note("\(name) willFinish \($0.word)") }
  }
}

extension ProcedureOutcome {
  /// The kind of the outcome.
  var word: String {
    switch self {
    case .finished: "finished"
    case .failed: "failed"
    case .cancelled: "cancelled"
    case .ignored: "ignored"
    }
  }
}
