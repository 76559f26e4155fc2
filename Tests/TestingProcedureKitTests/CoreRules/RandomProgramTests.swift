import Testing
import TestingProcedureKit

@Suite("Random programs on two queues under every order")
struct RandomProgramTests {
  @Test(
    "Every run finishes once, bodies stay within the width, nobody is beside who excludes, events are in order",
    arguments: 0..<2 as Range<UInt64>)
  func everything(seed: UInt64) async throws {
    try await exploreRace(
      "finished", "failed", "ignored", "cancelled", "refused", "several hold something", schedules: 1_000, seed: seed
    ) { env in
      try await RandomProgram(env).run(steps: 12)
    }
  }
}
