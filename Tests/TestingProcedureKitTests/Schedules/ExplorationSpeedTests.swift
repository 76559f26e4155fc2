import Testing
import TestingProcedureKit

@Suite(.serialized) struct ExplorationSpeedTests {
  private actor Account {
    private(set) var balance = 0
    func deposit(_ amount: Int) { balance += amount }
  }

  @Test(
    "1,000 schedules of 20 tasks take well under a second (release build)",
    arguments: [ExplorationStrategy.random, .priorities()])
  func twentyTasks(strategy: ExplorationStrategy) async throws {
    var summary: ExplorationSummary?
    let duration = try await ContinuousClock().measure {
      summary = try await exploreSchedules(1_000, strategy: strategy) { env in
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
    }
    let result = try #require(summary)
    print("\(duration): \(result)")
    #expect(result.distinctTraces == 1_000)
    #if !DEBUG
      #expect(duration < .seconds(1))
    #endif
  }
}
