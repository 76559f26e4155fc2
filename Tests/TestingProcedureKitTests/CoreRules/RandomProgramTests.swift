import TestSupport
import Testing
import TestingProcedureKit

@Suite("Random programs on two queues under every order")
struct RandomProgramTests {
  @Test(
    "Every run finishes once, bodies stay within the width, nobody is beside who excludes, events are in order",
    arguments: 0..<2 as Range<UInt64>)
  func everything(seed: UInt64) async throws {
    try await exploreRace(
      "finished", "failed", "ignored", "cancelled", "refused", "several hold something",
      schedules: TestDepth.count(1_000), seed: seed
    ) { env in
      try await RandomProgram(env).run(steps: 12)
    }
  }

  @Test("The same holds on queues without an executor, whose bodies execute on the process's threads")
  func realThreads() async throws {
    var tallies: [String: Int] = [:]
    for seed in 0..<UInt64(TestDepth.count(1_000)) {
      let world = RealThreads(seed: seed)
      try await RandomProgram(world).run(steps: 12)
      tallies.merge(world.tallies, uniquingKeysWith: +)
    }
    for outcome in ["finished", "failed", "ignored", "cancelled"] { #expect(tallies[outcome] != nil, "\(tallies)") }
  }
}
