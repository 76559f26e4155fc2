import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

extension Rule {
  static let progress = [
    Rule(id: "progress report", sentence: "a report is the progress of the run, which is 1 when the run has finished") {
      stage in
      let values = Box<[ProcedureProgress?]>([])
      let subject = ProcedureTask<Void, Int>("subject") {
        guard let progress = ProcedureContext.current?.progress else { throw TestError(code: -1) }
        progress.report(1, of: 4)
        let first = await progress.values.first { _ in true }
        progress.report(0.75)
        let second = await progress.values.first { _ in true }
        progress.report(0.5)
        let third = await progress.values.first { _ in true }
        values.update { $0 = [first, second, third] }
        return 1
      }
      let running = stage.start(subject)
      #expect(await running.result.value == 1)
      #expect(values.value.map { $0?.fraction } == [0.25, 0.75, 0.75], "never back")
      #expect(values.value.map { $0?.completedUnits } == [1, nil, nil])
      guard let handle = stage.ownHandle(running) else { return }
      #expect(await handle.progress.reduce(into: []) { $0.append($1.fraction) } == [1])
    },
    Rule(id: "progress events", sentence: "reports are events of the run and of the runs around it", ways: Way.queued) {
      stage in
      let recorder = EventRecorder(stage.queue)
      let subject = ProcedureTask<Void, Int>("subject") {
        for percent in 0...100 { ProcedureContext.current?.progress.report(Double(percent) / 200) }
        return 1
      }
      #expect(await stage.result(of: subject).value == 1)
      await stage.queue.shutDown()
      try await recorder.waitUntilEnded()
      #expect(recorder.events.orderViolations() == [])
      let events = recorder.events.filter { $0.kind == .progress }
      for run in Dictionary(grouping: events, by: \.id).values {
        let fractions = run.compactMap(\.fraction)
        #expect(fractions.count == run.count && fractions.count <= 101 && fractions == fractions.sorted())
      }
      let names = Set(events.map(\.name))
      let hasHost: Set<Way> = [.child, .node, .nodeWithInput, .element, .unorderedElement]
      #expect(
        names == (stage.way == .part ? ["host"] : hasHost.contains(stage.way) ? ["subject", "host"] : ["subject"]))
    },
  ]
}
