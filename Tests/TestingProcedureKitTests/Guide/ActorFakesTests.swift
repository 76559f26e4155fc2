import TestSupport
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct ActorFakesTests {
  actor FakeShop {
    private(set) var visits = 0

    func price() async -> Int {
      await Task.yield()
      visits += 1
      return 7
    }
  }

  /// Checks, awaits, and then writes, so that two callers can both find nothing.
  actor Till {
    private let shop: FakeShop
    private var known: Int?

    init(_ shop: FakeShop) { self.shop = shop }

    func price() async -> Int {
      if let known { return known }
      let price = await shop.price()
      known = price
      return price
    }
  }

  @Test("The bug in an actor that checks, awaits another actor and writes is found")
  func found() async throws {
    await expectError(ExplorationFailure.self) {
      try await exploreSchedules(200) { env in
        let shop = FakeShop()
        let till = Till(shop)
        async let first = till.price()
        async let second = till.price()
        _ = await (first, second)
        let visits = await shop.visits
        env.check(visits == 1, "the shop was visited twice")
      }
    }
  }
}
