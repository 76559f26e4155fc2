import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite("Promises under every order", .timeLimit(.atDepth))
struct PromiseRuleTests {
  @Test("C1, C2: a run whose promise is finished, released and cancelled at the same time ends once")
  func finishOrCancel() async throws {
    try await exploreRace(
      "finished", "failed", "cancelled", schedules: TestDepth.count(2_000)
    ) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let promise = Locked<Promise<Int>?>(Promise("reply"))
      guard let handle = promise({ $0.map { queue.add($0) } }) else { return }
      let isFinished = env.random.below(2) == 0
      await withDiscardingTaskGroup { group in
        group.addTask {
          await pause(env, upTo: 4)
          promise { promise in
            if isFinished { promise?.finish(returning: 1) }
            promise = nil
          }
        }
        group.addTask {
          await pause(env, upTo: 6)
          handle.cancel(Reason())
        }
      }
      let outcome = await handle.outcome
      switch outcome {
      case .finished(let value): env.check(isFinished && value == 1)
      case .failed(let error):
        env.check(!isFinished && (error as? ProcedureError)?.kind == .promiseReleased, "\(error)")
      case .cancelled(let reason): env.check(reason is Reason)
      case .ignored: env.check(false, "ignored")
      }
      env.tally(outcome.label)
      await queue.shutDown()
    }
  }
}
