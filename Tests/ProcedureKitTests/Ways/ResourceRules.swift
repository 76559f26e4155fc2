import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

extension Rule {
  static let resources = [
    Rule(id: "R1", sentence: "the body waits while another run holds its category") { stage in
      let end = stage.signal()
      await stage.hold(until: end)
      let running = stage.start(stage.subject().exclusive(stage.category))
      await stage.settle()
      end.set()
      #expect(await running.result.value == 1)
      stage.expect(["holder", "body"])
    },
    Rule(id: "R1 shared", sentence: "the body shares its category with readers, and excludes a writer") { stage in
      let (reads, end) = (stage.signal(), stage.signal())
      stage.others.add(
        ProcedureTask("reader") {
          reads.set()
          await end.wait()
          stage.note("reader")
        }.shared(stage.category))
      await reads.wait()
      let running = stage.start(stage.waitingSubject().shared(stage.category))
      await stage.started.wait()
      let writer = stage.others.add(ProcedureTask("writer") { stage.note("writer") }.exclusive(stage.category))
      await stage.settle()
      stage.release.set()
      #expect(await running.result.value == 1)
      await stage.settle()
      end.set()
      try await writer.value
      stage.expect(["body", "reader", "writer"])
    },
    Rule(id: "R2 held", sentence: "the category is held while the body and its inner hooks execute") { stage in
      let running = stage.start(
        stage.waitingSubject().onDidExecute { _ in stage.note("hook") }.exclusive(stage.category))
      await stage.started.wait()
      let next = stage.others.add(ProcedureTask("next") { stage.note("next") }.exclusive(stage.category))
      await stage.settle()
      stage.release.set()
      #expect(await running.result.value == 1)
      try await next.value
      stage.expect(["body", "hook", "next"])
    },
    Rule(id: "L4", sentence: "the category has been released when the outcome can be read, whatever the outcome is") {
      stage in
      for body in ["returns", "throws", "is ignored", "fails in a hook"] {
        var subject = stage.subject()
        if body == "throws" { subject = ProcedureTask("subject") { throw TestError() } }
        if body == "is ignored" { subject = subject.condition("no") { false } }
        if body == "fails in a hook" { subject = subject.onDidExecute { _ in throw TestError() } }
        let result = await stage.result(of: subject.exclusive(stage.category))
        #expect((result.failure == nil) == (body == "returns"), "\(body)")
        try await stage.takeCategory()
      }
    },
    Rule(id: "R3", sentence: "a run that is cancelled while it is waiting does not release another run's claim") {
      stage in
      let end = stage.signal()
      await stage.hold(until: end)
      // A call that a body makes after its cancellation is not cancelled (C7), so the subject must have been called before.
      let isReached = stage.signal()
      let subject = stage.subject().exclusive(stage.category).condition("reached") {
        isReached.set()
        return true
      }
      let running = stage.start(subject)
      await isReached.wait()
      let next = stage.others.add(ProcedureTask("next") { stage.note("next") }.exclusive(stage.category))
      await stage.settle()
      let side = stage.way == .add ? Side.handle : .caller
      await stage.cancel(running, from: side)
      let result = await running.result
      #expect(side.throwsError(result.failure), "\(result)")
      await stage.settle()
      end.set()
      try await next.value
      stage.expect(["holder", "next"])
    },
    Rule(id: "R4 descendants", sentence: "procedures that the body calls, runs and produces share its category") {
      stage in
      let inner = ProcedureTask<Void, Int>("inner") { 1 }.exclusive(stage.category)
      let subject = ProcedureTask<Void, Int>("subject") {
        let called = try await inner.called()
        let run = try await stage.others.run(inner)
        guard let child = ProcedureContext.current?.produce(inner) else { throw TestError() }
        return called + run + (try await child.value)
      }.exclusive(stage.category)
      #expect(await stage.result(of: subject).value == 3)
    },
    Rule(id: "R4 siblings", sentence: "children with the same category exclude each other") { stage in
      let monitor = ConcurrencyMonitor()
      let subject = ProcedureTask<Void, Int>("subject") {
        for _ in 0..<4 {
          ProcedureContext.current?.produce(
            ProcedureTask("child") {
              monitor.enter()
              for _ in 0..<5 { await Task.yield() }
              monitor.leave()
            }.exclusive(stage.category))
        }
        return 1
      }.exclusive(stage.category)
      #expect(await stage.result(of: subject).value == 1)
      #expect(monitor.most == 1)
    },
  ]
}
