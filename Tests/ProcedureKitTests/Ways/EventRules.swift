import ProcedureKit
import Testing
import TestingProcedureKit

extension Rule {
  static let events = [
    Rule(id: "L2 value", sentence: "the events of a run come in order, each once", ways: Way.eventful) { stage in
      let steps = try await stage.steps(of: stage.subject()) { $0.isFinished }
      #expect(steps == [.didAttach, .willExecute, .didExecute, .willFinish, .didFinish])
    },
    Rule(id: "L2 error", sentence: "the events of a run that fails come in order, each once", ways: Way.eventful) {
      stage in
      let steps = try await stage.steps(of: ProcedureTask("subject") { throw TestError(code: 3) }) { $0.isFailed }
      #expect(steps == [.didAttach, .willExecute, .didExecute, .willFinish, .didFinish])
    },
    Rule(id: "L2 ignored", sentence: "a run that is ignored has no willExecute", ways: Way.eventful) { stage in
      let steps = try await stage.steps(of: stage.subject().condition("no") { false }) { $0.isIgnored }
      #expect(steps == [.didAttach, .willFinish, .didFinish])
    },
    Rule(id: "L2 hook", sentence: "a run whose hook throws before the body has no willExecute", ways: Way.eventful) {
      stage in
      let steps = try await stage.steps(of: stage.subject().onWillExecute { _ in throw TestError() }) { $0.isFailed }
      #expect(steps == [.didAttach, .willFinish, .didFinish])
    },
    Rule(
      id: "L2 cancelled in a hook", sentence: "a run that is cancelled before its body has no willExecute",
      ways: Way.eventful
    ) { stage in
      let subject = stage.subject().onWillExecute { _ in ProcedureContext.current?.cancel(Side.reason) }
      let steps = try await stage.steps(of: subject) { $0.isCancelled }
      #expect(steps == [.didAttach, .didCancel, .willFinish, .didFinish])
    },
    Rule(id: "L2 cancelled", sentence: "a run that is cancelled while it executes tells so once", ways: Way.eventful) {
      stage in
      let subject = ProcedureTask<Void, Int>("subject") {
        ProcedureContext.current?.cancel(Side.reason)
        return 1
      }
      let steps = try await stage.steps(of: subject) { $0.isCancelled }
      #expect(steps == [.didAttach, .willExecute, .didCancel, .didExecute, .willFinish, .didFinish])
    },
    Rule(id: "L2 levels", sentence: "levels, attempts and copies report under their run", ways: Way.queued) { stage in
      let recorder = EventRecorder(stage.queue)
      let subject = stage.subject().condition("yes") { true }.exclusive(stage.category).timeout(.seconds(3600))
      #expect(await stage.result(of: subject).value == 1)
      await stage.queue.shutDown()
      try await recorder.waitUntilEnded()
      #expect(recorder.events.orderViolations() == [])
      let runs =
        switch stage.way {
        case .child, .node: 2
        case .nodeWithInput: 3
        default: 1
        }
      #expect(Set(recorder.events.map(\.id)).count == runs)
      #expect(recorder.steps().count { $0 == .didFinish } == runs)
    },
  ]
}

extension Stage {
  /// The steps of the one run of that name, which has the same outcome as the hook was told.
  fileprivate func steps(
    of subject: ProcedureTask<Void, Int>, outcome: (ProcedureOutcome<Void>) -> Bool
  ) async throws -> [EventStep] {
    let recorder = EventRecorder(queue)
    _ = await result(of: subject)
    await queue.shutDown()
    try await recorder.waitUntilEnded()
    #expect(recorder.events.orderViolations() == [])
    expectTold { outcome($0.withoutValue) }
    let own = recorder.events.filter { $0.name == "subject" }
    #expect(Set(own.map(\.id)).count == 1)
    return own.map(\.step)
  }
}
