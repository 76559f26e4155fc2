import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite("The report of a shutdown under every order", .timeLimit(.atDepth))
struct ShutdownRuleTests {
  @Test(
    "C1, C2, Q4: at the end of a grace period, each procedure has finished, or is in exactly one list of the report")
  func oneList() async throws {
    try await exploreRace("finished", "not started", "interrupted", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1 + env.random.below(2))
      let started = Locked<Set<String>>([])
      let body = { @Sendable (name: String) in
        started { _ = $0.insert(name) }
        await pause(env, upTo: 3)
      }
      var handles = (0..<3).map { number in
        queue.add(ProcedureTask("added \(number)") { await body("added \(number)") })
      }
      handles.append(
        queue.add(
          ProcedureTask("conditional") { await body("conditional") }.condition("pauses") {
            await pause(env, upTo: 2)
            return true
          }.exclusive("shutdown report"), after: [handles[0]]))
      async let call: Void? = try? queue.run(ProcedureTask("called") { await body("called") })
      await pause(env, upTo: 6)
      let report = await queue.shutDown(grace: env.random.below(2) == 0 ? .zero : .nanoseconds(1))
      let (notStarted, interrupted) = (
        report.notStarted.map(\.procedure.name), report.interrupted.map(\.procedure.name)
      )
      let listed = Set(notStarted).union(interrupted)
      env.check(listed.count == notStarted.count + interrupted.count, "\(report)")
      env.check(started.value.isDisjoint(with: notStarted), "executed: \(notStarted)")
      env.check(started.value.isSuperset(of: interrupted), "not executed: \(interrupted)")
      for handle in handles {
        let outcome = await handle.outcome
        env.check(outcome.isCancelled == listed.contains(handle.name), "\(handle.name): \(outcome)")
        env.tally(
          outcome.isFinished ? "finished" : notStarted.contains(handle.name) ? "not started" : "interrupted")
      }
      // The queue may have refused the call, in which case the call is not in the report.
      let hasReturned = await call != nil
      env.check(!hasReturned || !listed.contains("called"), "\(report)")
      let wasExecuted = started.value.contains("called")
      env.check(hasReturned || wasExecuted == interrupted.contains("called"), "\(report)")
    }
  }
}
