import TestSupport
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.atDepth)) struct ExplorationVarietyTests {
  private actor Account {
    private(set) var balance = 0
    func deposit(_ amount: Int) { balance += amount }
  }

  /// Twenty procedures on a queue of width four, half of them dependent on the others, and one that is cancelled.
  private static let procedures: @Sendable (ExplorationEnvironment) async throws -> Void = { env in
    let queue = env.makeQueue(maxConcurrentProcedures: 4)
    let monitor = ConcurrencyMonitor()
    let loads = (0..<10).map { number in
      queue.add(
        ProcedureTask("load") {
          await monitor.during { await Task.yield() }
          return number
        })
    }
    let stores = loads.map { load in
      queue.add(ProcedureTask("store") { (_: Int) in await monitor.during { await Task.yield() } }, from: load)
    }
    loads[3].cancel()
    for store in stores { _ = await store.outcome }
    env.check(monitor.most <= 4, "\(monitor.most) at once")
    env.check(await loads.last?.outcome.isFinished(9) == true)
    await queue.shutDown()
  }

  private static let tasks: @Sendable (ExplorationEnvironment) async throws -> Void = { env in
    let account = Account()
    await withTaskGroup(of: Void.self) { group in
      for amount in 1...20 {
        group.addTask {
          await account.deposit(amount)
          await Task.yield()
          try? await env.clock.sleep(for: .seconds(amount % 3))
          await account.deposit(-amount)
        }
      }
    }
    env.check(await account.balance == 0)
  }

  /// The test does not measure time, because it would otherwise fail on a busy machine.
  @Test(
    "Schedules of 20 procedures on a queue, and of 20 tasks, are nearly all different",
    arguments: [ExplorationStrategy.random, .priorities()], ["procedures", "tasks"])
  func twenty(strategy: ExplorationStrategy, of what: String) async throws {
    let count = TestDepth.count(1_000)
    let summary = try await exploreSchedules(
      count, strategy: strategy, what == "tasks" ? Self.tasks : Self.procedures)
    #expect(summary.distinctTraces > count / 2, "\(summary)")
  }
}
