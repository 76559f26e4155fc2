import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

extension StressTests {
  @Test("Procedures that pause and claim end, even if they are cancelled just as their pauses end")
  func cancelledPauses() async throws {
    let clock = VirtualClock()
    try await Stress.run("cancelled pauses", width: 64, clock: clock) { queue, counts, _ in
      await withTaskGroup { helpers in
        helpers.addTask {
          while !Task.isCancelled {
            clock.advance(by: .microseconds(1))
            await Task.yield()
          }
        }
        helpers.addTask {
          while !Task.isCancelled {
            queue.cancelAll()
            await Task.yield()
          }
        }
        await withTaskGroup { group in
          for number in 0..<Stress.many {
            let pausing = counts.worker().delay(.microseconds(number % 7)).exclusive("pause \(number % 1_000)")
            group.addTask { _ = try? await queue.run(pausing) }
          }
        }
        helpers.cancelAll()
      }
    }
  }

  @Test("Procedures that are retried immediately are cancelled, whichever worker executes them")
  func retriesOfOtherWorkers() async throws {
    try await Stress.run("cancelled retries", width: 100) { queue, counts, _ in
      let retried = RunCounts()
      let body = ProcedureTask {
        if ProcedureContext.current?.attempt == 1 { throw AttemptFailure() }
        try await retried.execute {
          try await eventually { Task.isCancelled }
        }
      }
      queue.suspend()
      let handles = (0..<50).map { _ in counts.watch(queue.add(body.retry(.immediate))) }
      for _ in 0..<1_000 { counts.watch(queue.add(counts.worker())) }
      queue.resume()
      do {
        defer { for handle in handles { handle.cancel() } }
        try await eventually { retried.startCount == handles.count }
      }
      let count = await OutcomeCount(of: handles)
      #expect(count.cancelled == handles.count)
    }
  }
}

private struct AttemptFailure: Error {}
