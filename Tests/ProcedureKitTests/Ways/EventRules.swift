import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

extension Rule {
  static let events = [
    Rule(id: "L2 value", sentence: "the events of a run are published in order, each once", ways: Way.eventful) {
      stage in
      let steps = try await stage.steps(of: stage.subject()) { $0.isFinished }
      #expect(steps == [.didAttach, .willExecute, .didExecute, .willFinish, .didFinish])
    },
    Rule(
      id: "L2 error", sentence: "the events of a run that fails are published in order, each once", ways: Way.eventful
    ) {
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
    Rule(
      id: "L2 cancelled", sentence: "a run that is cancelled while it executes publishes the cancellation once",
      ways: Way.eventful
    ) {
      stage in
      let subject = ProcedureTask<Void, Int>("subject") {
        ProcedureContext.current?.cancel(Side.reason)
        return 1
      }
      let steps = try await stage.steps(of: subject) { $0.isCancelled }
      #expect(steps == [.didAttach, .willExecute, .didCancel, .didExecute, .willFinish, .didFinish])
    },
    Rule(
      id: "L2 levels", sentence: "levels, attempts and copies publish their events under their run", ways: Way.queued
    ) { stage in
      let recorder = EventRecorder(stage.queue)
      let subject = stage.subject().condition("yes") { true }.exclusive(stage.category).timeout(.seconds(3600))
      #expect(await stage.result(of: subject).value == 1)
      await stage.queue.shutDown()
      try await recorder.waitUntilEnded()
      #expect(recorder.events.orderViolations() == [])
      let runs =
        switch stage.way {
        case .child, .node, .element, .unorderedElement: 2
        case .nodeWithInput: 3
        default: 1
        }
      #expect(Set(recorder.events.map(\.id)).count == runs)
      #expect(recorder.steps().count { $0 == .didFinish } == runs)
    },
    Rule(id: "L6", sentence: "events name their attempt, parent and graph", ways: Way.queued) { stage in
      let recorder = EventRecorder(stage.queue)
      let running = stage.start(stage.subject())
      #expect(await running.result.value == 1)
      await stage.queue.shutDown()
      try await recorder.waitUntilEnded()
      let host = recorder.events.first { $0.name == "host" }?.id
      let isChild = stage.way == .child || Way.elements.contains(stage.way)
      let isNode = stage.way == .node || stage.way == .nodeWithInput
      for event in recorder.events {
        let isInside = event.name != "host" && (isChild || isNode)
        #expect(event.parent == (isInside ? host : nil) && event.graph == (isInside && isNode ? host : nil), "\(event)")
      }
      for run in Dictionary(grouping: recorder.events, by: \.id).values {
        let isRetried = stage.way == .secondAttempt
        let own = run.filter { ![.willProduce, .didProduce, .didAwait].contains($0.kind) }
        #expect(own.map(\.attempt) == (isRetried ? [0, 1, 1, 1, 2, 2, 2, 2] : [0, 1, 1, 1, 1]), "\(run)")
      }
      // A late subscriber reads the same events.
      guard let handle = stage.ownHandle(running) else { return }
      let late = await handle.allEvents()
      let facts = { (events: [ProcedureEvent]) in
        events.map { "\($0) \($0.attempt) \($0.parent.map(\.description) ?? "")" }
      }
      #expect(facts(late) == facts(recorder.events.filter { $0.id == handle.id }))
    },
    Rule(id: "L6 cancelled", sentence: "the cancellation event of a run names the attempt", ways: Way.eventful) {
      stage in
      let recorder = EventRecorder(stage.queue)
      let subject = ProcedureTask<Void, Int>("subject") {
        ProcedureContext.current?.cancel(Side.reason)
        return 1
      }
      #expect(await stage.result(of: subject.condition("yes") { true }).failure as? TestError == Side.reason)
      let early = stage.subject().onWillExecute { _ in ProcedureContext.current?.cancel(Side.reason) }
      _ = await stage.result(of: early.named("early"))
      await stage.queue.shutDown()
      try await recorder.waitUntilEnded()
      func attempts(_ name: String) -> [Int] {
        recorder.events.filter { $0.name == name && $0.reason != nil }.map(\.attempt)
      }
      #expect(attempts("subject") == [1, 1, 1] && attempts("early") == [0, 0, 0], "\(recorder.events)")
    },
  ]
}

extension Stage {
  /// Returns the steps of the only run of the given name, whose outcome is the one that the hook received.
  fileprivate func steps(
    of subject: ProcedureTask<Void, Int>, outcome: (ProcedureOutcome<Void>) -> Bool
  ) async throws -> [ProcedureEvent.Kind] {
    let recorder = EventRecorder(queue)
    _ = await result(of: subject)
    await queue.shutDown()
    try await recorder.waitUntilEnded()
    #expect(recorder.events.orderViolations() == [])
    expectHookCalled { outcome($0.withoutValue) }
    let own = recorder.events.filter { $0.name == "subject" }
    #expect(Set(own.map(\.id)).count == 1)
    return own.map(\.kind)
  }
}
