import Testing
import TestingProcedureKit

/// The part of the guide *Testing your procedures* about Swift Testing's traits.
@Suite(.timeLimit(.minutes(10))) struct ExploredTests {
  actor Account {
    private(set) var balance: Int

    init(balance: Int) { self.balance = balance }

    func deposit(_ amount: Int) { balance += amount }

    func withdraw(_ amount: Int) -> Bool {
      guard balance >= amount else { return false }
      balance -= amount
      return true
    }
  }

  @Test("Two withdrawals never overdraw an account", .explored(1_000))
  func withdrawals() async {
    let account = Account(balance: 100)
    async let first = account.withdraw(70)
    async let second = account.withdraw(70)
    let results = await [first, second]
    #expect(results.count { $0 } == 1)
    #expect(await account.balance == 30)
  }

  @Test(
    "A transfer is refused only if the balance is too low", .explored(500, outcomes: ["refused", "done"]))
  func transfer() async throws {
    let env = try #require(ExplorationEnvironment.current)
    let (queue, account) = (env.makeQueue("bank"), Account(balance: 50))
    let salary = queue.add(
      ProcedureTask("salary") {
        await Task.yield()
        await account.deposit(50)
      })
    let rent = queue.add(ProcedureTask("rent") { await account.withdraw(80) })
    env.tally(try await rent.value ? "done" : "refused")
    try await salary.value
    await queue.shutDown()
  }

  @Test("A reminder comes every hour", .virtualClock)
  func reminders() async throws {
    let clock = try #require(VirtualClock.current)
    let account = Account(balance: 0)
    async let reminders: Void = {
      for _ in 0..<3 {
        try await clock.sleep(for: .seconds(3_600))
        await account.deposit(1)
      }
    }()
    try await clock.run(for: .seconds(7_200))
    #expect(await account.balance == 2)
    try await clock.run(for: .seconds(3_600))
    try await reminders
  }
}
