import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite("Dependencies that are added under every order", .timeLimit(.atDepth))
struct AddedDependencyRuleTests {
  @Test("D1, R2: a run accepts a dependency in any phase before its start, and starts after the dependency")
  func addOrStart() async throws {
    try await exploreRace("added", "too late", schedules: TestDepth.count(2_000)) { env in
      let (queue, other) = (env.makeQueue(maxConcurrentProcedures: 1), env.makeQueue("other"))
      let hasEnded = Locked(false)
      let dependency = other.add(
        ProcedureTask("dependency") {
          await pause(env, upTo: 4)
          hasEnded { $0 = true }
        })
      var task = ProcedureTask("dependent") { hasEnded.value }
      if env.random.below(2) == 0 { task = task.exclusive("added dependency") }
      if env.random.below(2) == 0 {
        task = task.condition("pauses") {
          await pause(env, upTo: 2)
          return true
        }
      }
      queue.add(ProcedureTask("neighbour") { await pause(env, upTo: 2) }.exclusive("added dependency"))
      let dependent = queue.add(task)
      await pause(env, upTo: 6)
      let isSuspended = env.random.below(4) == 0
      if isSuspended { queue.suspend() }
      let isAdded = dependent.addDependency(dependency)
      if isSuspended { queue.resume() }
      let sawEnd = try? await dependent.value
      env.check(!isAdded || sawEnd == true, "started before its dependency had ended")
      env.tally(isAdded ? "added" : "too late")
      await queue.shutDown()
      await other.shutDown()
    }
  }

  @Test("R4: two runs that are made to depend on each other at the same time do not wait forever")
  func cycle() async throws {
    try await exploreRace("first failed", "second failed", schedules: TestDepth.count(2_000)) { env in
      let (queue, other) = (env.makeQueue(isSuspended: true), env.makeQueue("other", isSuspended: true))
      let isSwapped = env.random.below(2) == 0
      let youngest = env.random.below(2) == 0
      let (one, two) = (queue.add(ProcedureTask("one") {}), other.add(ProcedureTask("two") {}))
      let (first, second) = youngest ? (one, two) : (two, one)
      await withDiscardingTaskGroup { group in
        group.addTask { (isSwapped ? first : second).addDependency(isSwapped ? second : first) }
        group.addTask { (isSwapped ? second : first).addDependency(isSwapped ? first : second) }
      }
      queue.resume()
      other.resume()
      let outcomes = (await first.outcome, await second.outcome)
      env.check(outcomes.0.isFailed && outcomes.1.isFailed, "\(outcomes)")
      if case .failed(let error as ProcedureError) = outcomes.0, error.kind == .exclusionDeadlock {
        env.tally("first failed")
      }
      if case .failed(let error as ProcedureError) = outcomes.1, error.kind == .exclusionDeadlock {
        env.tally("second failed")
      }
      await queue.shutDown()
      await other.shutDown()
    }
  }
}
