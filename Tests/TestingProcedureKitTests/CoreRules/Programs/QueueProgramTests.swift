import TestSupport
import Testing
import TestingProcedureKit

@Suite("Random programs on two queues under every order", .timeLimit(.atDepth))
struct QueueProgramTests {
  private func explorer(
    _ programs: Int, seed: UInt64, outcomes: Set<String>
  ) -> ProgramExplorer<WorldPrograms<QueueSystem>> {
    ProgramExplorer(
      of: QueueSystem.self, programs: TestDepth.count(programs, least: 24), seed: seed, outcomes: outcomes)
  }

  @Test(
    "Every run finishes once, the width and exclusions hold, and events are in order",
    arguments: 0..<2 as Range<UInt64>)
  func everything(seed: UInt64) async throws {
    let outcomes: Set = ["finished", "failed", "ignored", "cancelled", "refused", "several hold something"]
    try await explorer(500, seed: seed, outcomes: outcomes).explore()
  }

  @Test("The invariants also hold on queues without an executor, whose bodies execute on the process's threads")
  func realThreads() async throws {
    let tallies = try await explorer(1_000, seed: 2, outcomes: []).runOnRealThreads()
    for outcome in ["finished", "failed", "ignored", "cancelled"] { #expect(tallies[outcome] != nil, "\(tallies)") }
  }
}
