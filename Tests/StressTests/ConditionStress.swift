import Synchronization
import Testing
import TestingProcedureKit

extension StressTests {
  @Test("Thousands of conditions on one procedure are satisfied, ignored by one, failed by one, or cancelled")
  func conditionsOfOneProcedure() async throws {
    try await Stress.run("conditions", width: 2) { queue, counts, _ in
      var task = counts.worker()
      let evaluated = Atomic(0)
      let bad = ConditionProbe("bad")
      for _ in 0..<(Stress.many / 2) {
        task = task.condition("good") {
          evaluated.add(1, ordering: .relaxed)
          return true
        }
      }
      let other = task.condition(.probe(bad))
      try await counts.watch(queue.add(task)).value
      #expect(evaluated.load(ordering: .relaxed) == Stress.many / 2)
      bad.ignore()
      let ignored = await counts.watch(queue.add(other)).outcome
      #expect(ignored.ignoringCondition == "bad")
      bad.fail(CancellationError())
      let failed = await counts.watch(queue.add(other)).outcome
      #expect(failed.procedureError?.kind == .conditionFailed)
      let cancelled = counts.watch(queue.add(other))
      try await bad.waitUntilEvaluated(3)
      cancelled.cancel()
      #expect(await cancelled.outcome.isCancelled)
      #expect(counts.startCount == 1)
    }
  }

  @Test("The queue is suspended and resumed repeatedly while thousands of conditions fail")
  func suspendWhileConditionsFail() async throws {
    try await Stress.run("suspension", width: 4) { queue, counts, _ in
      let isOver = Atomic(false)
      async let toggles = {
        var toggles = 0
        while !isOver.load(ordering: .relaxed) {
          queue.suspend()
          queue.resume()
          toggles += 1
        }
        return toggles
      }()
      let handles = (0..<Stress.many).map { number in
        let task = counts.worker().condition("fails") {
          await Task.yield()
          throw CancellationError()
        }
        return counts.watch(queue.add(number % 100 == 0 ? counts.worker() : task))
      }
      let count = await OutcomeCount(of: handles)
      isOver.store(true, ordering: .relaxed)
      #expect(await toggles > 0)
      #expect(count.finished == Stress.many / 100 && count.failed == Stress.many - count.finished, "\(count)")
      #expect(counts.startCount == count.finished)
    }
  }
}
