import ProcedureKit
import Testing
import TestingProcedureKit

@Suite("The trait that gives a test a clock", .virtualClock, .timeLimit(.minutes(10)))
struct VirtualClockTraitTests {
  @Test("A test and its child tasks run on the executor of the clock", arguments: 0..<20)
  func children(round: Int) async throws {
    let clock = try #require(VirtualClock.current)
    #expect(clock.now.offset == .zero)
    let naps = Locked(0)
    async let napper: Void = {
      for _ in 0..<10 {
        try await clock.sleep(for: .seconds(60))
        await Task.yield()
        naps { $0 += 1 }
      }
    }()
    try await clock.run(for: .seconds(300))
    #expect(naps.value == 5)
    try await clock.run(for: .seconds(300))
    #expect(naps.value == 10)
    try await napper
  }
}

@Test("Without the trait, there is no clock")
func noClock() {
  #expect(VirtualClock.current == nil)
}
